"""The first pass: names and types, without sizes.

Hindley-Milner over the syntax tree, in the order of evaluation. Each expression gets a
type in which sizes mean nothing yet, each name its unique `Name`, each use of something
polymorphic the types of its type parameters. The second pass (`sizing`) then has the
structure of every type and has only sizes to find.
"""
