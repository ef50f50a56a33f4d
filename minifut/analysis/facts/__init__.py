"""What is known of integers at a place of a program, and what follows from it.

    facts.proves(n - 1 - i)       n - 1 - i >= 0, in every run that gets here
    facts.holds(condition)        the condition is true (or false, on demand)
    facts.range_of(i)             the least and the greatest value
    facts.nonzero(k)              the number is not zero
    facts.inside(indices, shape)  each index is within its dimension

A query gives a `Proof`, which lists the facts that it used, or with None:
not proved. What is known comes from definitions (sums, products, minima, remainders,
quotients, branches), from the spaces over which maps and loops run, from the sizes of
arrays that exist, from the conditions of the branches around a place and from the
checks before it.

Everything is an inequality `form >= 0`, where a form is a polynomial with integer
coefficients over names (`facts.forms`). Definitions are examined when they are needed
(`facts.meaning`), and a proof eliminates names one after another by Fourier-Motzkin
steps, with a bounded number of steps (`facts.proof`). Arithmetic of the program wraps:
`x + y` is taken to be the sum only if that is proved to be within the type.

Sources: Williams, Fourier-Motzkin elimination extension to integer programming problems
(1976); Pugh, The Omega test (1991), whose tightening of constants is used.
"""

from minifut.analysis.facts.forms import Fact, Proof
from minifut.analysis.facts.known import Facts

__all__ = ["Fact", "Facts", "Proof"]
