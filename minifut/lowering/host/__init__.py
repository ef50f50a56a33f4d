"""The program around the kernels: sizes, memory, launches and scalar code.

`builder` is the state of one function of the host, `code` has a rule per expression;
`on_host` does point by point what kernels cannot do.
"""
