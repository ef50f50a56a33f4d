"""Passes over kernel code, and the rules that they consist of.

vectorise     loops over points, several at once in explicit vectors
if_convert    short branches as selections in vectors
convert_unpredictable  .. and in scalar loops, where the processor cannot predict
convert_chains        .. and of tests of one integer, for the device\'s compiler
prefetch      what loops with indirect accesses read
rule          rules of kernel code: named, noted in the derivation
"""
