"""KernelCode: the language of kernels and of the host around them.

expressions       typed scalar and vector expressions, memories
statements        statements of kernels, functions and kernels
host_statements   what the host does around kernels
nodes             all of them in one namespace: `from minifut.kernel_ir import
                  nodes as kc`
"""
