"""Conversion of arrays: arguments in, results out, with as few copies as are safe.

In:  a contiguous NumPy array is used in place where the device shares memory, else
     copied to a block; a pyopencl array is used in place. What a program consumes
     (`*[]t`) is always copied, so the caller's array never changes.
Out: where memory is shared the NumPy array *is* the block, which returns to the pool
     when the array is forgotten; arguments returned, constants and repeated results
     are copied, so that no two arrays of the user overlap.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from minifut.errors import UsageError
from minifut.opencl.runtime.pool import BYTES, Block, PoolBlock, bytes_of

if TYPE_CHECKING:
    from minifut.opencl.runtime.queue import Session


class ResultMemory(np.ndarray):
    """What result arrays have as their base: the memory of a block, and the block.

    It is a view of ctypes' memory, since NumPy looks through bases that are arrays.
    """

    __slots__ = ("block",)
    block: PoolBlock


def shared_result(
    session: Session, block: Block, shape: tuple[int, ...], dtype: np.dtype
) -> np.ndarray:
    """The array of a result in memory that the host shares; it keeps the block."""
    return array_over(owned(session, block, shape, dtype), shape, dtype)


def array_over(own: PoolBlock, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The array in a block of shared memory; it keeps the block."""
    memory = NEW_ARRAY(ResultMemory, own.capacity, BYTES, own.memory)
    memory.block = own
    return new_array(shape, dtype, memory)


def new_array(
    shape: tuple[int, ...], dtype: np.dtype, memory: np.ndarray | None = None
) -> np.ndarray:
    """An array, in this memory if it is given. Sizes may be negative where there is no
    point that would have made a row."""
    try:
        return NDARRAY(shape, dtype, memory)
    except ValueError:
        return NDARRAY(lengths_of(shape), dtype, memory)


def lengths_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an array of NumPy, whose sizes are not negative."""
    return tuple(max(size, 0) for size in shape)


FROM_POOL = 1 << 17
"""bytes of copies from which on the system's allocator maps pages for each"""
NDARRAY = np.ndarray
NEW_ARRAY = np.ndarray.__new__
NEW_OBJECT = object.__new__


def is_device_array(value: Any) -> bool:
    """Whether it is a pyopencl array (without importing pyopencl.array)."""
    if getattr(value, "minifut_view", None) is not None:
        return True
    return hasattr(value, "base_data") and hasattr(value, "queue")


def block_of_array(session: Session, array: np.ndarray, consumed: bool) -> Block:
    """A NumPy array of the right type as a row-major block."""
    flags = array.flags
    if session.shares_memory and not consumed and array.size:
        if flags.c_contiguous and flags.aligned:
            return session.borrow(array)
        return session.borrow(np.ascontiguousarray(array))
    return session.upload(np.ascontiguousarray(array))


def block_of_device_array(session: Session, array: Any, consumed: bool) -> Block:
    """A pyopencl array as a block; it must be in the session's context."""
    view = getattr(array, "minifut_view", None)
    if view is not None and session.shares_memory:
        return block_of_array(session, view, consumed)
    made = getattr(array, "minifut_block", None)
    if array.queue is not None and (made is None or array.events):
        array.queue.finish()  # what the user enqueued, maybe elsewhere
    if made is not None and not consumed and made.pool is session.pool:
        return Block(made.buffer, array.nbytes, made.host)
    nbytes = array.nbytes
    if array.base_data is None or nbytes == 0:
        return session.pool.allocate(0)
    if array.base_data.context != session.context:
        raise UsageError(
            "a pyopencl array of another context; make it with `prog.to_device(x)`"
        )
    if not array.flags.c_contiguous:
        return session.upload(elements(session, array))
    source = Block(array.base_data, nbytes)
    if array.offset == 0 and not consumed:
        return source
    block = session.pool.allocate(nbytes)
    session.copy(block, 0, source, array.offset, nbytes)
    return block


def elements(session: Session, array: Any) -> np.ndarray:
    """The elements of a pyopencl array of any strides (`d.T`, `d[::-2]`) as a row-major
    array of NumPy: the memory that they span is read."""
    if 0 in array.shape:
        return np.empty(array.shape, array.dtype)
    pairs = zip(array.shape, array.strides, strict=True)
    spans = [(length - 1) * stride for length, stride in pairs]
    first = array.offset + sum(span for span in spans if span < 0)
    last = array.offset + sum(span for span in spans if span > 0)
    memory = np.empty(last - first + array.dtype.itemsize, BYTES)
    queue, data = array.queue or session.queue, array.base_data
    session.cl.enqueue_copy(
        queue, memory, data, src_offset=first, wait_for=list(array.events)
    )
    form = array.shape, array.dtype, memory, array.offset - first, array.strides
    return np.asarray(NDARRAY(*form), order="C")


def block_in_place(array: Any, pool: Any, dtype: np.dtype, rank: int) -> Block | None:
    """The block of a device array of that type that no command of the user's has to be
    waited for; None of anything else."""
    made = getattr(array, "minifut_block", None)
    if (
        made is None
        or made.pool is not pool
        or vars(array).get("events")
        or array.dtype is not dtype
        or len(array.shape) != rank
    ):
        return None
    return Block(made.buffer, made.nbytes, made.host)


def owned(
    session: Session, block: Block, shape: tuple[int, ...], dtype: np.dtype
) -> PoolBlock:
    """The block of an array, which has another owner from now on, or a copy when there
    is one that could observe a change."""
    if block.__class__ is not PoolBlock or block.borrowed:
        nbytes = math.prod(shape) * dtype.itemsize
        copy = session.pool.allocate(nbytes)
        session.copy(copy, 0, block, 0, nbytes)
        block = copy
    block.borrowed = True
    return block


def start_result(
    session: Session, block: Block, shape: tuple[int, ...], dtype: np.dtype
) -> np.ndarray:
    """The NumPy array of a result; its contents are there after the next wait."""
    if session.shares_memory:
        return shared_result(session, block, shape, dtype)
    array = new_array(shape, dtype)
    if array.size:
        session.last_event = session.cl.enqueue_copy(
            session.queue, array, block.buffer, is_blocking=False
        )
    return array


def leave_pool(results: Iterable[Any]) -> None:
    """Results of a complete call whose memory, once forgotten, other libraries count as
    free: it is returned to the system, and not kept by the pool."""
    for result in results:
        memory = getattr(result, "base", None)
        if isinstance(memory, ResultMemory):
            memory.block.leave()


def device_result(
    session: Session, block: Block, shape: tuple[int, ...], dtype: np.dtype
) -> Any:
    """The device array of a result; it keeps the block."""
    kind = session.device_array
    if 0 in shape:
        return kind(session.queue, lengths_of(shape), dtype)
    result = NEW_OBJECT(kind)
    result.shape = shape
    result.dtype = dtype
    result.minifut_block = own = owned(session, block, shape, dtype)
    if own.memory is not None and own.nbytes <= session.device.largest_buffer:
        result.minifut_view = NDARRAY(shape, dtype, own.memory)
    return result


def copied(session: Session, view: np.ndarray) -> np.ndarray:
    """A copy of memory of the device, in memory of the pool if it is large: to map
    pages for an array takes longer than to write them."""
    if view.nbytes < FROM_POOL or not session.lock.acquire(blocking=False):
        return view.copy()
    try:
        block = session.pool.allocate(view.nbytes)
        session.wait()  # earlier kernels may still use this memory
        array = shared_result(session, block, view.shape, view.dtype)
    finally:
        session.lock.release()
    array[...] = view
    return array


def as_array(session: Session, over: Any, dtype: Any, copy: bool | None) -> np.ndarray:
    """An array of the device for NumPy: in place where the host shares the memory, and
    then not to be written, unless a copy is asked for."""
    view = over.minifut_view
    if view is None or (dtype is not None and view.dtype != dtype):
        if copy is False:
            raise ValueError("this array on the device has to be copied")
        array: np.ndarray = over.get()
        array = array if dtype is None else array.astype(dtype)
    elif copy:
        return copied(session, view)
    else:
        own, over.minifut_shown = over.minifut_block, True
        form = view.shape, view.dtype
        array = view.view() if own is None else array_over(own, *form)
    array.flags.writeable = bool(copy)
    return array


def to_device(session: Session, array: np.ndarray) -> Any:
    """A device array with the same elements."""
    block = session.upload(np.ascontiguousarray(array))
    return device_result(session, block, array.shape, array.dtype)


class UsersCommands(list[Any]):
    """The events of a user's commands on some memory. Arrays of pyopencl that are parts
    or other shapes of each other share this list, and with it the memory: it is not
    used again before the last of them is forgotten and the commands are done."""

    __slots__ = ("memory",)

    def __init__(self, memory: Any) -> None:
        super().__init__()
        self.memory = memory

    def __del__(self) -> None:
        for event in self:
            event.wait()


class Completed:
    """An attribute of pyopencl's arrays that calls leave out, since they do not need
    it: pyopencl's constructor, which takes as long as a small kernel, is called when it
    is read."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, array: Any, kind: Any = None) -> Any:
        if array is None:
            return self
        view = array.minifut_view
        if view is not None and self.name in ("shape", "dtype"):
            return getattr(view, self.name)
        array.minifut_complete()
        return vars(array)[self.name]


class DeviceArrays:
    """The class of a session's arrays on the device, made when it is needed first: that
    imports more of pyopencl."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.kind: Any = None

    def make(self) -> Any:
        """The class from now on."""
        self.kind = class_of_device_arrays(self._session)
        return self.kind


def class_of_device_arrays(session: Session) -> Any:
    """A subclass of pyopencl's arrays. One is complete if it was made with a block,
    a shape and a type, or with a view that has no other owner."""
    from pyopencl import array as cl_array

    class DeviceArray(cl_array.Array):
        """An array in the device's memory: an argument of entry points, and a result
        of calls with `device=True`. `np.asarray` gives an array that cannot be written,
        without a copy where the host shares the memory; `np.array`, `get` and
        `np.from_dlpack` copy it, and it is pickled as an array of NumPy."""

        minifut_block: PoolBlock | None = None
        """the memory that contains it whole, if the host shares that"""
        minifut_view: np.ndarray | None = None
        """that memory for the host, while only calls have used it"""
        minifut_shown = False
        """whether the user may have an array of NumPy over that memory"""

        def minifut_complete(self) -> None:
            """Give it what pyopencl's arrays have."""
            block, view, data = self.minifut_block, self.minifut_view, None
            memory: Any = block
            if block is not None and not self.minifut_shown:
                data = block.buffer
            elif view is not None and view.size:
                memory = view = view.copy()  # that may be lent (lent.py), or be shown
                self.minifut_block = None
                flags = session.cl.mem_flags
                mode = flags.READ_WRITE | flags.USE_HOST_PTR
                data = session.cl.Buffer(session.context, mode, 0, view)
            form, events = (
                (session.commands, self.shape, self.dtype),
                UsersCommands(memory),
            )
            cl_array.Array.__init__(self, *form, data=data, events=events)
            self.minifut_view = None  # commands of the user's may follow

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
            return as_array(session, self, dtype, copy)

        def get(self, *arguments: Any, **options: Any) -> np.ndarray:
            """A copy as an array of NumPy, as pyopencl's `get` gives it."""
            block, view = self.minifut_block, self.minifut_view
            if view is not None and not (arguments or options):
                return copied(session, view)
            if arguments or options:
                return super().get(*arguments, **options)
            if self.events or block is None:
                return elements(session, self)
            if self.queue is not None:
                self.queue.finish()
            array = np.empty(self.shape, self.dtype)
            array.reshape(-1).view(np.uint8)[:] = bytes_of(block)[: array.nbytes]
            return array

        def __dlpack__(self, **options: Any) -> Any:
            return self.get().__dlpack__(**options)

        def __reduce__(self) -> tuple[Any, ...]:
            return np.asarray, (self.get(),)

        def __float__(self) -> float:
            return float(self.get())

        def __int__(self) -> int:
            return int(self.get())

        def __index__(self) -> int:
            return operator.index(self.get())

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __repr__(self) -> str:
            return f"<device array of {self.dtype} of shape {self.shape}>"

    for name in vars(DeviceArray(session.commands, (0,), np.uint8)):
        if not hasattr(DeviceArray, name):
            setattr(DeviceArray, name, Completed(name))
    return DeviceArray
