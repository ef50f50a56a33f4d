"""The second pass: sizes, with the structure of every type known.

Whenever a type that the first pass inferred is needed, its dimensions are replaced by
fresh size metas, which unification then links. Three things make sizes more than that:

unknown sizes   results of `filter` and the like, loops, branches that differ: each has
                its own name (`exts` of the expression) and unifies with itself only;
>)` with the result of `filter` is unified with a size|>)` with the result of `filter`
finds a size
                that is bound inside the argument's type. The meta turns *existential*,
                and each later occurrence of b (a *copy*) gets its own unknown size;
causality       a size must be known before it is needed (`causality`, afterwards).

The rules are those of the Futhark language reference, section "Size types".
"""
