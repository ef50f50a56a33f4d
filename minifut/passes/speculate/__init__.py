r"""Pass: short branches in functions of SOACs compute both sides where all elements
exist that these read.

    map (\i -> if flags[i] then xs[i - 1] else 0) (1..<n)
  →
    map (\i -> let x = xs[i - 1] in if flags[i] then x else 0) (1..<n)

What is left of the branch is a select: points are vectors then, and no branch has to be
predicted by a condition on data. By the facts of the place, without the condition, all
indices are within their dimensions; they depend on positions alone, so what is read
more is beside what is read anyway.

Conditions: both sides are scalar code of cheap operators, which cannot trap, with at
most `LONGEST` statements and `MOST_ELEMENTS` elements, or a few times as many where
the function is nothing but scalar code, so that points are vectors; the condition is
computed for each point: by one that is the same for a row, a processor jumps for the
whole row.
Of branches that read nothing only `c && x` and `c || x` are computed so: where points
read elements of several widths, the device's compiler leaves these branches.
Folds that all points but one need (`folds`) are computed before the branch as well.

Source: Allen, Kennedy, Porterfield and Warren, "Conversion of control dependence to
data dependence" (POPL'83).
"""
