r"""Differentiation: `jvp`, `vjp` and `custom_vjp` become statements of Soacs.

    let (y, y') = jvp(\(a) -> { sin a }, (x), (x'), [])
  →
    let y = sin x
    let c = cos x
    let y' = c * x'

It comes before fusion and flattening, so that all that follows applies to derivatives;
no pass after it has to handle them. Functions are put in the place of their calls
first, and derivatives inside of derivatives are removed from the inside out. `activity`
says which names depend on what is differentiated; `forward` and `reverse` have a rule
for each construct; scalar operators have their derivatives in `ir.scalar_table`.

Schenck, Rønning, Henriksen, Oancea: "AD for an array language with nested parallelism",
SC 2022. Bruun, Larsen, Hinnerskov, Oancea: "Reverse-mode AD of multi-reduce and scan in
Futhark", IFL 2023. Griewank, Walther: "Evaluating derivatives", second edition, 2008.
Hascoet, Pascual: "The Tapenade automatic differentiation tool", TOMS 39(3), 2013.
"""
