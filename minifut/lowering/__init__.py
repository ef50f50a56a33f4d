"""From the Kernels dialect to KernelCode, `minifut.kernel_ir`.

    index_functions   `Array`: a view of a memory (offset, strides)
    threads           `KernelBuilder`: a CodeBuilder that lowers the code of threads
    host              `HostBuilder`: functions of the program on the host
    segmap, segred, segscan, seghist, groups, transposition, accumulators
                      an operation each, its schedules side by side
    cpu, gpu          what operations share under a schedule
    tiles, packing    tiles of groups on CPUs, and how arrays are packed for them
    dispatch          which of these does what under which schedule
    program           the whole; one schedule ("cpu" or "gpu") at a time
    pipelines         lowering and the passes over kernel code after it

A segmented operation is lowered by a function

    lower(host: HostBuilder, pattern: tuple[Param, ...], operation: SegRed) -> None

which `dispatch.LOWER` names per class and schedule. It

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
   code, see `groups.gpu_limits`. A parameter is read with `host.parameter(Parameter)`;
4. binds the pattern: `host.bind(param, array)`; for a scalar element an Array of
   rank 0, which is read (synchronising) then.

`NotInKernel` says that code cannot run in a kernel; `host.builder` then falls back to a
loop on the host. Barriers are inserted by a pass, between the parallel regions that
`parallel_region` of `gpu.work_distribution` emits: a work-item that fails in one jumps
to its end, and joins the others at the barriers behind.
"""
