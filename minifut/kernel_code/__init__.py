"""From the Kernels dialect to KernelCode.

    nodes             the small language of kernels and of the host around them
    index_functions   `Array`: a view of a memory (offset, strides)
    builder           `CodeBuilder`: kernels written statement by statement
    lower_kernel      `KernelBuilder`: a CodeBuilder that lowers thread code; its rules
                      are in thread_code and thread_control
    arena             memory for arrays whose sizes only threads know
    lower_host        `HostBuilder`: functions of the program on the host; its rules are
                      in host_code, and in on_host for what kernels cannot do
    lower_program     the whole; one schedule ("cpu" or "gpu") at a time
    nest_cpu, nest_gpu    nests of parallel loops: maps, copies, fills
    group_limits    group sizes and local memory, as parameters and the device allow
    segmap, segred_cpu, segred_gpu, ...    one segmented operation, one schedule
    group_gpu             a segmap of groups, GPU schedule: the code of groups and of
                          their threads is in group_code, group_folds, group_hist;
                          group_builder places barriers, group_registers finds what
                          lies in registers (register_tiles)

A segmented operation is lowered by a function

    lower(host: HostBuilder, pattern: tuple[Param, ...], operation: SegRed) -> None

which `lower_host.SEGMENTED` names per class and schedule. It

1. allocates results: `host.allocate(element, shape, base) -> Array` (global memory);
   `host.size(size)` gives a size of the IR in variables of the host;
2. writes a kernel: `k = host.kernel("sum")`, a `KernelBuilder` with everything of
   `CodeBuilder` and
       k.bind(name, value)            an index, a parameter of a lambda: a value is an
                                      Expression or an Array
       k.bind_index(name, exp)        the same for an i64 expression, kept in a variable
       k.size(size)                   a size of the IR as an expression
       k.atom(atom)                   an Expression or an Array
       k.statements_of(stms)          lower statements of the body
       k.apply(lambda, values)        inline a lambda: the values of its results
       k.read(array, indices)         an element (indices: i64 expressions)
       k.write(array, indices, value) an element, or an array row by row
       k.private_array(element, shape, base)
   where `k.thread` must first be set to (number of the thread, how many run) if
   the body may need scratch memory: an expression and a host size;
3. launches it: `host.launch(k, grid, group)`, sizes over host variables; `group` are
   ints, or a size for which the kernel is built when it is launched: `k.width` in its
   code, see `group_limits`. A parameter is read with `host.parameter(Parameter)`;
4. binds the pattern: `host.bind(param, array)`; for a scalar element an Array of
   rank 0, which is read (synchronising) then.

`NotInKernel` says that code cannot run in a kernel; `lower_host` then falls back to a
loop on the host. Barriers: set `k.fail_label` before code that may fail and emit
`Label(k.fail_label)` directly before the next barrier, so that failing threads meet
the others there; see `spread_gpu` for how they leave together.
"""
