"""Collectives for numpy arrays."""
from __future__ import annotations

import operator
import os
import typing
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core, bootstrap
from .store import Client

Array = NDArray[typing.Any]
_OPS = {"sum": "sum", "prod": "prod", "min": "min", "max": "max", "band": "band", "bor": "bor", "bxor": "bxor"}
# A bool is a byte that is 0 or 1: these operations keep it so.
_OPS_OF_BOOL = {**_OPS, "sum": "bor", "max": "bor", "prod": "band", "min": "band"}


def _bytes(array: Array | None) -> Array | None:
    """Returns the same memory as bytes; types such as bfloat16 have no buffer of their own."""
    return None if array is None else array.reshape(-1).view(np.uint8)


_ANY_RANK = -1
# numpy's names of these types have a size or a unit in them, and some differ from machine to machine.
_ELEMENTS = {"U": "text", "S": "bytes", "V": "record", "M": "datetime64", "m": "timedelta64"}


def _element(array: Array | None) -> int:
    """Returns the number by which the ranks compare their types of elements."""
    if array is None:
        return _core.elements[""]
    dtype = array.dtype
    known = {"longdouble": np.dtype(np.longdouble), "clongdouble": np.dtype(np.clongdouble)}
    name = next((name for name, one in known.items() if one == dtype), None) or _ELEMENTS.get(dtype.kind, dtype.name)
    if dtype.name in _core.elements:  # ml_dtypes' are of kind V, too.
        name = dtype.name
    return _core.elements.get(name, _core.elements["another type"])


def _fold(dtype: np.dtype[typing.Any], op: str) -> tuple[int, int]:
    ops = _OPS_OF_BOOL if dtype == np.bool_ else _OPS
    if op not in ops:
        raise ValueError(f"op={op!r}: one of {', '.join(_OPS)}")
    name = "uint8" if dtype == np.bool_ else dtype.name
    if name not in _core.dtypes:
        raise TypeError(f"no reduction of {dtype.name}: one of bool, {', '.join(_core.dtypes)}")
    return _core.dtypes[name], _core.ops[ops[op]]


class Request:
    """A collective that goes on while the program computes, as `iallreduce` and its kin begin one. Until it is done its input must
    stay as it is, and its result is undefined. A thread of Sumac's moves it too, so `wait` may come late."""

    def __init__(self, posted: _core.Posted, result: Array | None) -> None:
        self._posted, self._result = posted, result

    def done(self, within: float = 0.0) -> bool:
        """Moves it on, and returns whether it is done, at the latest after `within` seconds. Raises what the blocking method would."""
        return self._posted.is_done(within)

    def wait(self) -> Array | None:
        """Returns its result when it is done; None for a barrier. Raises what the blocking method would."""
        self._posted.wait()
        return self._result


class Team:
    """Ranks that perform collectives together, and send each other messages. `init()` makes the first one.

    Arrays may have any shape. Every rank passes the same shape and dtype unless a method says otherwise, and calls the
    same methods in the same order. An array that is not contiguous, or has the byte order of another machine, is copied first.
    A result is a new array, or `out`, which must be contiguous, writable and of the result's shape and dtype; `out` may be the
    input or overlap it. A masked array is a TypeError, since its mask would be lost. A root of -1 is the last rank, and so on.

    Reductions (`op`): "sum", "prod", "min", "max" of bool, int8 to int64, uint8 to uint64, float16, float32, float64 and
    ml_dtypes' bfloat16; "band", "bor", "bxor" of bool and integers. The others move any dtype without objects.

    Errors: ValueError (shapes, dtypes or operations that do not fit, also between ranks; it names them, at every rank, at the
    latest in its next call or in `close`), TypeError (what is no array, or none that can be shared), `TimeoutError`
    (after `timeout` seconds of the team; it names the ranks that have not come), `Error` (a rank died). After an error
    between ranks the team is of no more use.
    """

    def __init__(self, store: bootstrap.Store | None, rank: int, size: int, name: str, timeout: float) -> None:
        self._store, self._name, self.timeout = store, name, timeout
        self._teams = 0
        if store is None:
            values: dict[str, bytes] = {}
            self._core = _core.Team(values.__setitem__, lambda key, _seconds: values.get(key), rank, size, name, 10.0, timeout)
        else:
            self._core = _core.Team(store.set, store.get, rank, size, name, 10.0, timeout)

    @property
    def rank(self) -> int:
        """The number of this process in the team, from 0."""
        return self._core.rank

    @property
    def size(self) -> int:
        """The number of processes."""
        return self._core.size

    def __repr__(self) -> str:
        return f"<sumac_collectives.Team {self._name}: rank {self.rank} of {self.size}>"

    def _run(self, kind: str, given: Array | None, out: Array | None, count_bytes: int, fold: tuple[int, int] | None = None,
             root: int = 0, in_counts: Sequence[int] = (), out_counts: Sequence[int] = (), unit: int = 0) -> None:
        dtype, op = fold or (_core.no_dtype, _core.no_op)
        element = _element(out if given is None else given)
        self._core.run(_core.kinds[kind], _bytes(given), _bytes(out), count_bytes, element, dtype, op, root, list(in_counts),
                       list(out_counts), unit, self.timeout)

    def _post(self, kind: str, given: Array | None, out: Array | None, count_bytes: int, fold: tuple[int, int] | None = None,
              root: int = 0) -> Request:
        dtype, op = fold or (_core.no_dtype, _core.no_op)
        element = _element(out if given is None else given)
        return Request(self._core.post(_core.kinds[kind], _bytes(given), _bytes(out), count_bytes, element, dtype, op, root, self.timeout), out)

    def _rank(self, rank: int, name: str) -> int:
        number = operator.index(rank)
        if not -self.size <= number < self.size:
            raise ValueError(f"{name}={rank}: the team has the ranks 0 to {self.size - 1}")
        return number % self.size

    def _root(self, root: int) -> int:
        return self._rank(root, "root")

    def _source(self, source: int | None) -> int:
        return _ANY_RANK if source is None else self._rank(source, "source")

    @staticmethod
    def _tag(tag: int, name: str = "tag") -> int:
        number = operator.index(tag)
        if not 0 <= number < 2**32:
            raise ValueError(f"{name}={tag}: a number from 0 to {2**32 - 1}")
        return number

    @staticmethod
    def _given(x: ArrayLike) -> Array:
        if isinstance(x, np.ma.MaskedArray):
            raise TypeError("x is a masked array, and its mask would be lost: pass x.filled(value), or x.data and the mask as two arrays")
        array = np.ascontiguousarray(x) if np.ndim(x) else np.array(x)
        if array.dtype.hasobject:
            raise TypeError("an array of Python objects cannot be shared")
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))

    @staticmethod
    def _written(array: Array, name: str) -> Array:
        """Returns an array of the caller's that gets a result. Raises for one that cannot; `name` is the caller's for it."""
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{name} must be a numpy array, since it is written to; it is a {type(array).__name__}")
        if isinstance(array, np.ma.MaskedArray):
            raise TypeError(f"{name} is a masked array, whose mask would not follow its values: pass {name}.data")
        if array.dtype.hasobject:
            raise TypeError("an array of Python objects cannot be shared")
        if not array.dtype.isnative:
            raise TypeError(f"{name} has the byte order of another machine ({array.dtype.str}), and its values would be wrong: "
                            f"pass {name}.astype({name}.dtype.newbyteorder('='))")
        if not array.flags.writeable:
            raise ValueError(f"{name} is read-only, and is written to")
        if not array.flags.c_contiguous:
            raise ValueError(f"{name} must be contiguous; its shape is {array.shape} and its strides are {array.strides}")
        return array

    def _out(self, out: Array | None, shape: tuple[int, ...], dtype: np.dtype[typing.Any]) -> Array:
        if out is None:
            return np.empty(shape, dtype)
        self._written(out, "out")
        if out.shape != shape or out.dtype != dtype:
            raise ValueError(f"out must have the shape {shape} and dtype {dtype}; it has {out.shape} and {out.dtype}")
        return out

    @staticmethod
    def _apart(given: Array, result: Array | None) -> Array:
        """Returns the input, as a copy where the result would overwrite it before it is read, as in numpy's functions. Both are
        contiguous, so their bounds say it all."""
        return given if result is None or not np.may_share_memory(given, result) else given.copy()

    @staticmethod
    def _unless_in_place(given: Array, result: Array | None) -> Array:
        """The same where the result may be the input itself."""
        is_same = result is not None and given.ctypes.data == result.ctypes.data and given.nbytes == result.nbytes
        return given if is_same else Team._apart(given, result)

    def _rows(self, array: Array) -> tuple[int, ...]:
        if array.ndim == 0 or array.shape[0] != self.size:
            raise ValueError(f"the first dimension must be the {self.size} ranks of the team; the shape is {array.shape}")
        return array.shape[1:]

    def _counts(self, counts: Sequence[int], rows: int, what: str) -> list[int]:
        numbers = [int(count) for count in counts]
        if min(numbers, default=0) < 0:
            raise ValueError(f"{what} are numbers of rows, and one is negative: {numbers}")
        if len(numbers) != self.size or sum(numbers) != rows:
            raise ValueError(f"{what} must be {self.size} numbers of rows that add up to {rows}; they are {numbers}")
        return numbers

    def barrier(self) -> None:
        """Returns when every rank has called it."""
        self._run("barrier", None, None, 0)

    def allreduce(self, x: ArrayLike, op: str = "sum", out: Array | None = None) -> Array:
        """Combines the arrays of all ranks, element by element; every rank gets the result, of x's shape and dtype.

        >>> init_alone().allreduce(np.arange(3.0))
        array([0., 1., 2.])
        """
        given = self._given(x)
        result = self._out(out, given.shape, given.dtype)
        self._run("allreduce", self._unless_in_place(given, result), result, given.nbytes, _fold(given.dtype, op))
        return result

    def iallreduce(self, x: ArrayLike, op: str = "sum", out: Array | None = None) -> Request:
        """Begins an allreduce and returns at once.

        >>> request = init_alone().iallreduce(np.arange(3.0))
        >>> request.wait()
        array([0., 1., 2.])
        """
        given = self._given(x)
        result = self._out(out, given.shape, given.dtype)
        return self._post("allreduce", self._unless_in_place(given, result), result, given.nbytes, _fold(given.dtype, op))

    def ibcast(self, x: Array, root: int = 0) -> Request:
        """Begins a bcast and returns at once; its result is x."""
        return self._post("bcast", None, self._written(x, "x"), x.nbytes, root=self._root(root))

    def ibarrier(self) -> Request:
        """Begins a barrier and returns at once: it is done when every rank has begun it."""
        return self._post("barrier", None, None, 0)

    def reduce(self, x: ArrayLike, root: int = 0, op: str = "sum", out: Array | None = None) -> Array | None:
        """Like allreduce, but only `root` gets the result; the others get None.

        >>> init_alone().reduce(np.array([1, 2], dtype=np.int32), op="max")
        array([1, 2], dtype=int32)
        """
        given = self._given(x)
        root = self._root(root)
        result = self._out(out, given.shape, given.dtype) if self.rank == root else None
        self._run("reduce", self._unless_in_place(given, result), result, given.nbytes, _fold(given.dtype, op), root)
        return result

    def bcast(self, x: Array, root: int = 0) -> Array:
        """Overwrites x at every rank with that of `root`, and returns it. x must be contiguous and writable."""
        self._run("bcast", None, self._written(x, "x"), x.nbytes, root=self._root(root))
        return x

    def allgather(self, x: ArrayLike, out: Array | None = None) -> Array:
        """Returns the arrays of all ranks: result[r] is that of rank r, the shape is (size, *x.shape).

        >>> init_alone().allgather([1, 2]).shape
        (1, 2)
        """
        given = self._given(x)
        result = self._out(out, (self.size, *given.shape), given.dtype)
        self._run("allgather", self._apart(given, result), result, given.nbytes)
        return result

    def allgatherv(self, x: ArrayLike, counts: Sequence[int], out: Array | None = None) -> Array:
        """Like allgather with counts[r] rows from rank r, the same counts at every rank; the rows follow each other.

        >>> init_alone().allgatherv([[1, 2], [3, 4]], [2]).tolist()
        [[1, 2], [3, 4]]
        """
        given = self._given(x)
        numbers = self._counts(counts, sum(int(count) for count in counts), "counts")
        if given.ndim == 0 or given.shape[0] != numbers[self.rank]:
            raise ValueError(f"counts[{self.rank}]={numbers[self.rank]} and x has the shape {given.shape}")
        result = self._out(out, (sum(numbers), *given.shape[1:]), given.dtype)
        unit = given.dtype.itemsize * int(np.prod(given.shape[1:], dtype=np.int64))
        self._run("allgatherv", self._apart(given, result), result, 0, out_counts=numbers, unit=unit)
        return result

    def alltoall(self, x: ArrayLike, out: Array | None = None) -> Array:
        """Sends x[r] to rank r, and returns what each rank sent here: x's shape, whose first dimension is the ranks.

        >>> init_alone().alltoall([[5, 6]]).tolist()
        [[5, 6]]
        """
        given = self._given(x)
        self._rows(given)
        result = self._out(out, given.shape, given.dtype)
        self._run("alltoall", self._apart(given, result), result, given.nbytes // self.size)
        return result

    def alltoallv(self, x: ArrayLike, send_counts: Sequence[int], recv_counts: Sequence[int], out: Array | None = None) -> Array:
        """Sends send_counts[r] rows of x to rank r, one after the other; returns recv_counts[r] rows from each rank r.

        send_counts[r] here is recv_counts[rank] there.
        """
        given = self._given(x)
        rows = given.shape[0] if given.ndim else 0
        sends = self._counts(send_counts, rows, "send_counts")
        receives = self._counts(recv_counts, sum(int(count) for count in recv_counts), "recv_counts")
        result = self._out(out, (sum(receives), *given.shape[1:]), given.dtype)
        unit = given.dtype.itemsize * int(np.prod(given.shape[1:], dtype=np.int64))
        self._run("alltoallv", self._apart(given, result), result, 0, in_counts=sends, out_counts=receives, unit=unit)
        return result

    def reduce_scatter(self, x: ArrayLike, op: str = "sum", out: Array | None = None) -> Array:
        """Combines the arrays of all ranks; rank r gets row r of the result: the shape is x.shape[1:].

        >>> init_alone().reduce_scatter([[1, 2, 3]]).tolist()
        [1, 2, 3]
        """
        given = self._given(x)
        result = self._out(out, self._rows(given), given.dtype)
        self._run("reduce_scatter_block", self._apart(given, result), result, given.nbytes // self.size, _fold(given.dtype, op))
        return result

    def gather(self, x: ArrayLike, root: int = 0, out: Array | None = None) -> Array | None:
        """Like allgather, but only `root` gets the result; the others get None."""
        given = self._given(x)
        root = self._root(root)
        result = self._out(out, (self.size, *given.shape), given.dtype) if self.rank == root else None
        self._run("gather", self._apart(given, result), result, given.nbytes, root=root)
        return result

    def gatherv(self, x: ArrayLike, counts: Sequence[int], root: int = 0, out: Array | None = None) -> Array | None:
        """Like allgatherv, but only `root` gets the result; the others get None. All ranks pass the same counts."""
        given = self._given(x)
        numbers = self._counts(counts, sum(int(count) for count in counts), "counts")
        if given.ndim == 0 or given.shape[0] != numbers[self.rank]:
            raise ValueError(f"counts[{self.rank}]={numbers[self.rank]} and x has the shape {given.shape}")
        unit = given.dtype.itemsize * int(np.prod(given.shape[1:], dtype=np.int64))
        root, result = self._root(root), None
        if self.rank == root:
            result = self._out(out, (sum(numbers), *given.shape[1:]), given.dtype)
        self._run("gatherv", self._apart(given, result), result, given.nbytes, root=root, out_counts=numbers, unit=unit)
        return result

    def scatter(self, x: ArrayLike | None, out: Array, root: int = 0) -> Array:
        """Row r of root's x goes to rank r, into `out`, which has the shape of a row. The others' x is not read."""
        root, given = self._root(root), None
        self._written(out, "out")
        if self.rank == root:
            given = self._given(typing.cast(ArrayLike, x))
            given = self._apart(given, self._out(out, self._rows(given), given.dtype))
        self._run("scatter", given, out, out.nbytes, root=root)
        return out

    def scatterv(self, x: ArrayLike | None, counts: Sequence[int], out: Array, root: int = 0) -> Array:
        """Like scatter, with counts[r] rows for rank r; out has counts[rank] rows. All ranks pass the same counts."""
        numbers = self._counts(counts, sum(int(count) for count in counts), "counts")
        if self._written(out, "out").ndim == 0 or out.shape[0] != numbers[self.rank]:
            raise ValueError(f"counts[{self.rank}]={numbers[self.rank]} and out has the shape {out.shape}")
        root, given = self._root(root), None
        if self.rank == root:
            given = self._given(typing.cast(ArrayLike, x))
            if given.shape != (sum(numbers), *out.shape[1:]) or given.dtype != out.dtype:
                raise ValueError(f"x has the shape {given.shape} and dtype {given.dtype}; out and counts ask for "
                                 f"{(sum(numbers), *out.shape[1:])} and {out.dtype}")
            given = self._apart(given, out)
        unit = out.dtype.itemsize * int(np.prod(out.shape[1:], dtype=np.int64))
        self._run("scatterv", given, out, out.nbytes, root=root, in_counts=numbers, unit=unit)
        return out

    def send(self, x: ArrayLike, to: int, tag: int = 0) -> None:
        """Sends x to a rank, which calls recv with an array of as many bytes. Returns when x may be written again: at once for a
        small one, otherwise when that rank receives it. Messages of one sender and tag arrive in their order. In a team of one
        there is nobody to send to: ValueError."""
        self._core.send(self._rank(to, "to"), self._tag(tag), _bytes(self._given(x)), self.timeout)

    def recv(self, out: Array, source: int | None = None, tag: int = 0) -> int:
        """Receives a message of this tag into `out`, which must be contiguous and writable, and returns the rank that sent it.
        source=None takes the first from any rank. ValueError if the message has another number of bytes; its dtype is the
        ranks' own business."""
        return self._core.receive(self._source(source), self._tag(tag), _bytes(self._written(out, "out")), self.timeout)

    def sendrecv(self, x: ArrayLike, to: int, out: Array, source: int | None = None, tag: int = 0, recv_tag: int | None = None) -> int:
        """Sends x and receives into `out` at the same time, so ranks may exchange arrays in a ring; returns the rank that sent.
        recv_tag is `tag` if it is not given.
        """
        given = self._apart(self._given(x), self._written(out, "out"))
        receives = self._tag(tag if recv_tag is None else recv_tag, "recv_tag")
        return self._core.exchange(self._rank(to, "to"), self._tag(tag), _bytes(given), self._source(source), receives, _bytes(out), self.timeout)

    def split(self, color: int | None, key: int = 0) -> Team | None:
        """Makes a team of the ranks with the same color, ordered by key, then by rank; None for a rank without color."""
        choices = self.allgather(np.array([color is not None, color or 0, key], dtype=np.int64))
        self._teams += 1
        made = None
        if color is not None:
            chosen = sorted((int(choice[2]), rank) for rank, choice in enumerate(choices) if choice[0] and choice[1] == color)
            ranks = [rank for _, rank in chosen]
            name = f"{self._name}.{self._teams}.{color}"
            store = None if self._store is None else bootstrap.Prefixed(self._store, name)
            made = Team(store, ranks.index(self.rank), len(ranks), name, self.timeout)
        # Rank 0 serves the store, so it must not end before the others have met.
        self.barrier()
        return made

    def close(self) -> None:
        """Frees what the team holds here; later calls raise ValueError. Local: other ranks may still be busy."""
        try:
            self._core.close()
        finally:  # Ctrl-C may have ended the wait for others.
            if self._store is not None:
                self._store.close()


def init(timeout: float = 1800.0) -> Team:
    """Makes the team of all ranks that the launcher started: torchrun, mpirun, srun, or one process alone.

    `timeout` is in seconds, for the meeting and for each collective. Collective over all ranks. Call it once; `split`
    makes further teams. Raises ValueError (a variable that is missing or wrong), TimeoutError (ranks that do not come) and
    OSError (a port that is taken).

    >>> team = init_alone()  # as init() does without a launcher
    >>> team.rank, team.size
    (0, 1)
    """
    start = bootstrap.find(os.environ)
    store = bootstrap.connect(start, timeout)
    team = Team(store, start.rank, start.size, "world", timeout)
    if isinstance(store, Client) and store.server is not None:
        store.server.has_met()
    return team


def init_alone() -> Team:
    """Makes a team of this process alone, whatever the launcher."""
    return Team(None, 0, 1, "alone", 1800.0)
