"""Kernel code: the language of kernels and of the host around them.

expressions       typed scalar and vector expressions, memories
statements        statements of kernels, functions and kernels
synchronisation   statements by which work-items synchronise, share work and fail
host_statements   what the host does around kernels
nodes             all of them in one namespace: `from minifut.kernel_ir import
                  nodes as kc`
program           a whole program of kernel code
types             the type that an expression has by its parts
forms             the printed form of a node, declared on its class
printer, reader   kernel code to text and back
verify, uniform   what must hold of it
"""
