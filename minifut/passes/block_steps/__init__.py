r"""Steps of butterfly networks at once, in aligned blocks that stay in the cache.

    loop xs for j < k do                        going while j < k:
      let bit = 1 << (k - 1 - j)                  if bit < B: all steps from j on for
      in segmap grid (t < n)                  →     which this holds, in blocks of B
           {.. xs[t] .. xs[t ^ bit] ..}           else one step, as before

A step reads and writes whole arrays, and takes as long as memory does. Steps in which
each point reads only its own one of the aligned blocks of B points (see
`analysis.aligned_blocks`) need no other block: a thread makes all that follow each
other for one block after the other. So may those of the next iterations of a loop
around. B is a power of two that divides the number of points, and a part of the cache.

Conditions: a loop, or two nested ones, of one map over one dimension, which makes all
arrays that the loop carries; its body is scalar code, whose checks hold where reads
stay in a block; what a block needs is computed for each step from the loop's scalars.

Source: Bailey, "FFTs in external or hierarchical memory" (1990).
"""
