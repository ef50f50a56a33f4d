"""GPU kernels checked without a GPU: `make gpu-check`, or

    python -m benchmarks.gpu [--golden] [--only REGEX] [--jobs 2]

    cases       small programs that bring out each kind of kernel of the GPU schedule
    launches    runs them on Oclgrind posing as a large GPU; keeps every kernel text
                and the memory transactions of its warps (transactions.cpp, a plugin)
    toolchain   Clang to PTX and to AMD's code, ptxas, nvdisasm: registers, spills
    sass        the loops of NVIDIA's machine code
    model       predicted share of the peak, from the innermost loop and transactions
    check       limits, and the registers of the last accepted state (golden.json)

    device      what is measured when there is a GPU: python -m benchmarks.gpu.device

Needs Debian's clang-19, libclc-19, libclc-19-dev, oclgrind, liboclgrind-dev,
llvm-14-dev, opencl-c-headers and g++, and PyPI's nvidia-cuda-nvcc-cu12 (ptxas) and
nvidia-cuda-nvdisasm; `make gpu-check` names those that are missing, and does nothing.

NVIDIA's own OpenCL compiler is not Clang 19: its registers may differ by a few.
"""
