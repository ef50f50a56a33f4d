"""Futhark values on NumPy: their types, text form, binary form, files, random ones.

A value is a NumPy array, or a NumPy scalar when its rank is 0. Nothing here depends on
the compiler: the command line, the tests and the data tools use it.
"""
