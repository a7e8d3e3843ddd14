"""Collectives of numpy arrays against numpy itself, in 3 processes; what a launcher's variables mean; libucc beside a team; bad input."""
import ctypes
import doctest
import mmap
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import unittest

import ml_dtypes
import numpy as np
import ranks
import sumac_collectives
from sumac_collectives import _core, bootstrap, store, team as team_module

HERE = pathlib.Path(__file__).resolve().parent
DTYPES = [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64,
          ml_dtypes.bfloat16]


def make(rank, size, folder, timeout=60.0):
    """The team, over a socket of this host that is named after the folder."""
    address = f"sumac-test-{folder.name}"
    if rank == 0:
        store.Server(address, size)
    return team_module.Team(store.Client(address, timeout), rank, size, "world", timeout)


def given(rank, dtype, shape):
    """Small numbers, which every type adds up exactly."""
    return ((np.arange(int(np.prod(shape))) + rank) % 3).reshape(shape).astype(dtype)


def absent(rank, size, folder):
    """Rank 1 never joins."""
    if rank == 0:
        make(rank, size, folder, timeout=0.3)


def all_collectives(rank, size, folder):
    team = make(rank, size, folder)
    for dtype in DTYPES:
        for shape in ((), (1,), (5, 3), (40000,)):
            x = given(rank, dtype, shape)
            everyone = [given(r, dtype, shape) for r in range(size)]
            stack = np.stack(everyone)
            expected = {"max": stack.max(0), "min": stack.min(0)}
            expected["sum"] = stack.any(0) if dtype == np.bool_ else stack.sum(0, dtype=dtype)
            expected["prod"] = stack.all(0) if dtype == np.bool_ else stack.prod(0, dtype=dtype)
            if np.dtype(dtype).kind in "biu":
                expected |= {"band": np.bitwise_and.reduce(stack), "bor": np.bitwise_or.reduce(stack), "bxor": np.bitwise_xor.reduce(stack)}
            for op, right in expected.items():
                np.testing.assert_array_equal(team.allreduce(x, op), right, f"{op} of {dtype} {shape}")
                out = x.copy()
                assert team.allreduce(out, op, out=out) is out
                np.testing.assert_array_equal(out, right)
                reduced = team.reduce(x, 1, op)
                assert (reduced is None) == (rank != 1)
                if reduced is not None:
                    np.testing.assert_array_equal(reduced, right)
            np.testing.assert_array_equal(team.allgather(x), stack)
            gathered = team.gather(x, 2)
            if rank == 2:
                np.testing.assert_array_equal(gathered, stack)
            np.testing.assert_array_equal(team.bcast(x.copy(), 1), everyone[1])
            rows = given(rank, dtype, (size, *shape))
            others = [given(r, dtype, (size, *shape)) for r in range(size)]
            np.testing.assert_array_equal(team.alltoall(rows), np.stack([other[rank] for other in others]))
            summed = team.reduce_scatter(rows, "max")
            np.testing.assert_array_equal(summed, np.stack(others).max(0)[rank])
            np.testing.assert_array_equal(team.scatter(rows if rank == 0 else None, np.empty(shape, dtype)), others[0][rank])
    counts = [0, 2, 5][:size]
    own = np.full((counts[rank], 2), rank, dtype=np.float32)
    blocks = np.concatenate([np.full((count, 2), r, dtype=np.float32) for r, count in enumerate(counts)])
    np.testing.assert_array_equal(team.allgatherv(own, counts), blocks)
    gathered = team.gatherv(own, counts, 1)
    if rank == 1:
        np.testing.assert_array_equal(gathered, blocks)
    np.testing.assert_array_equal(team.scatterv(blocks if rank == 2 else None, counts, np.empty_like(own), 2), own)
    sent = np.repeat(np.arange(size), [rank + r for r in range(size)])
    received = team.alltoallv(sent, [rank + r for r in range(size)], [r + rank for r in range(size)])
    np.testing.assert_array_equal(received, np.full(sum(r + rank for r in range(size)), rank))
    team.barrier()
    part = team.split(rank % 2, key=-rank)
    assert (part.size, part.rank) == ((2, 1 - rank // 2) if rank % 2 == 0 else (1, 0))
    assert part.allreduce([rank]).tolist() == ([2] if rank % 2 == 0 else [1])
    assert (team.split(None if rank == 0 else 1) is None) == (rank == 0)
    team.close()
    try:
        team.barrier()
    except ValueError as error:
        return str(error)
    return None


def nonblocking(rank, size, folder):
    """Several at a time, looked at or waited for in another order; nobody keeps one of them, or its arrays."""
    team = make(rank, size, folder)
    team.iallreduce(np.ones(100000))
    sums = [team.iallreduce(given(rank, np.int64, (shape,)) + number, "sum") for number, shape in enumerate((1, 3, 40000))]
    x = np.full(5, float(rank))
    moved, met = team.ibcast(x, -1), team.ibarrier()
    assert met.wait() is None and moved.done() and moved.wait() is x
    np.testing.assert_array_equal(x, np.full(5, size - 1.0))
    for number, (request, shape) in enumerate(zip(sums, (1, 3, 40000), strict=True)):
        np.testing.assert_array_equal(request.wait(), np.stack([given(r, np.int64, (shape,)) for r in range(size)]).sum(0) + number * size)
    out = np.zeros(2)
    request = team.iallreduce([1.0, rank], out=out)
    while not request.done(0.001):
        pass
    assert request.wait() is out and out.tolist() == [size, sum(range(size))] and request.done()
    assert team.split(0 if rank == 0 else None) is None or rank == 0
    alone = team_module.Team(None, 0, 1, "alone", 1.0)
    assert alone.iallreduce([2]).wait().tolist() == [2]
    team.close()
    return True


def nonblocking_and_different(rank, size, folder):
    """A rank that differs is named to all, at the latest by the end."""
    team = make(rank, size, folder)
    try:
        team.barrier()  # Rank 0 has the store, and may end before the others have joined. A late rank learns of the difference here.
        team.iallreduce(np.ones(1 if rank == 0 else 2)).wait()
        team.close()
    except ValueError as error:
        return "rank" in str(error)
    return False


def repeated(count, period=1 << 24):
    """Memory of `count` bytes, which has the same `period` bytes again and again, and a page of its own behind them."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    file, fixed_populated = os.memfd_create("repeated"), 0x10 | 0x8000
    os.truncate(file, period)
    rights = mmap.PROT_READ | mmap.PROT_WRITE
    first = libc.mmap(None, count + mmap.PAGESIZE, rights, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    for at in range(first, first + count, period):
        assert libc.mmap(at, period, rights, mmap.MAP_SHARED | fixed_populated, file, 0) == at
    os.close(file)
    return np.ctypeslib.as_array((ctypes.c_uint8 * (count + 1)).from_address(first))


def more_than_31_bits(rank, size, folder):
    """Rank 0 keeps 2**31 bytes and exchanges one with rank 1."""
    team = make(rank, size, folder)
    keeps = 2**31 if rank == 0 else 1
    sent, out = (repeated(keeps), repeated(keeps)) if rank == 0 else (np.zeros(2, dtype=np.uint8), np.zeros(2, dtype=np.uint8))
    sent[0], sent[keeps - 1], sent[-1] = 7, 8, 9
    own_first = [keeps, 1] if rank == 0 else [1, keeps]
    if rank == 1:
        sent[0], sent[1] = 5, 6
    received = team.alltoallv(sent, own_first, own_first, out=out)
    return [int(received[0]), int(received[keeps - 1]), int(received[-1]), len(received)]


def as_numpy_means_it(rank, size, folder):
    """Roots from the end, the byte order of another machine, and results that overlap the input."""
    team = make(rank, size, folder)
    last = size - 1
    for root in (-1, last - size, last):
        x = np.full(3, float(rank))
        np.testing.assert_array_equal(team.bcast(x, root), np.full(3, float(last)))
        for one, right in ((team.reduce([rank], root), [sum(range(size))]), (team.gather([rank], root), [[r] for r in range(size)]),
                           (team.gatherv([rank], [1] * size, root), list(range(size)))):
            assert (one is None) == (rank != last)
            if one is not None:
                np.testing.assert_array_equal(one, right)
        rows = np.arange(size) + 10
        assert team.scatter(rows if rank == last else None, np.empty((), int), root) == 10 + rank
        assert team.scatterv(rows if rank == last else None, [1] * size, np.empty(1, int), root) == 10 + rank
    for order in "<>":
        for kind in ("f8", "f4", "i4", "u2", "c16", "M8[D]", "U2"):
            x = np.array([1, 256], dtype=order + kind if kind != "M8[D]" else order + "i8").astype(order + kind)
            native = x.astype(kind)
            np.testing.assert_array_equal(team.allgather(x), np.stack([native] * size))
            assert team.allgather(x if rank == 0 else native).dtype.isnative
            np.testing.assert_array_equal(team.alltoall(np.stack([x] * size)), np.stack([native] * size))
            if kind[0] not in "cMU":
                np.testing.assert_array_equal(team.allreduce(x), size * native)
                np.testing.assert_array_equal(team.allreduce(x, "max"), native)
                np.testing.assert_array_equal(team.reduce_scatter(np.stack([x] * size)), size * native)
    for count in (6, 60_000):
        a = np.arange(float(count))
        team.allreduce(a[:-1], out=a[1:])
        np.testing.assert_array_equal(a, np.concatenate([[0], size * np.arange(count - 1.0)]))
        a = np.arange(float(count))
        assert team.allreduce(a, out=a) is a
        np.testing.assert_array_equal(a, size * np.arange(float(count)))
        right = np.stack([np.full(count, float(r)) for r in range(size)])
        for place in (rank, (rank + 1) % size):
            out = np.full((size, count), -1.0)
            out[place] = rank
            np.testing.assert_array_equal(team.allgather(out[place], out=out), right)
            out[place] = rank
            np.testing.assert_array_equal(team.allgatherv(out[place], [count] * size, out=out.reshape(-1)), right.reshape(-1))
            out[place] = rank
            gathered = team.gather(out[place], 1, out if rank == 1 else None)
            if rank == 1:
                np.testing.assert_array_equal(gathered, right)
        rows = np.arange(float(size * count)).reshape(size, count)
        for place in range(size):
            x = rows.copy()
            np.testing.assert_array_equal(team.reduce_scatter(x, out=x[place]), size * rows[rank])
            x = rows.copy()
            np.testing.assert_array_equal(team.scatter(x if rank == 0 else None, x[place]), rows[rank])
        x = rows.copy()
        np.testing.assert_array_equal(team.alltoall(x, out=x), np.stack([rows[rank]] * size))
    team.close()


def of_other_types(rank, size, folder, what):
    """The types differ, or the counts. Rank 0 may end nevertheless; then it reads the reason when it closes the team."""
    team = make(rank, size, folder)
    x = np.ones(4, np.int64 if rank == 1 else np.float64)
    try:
        if what == "bcast":
            team.bcast(x)
        elif what == "allgather":
            team.allgather(x)
        elif what == "alltoallv":
            team.alltoallv(np.ones(4), [3, 1] if rank == 0 else [2, 2], [2, 2])
        else:
            team.allgatherv(np.ones(3 - rank), [3, 2] if rank == 0 else [4, 2])
        ranks.await_file(folder / "found")
        team.close()
    finally:
        (folder / "found").touch()


def of_other_sizes(rank, size, folder):
    make(rank, size, folder).allreduce(np.ones(4 if rank == 1 else 2))


def of_other_kinds(rank, size, folder):
    team = make(rank, size, folder)
    team.barrier() if rank == 1 else team.allreduce([1.0])


def late(rank, size, folder):
    team = make(rank, size, folder, timeout=0.3 if rank == 0 else 60)
    if rank == 1:
        ranks.await_file(folder / "over")
        return
    try:
        team.allreduce(np.ones(100000))
    finally:
        (folder / "over").touch()


def dead(rank, size, folder):
    team = make(rank, size, folder)
    team.barrier()
    if rank == 2:
        os._exit(3)
    team.allreduce([1.0])


def messages(rank, size, folder):
    """Around a ring, from any rank, by tags in another order than they were sent, and exchanged by all ranks at a time."""
    team = make(rank, size, folder)
    after, before = (rank + 1) % size, (rank - 1) % size
    for count in (0, 1, 1000, 300_000):
        sent, out = np.full((count, 2), rank, dtype=np.float32), np.empty((count, 2), dtype=np.float32)
        assert team.sendrecv(sent, after, out, before, tag=3) == before
        np.testing.assert_array_equal(out, np.full((count, 2), before, dtype=np.float32))
        assert team.sendrecv(out, before - size, out, tag=4) == after  # The bytes go back into the same memory.
        np.testing.assert_array_equal(out, sent)
        assert team.sendrecv([rank], after, number := np.empty(1, int), before, tag=rank, recv_tag=before) == before
        assert number[0] == before
        assert team.sendrecv([rank], rank, number, rank, tag=9) == number[0] == rank
    if rank == 0:
        texts = {team.recv(text := np.empty((), "U5")): str(text) for _ in range(1, size)}
        assert texts == {r: f"rank{r}" for r in range(1, size)}
        late, soon = np.empty(40_000), np.empty(2, "i4")
        for r in range(1, size):
            assert (team.recv(soon, r, tag=2**32 - 1), team.recv(late, r, tag=7)) == (r, r)
            assert soon.tolist() == [1, 256]
            np.testing.assert_array_equal(late, np.arange(40_000.0) * r)
    else:
        team.send(np.array(f"rank{rank}", dtype="U5"), 0)
        large = threading.Thread(target=team.send, args=(np.arange(40_000.0) * rank, 0, 7))
        large.start()
        team.send(np.array([1, 256], ">i4"), -size, 2**32 - 1)  # as this machine has it
        large.join()
    team.barrier()


def messages_that_fail(rank, size, folder):
    """A message of another size, a rank that sends nothing, and Ctrl-C; the team goes on after each."""
    team = make(rank, size, folder, timeout=0.5 if rank == 0 else 60)
    said = []
    if rank == 1:
        team.send(np.zeros(3), 0)
        ranks.await_file(folder / "over")
    else:
        def interrupted():
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
            team.sendrecv(np.zeros(200_000), 1, np.zeros(1), 1, tag=6)

        for call in (lambda: team.recv(np.zeros(2), 1), lambda: team.recv(np.zeros(2), 1, tag=5), interrupted):
            try:
                call()
            except (ValueError, TimeoutError, KeyboardInterrupt) as error:
                said.append(f"{type(error).__name__}: {error}")
        (folder / "over").touch()
    team.timeout = 60
    assert team.allreduce([1]).tolist() == [size]
    return said


class Collectives(unittest.TestCase):
    def test_every_collective_type_and_operation(self):
        self.assertEqual(set(ranks.values(self, all_collectives, 3)), {"the process group was closed"})

    def test_nonblocking_ones_go_on_while_the_program_computes(self):
        for body in (nonblocking, nonblocking_and_different):
            self.assertEqual(ranks.values(self, body, 3), [True] * 3)

    def test_more_bytes_than_31_bits_count(self):
        self.assertEqual(ranks.values(self, more_than_31_bits, 2), [[7, 8, 5, 2**31 + 1], [9, 9, 6, 2]])

    def test_arguments_mean_what_they_mean_in_numpy(self):
        ranks.values(self, as_numpy_means_it, 3)

    def test_an_array_that_cannot_be_is_refused_at_once(self):
        alone = sumac_collectives.init_alone()
        read_only = np.ones(2)
        read_only.flags.writeable = False
        masked = np.ma.array([1.0, 2.0], mask=[0, 1])
        for call, words in ((lambda: alone.allreduce(np.ones(2), op="mean"), "op='mean': one of sum"),
                            (lambda: alone.allreduce(np.ones(2), op="band"), "band of float64 is not defined"),
                            (lambda: alone.allreduce(np.array(["a"])), "no reduction of str"),
                            (lambda: alone.allgather(np.array([None])), "Python objects"),
                            (lambda: alone.alltoall(np.ones((2, 2))), "the first dimension must be the 1 ranks"),
                            (lambda: alone.bcast(np.ones((4, 4)).T[:2]), "must be contiguous"),
                            (lambda: alone.bcast(np.ones(2), root=3), "root=3: the team has the ranks 0 to 0"),
                            (lambda: alone.reduce(np.ones(2), root=-2), "root=-2: the team has the ranks 0 to 0"),
                            (lambda: alone.gather(np.ones(2), root=1), "root=1: the team has the ranks 0 to 0"),
                            (lambda: alone.scatter(np.ones((1, 2)), np.ones(2), root=1), "root=1: the team has the ranks 0 to 0"),
                            (lambda: alone.reduce(np.ones(2), root=0.5), "cannot be interpreted as an integer"),
                            (lambda: alone.bcast(read_only), "x is read-only"),
                            (lambda: alone.bcast([1, 2]), "x must be a numpy array, since it is written to; it is a list"),
                            (lambda: alone.bcast(np.ones(2, ">f8")), "x has the byte order of another machine (>f8)"),
                            (lambda: alone.bcast(masked), "x is a masked array, whose mask would not follow its values"),
                            (lambda: alone.allreduce(masked), "x is a masked array, and its mask would be lost"),
                            (lambda: alone.allreduce(np.ones(2), out=masked), "out is a masked array"),
                            (lambda: alone.allreduce(np.ones(2), out=read_only), "out is read-only"),
                            (lambda: alone.allreduce(np.ones(2), out=[0, 0]), "out must be a numpy array"),
                            (lambda: alone.allreduce(np.ones(2), out=np.ones(4)[::2]), "out must be contiguous"),
                            (lambda: alone.allreduce(np.ones(2), out=np.ones(2, ">f8")), "out has the byte order of another machine (>f8)"),
                            (lambda: alone.scatter(np.ones((1, 2)), [0, 0]), "out must be a numpy array"),
                            (lambda: alone.alltoallv(np.ones(2), [-2], [2]), "send_counts are numbers of rows, and one is negative: [-2]"),
                            (lambda: alone.alltoallv(np.ones(2), [2], [1]), "rank 0 sends 16 B to itself, and expects 8 B"),
                            (lambda: alone.allreduce(np.ones(2), out=np.ones(3)), "out must have the shape (2,)")):
            with self.assertRaises((ValueError, TypeError)) as caught:
                call()
            self.assertIn(words, str(caught.exception))


class Messages(unittest.TestCase):
    def test_send_recv_and_sendrecv(self):
        ranks.values(self, messages, 3)

    def test_a_message_that_fails_leaves_the_team(self):
        said, nothing = ranks.values(self, messages_that_fail, 2)
        self.assertEqual(nothing, [])
        self.assertEqual(len(said), 3, said)
        self.assertRegex(said[0], r"ValueError: .*24 B.*16 B")
        self.assertRegex(said[1], r"TimeoutError: rank 0: timed out after 500 ms: message with rank 1")
        self.assertTrue(said[2].startswith("KeyboardInterrupt"), said[2])

    def test_what_cannot_be_is_refused_at_once(self):
        alone = sumac_collectives.init_alone()
        for call, words in ((lambda: alone.send(np.ones(2), 1), "to=1: the team has the ranks 0 to 0"),
                            (lambda: alone.recv(np.ones(2), -2), "source=-2: the team has the ranks 0 to 0"),
                            (lambda: alone.recv([1, 2], 0), "out must be a numpy array"),
                            (lambda: alone.send(np.array([None]), 0), "Python objects"),
                            (lambda: alone.send(np.ones(2), 0, -1), "tag=-1: a number from 0 to"),
                            (lambda: alone.sendrecv(np.ones(2), 0, np.ones(2), recv_tag=2**32), "recv_tag=4294967296: a number from 0 to")):
            with self.assertRaises((ValueError, TypeError)) as caught:
                call()
            self.assertIn(words, str(caught.exception))


class BadInput(unittest.TestCase):
    def test_ranks_that_differ_are_named(self):
        for body, words in ((of_other_sizes, "the ranks differ: operation 1 is allreduce of"), (of_other_kinds, "the ranks differ: operation 1 is")):
            for one in ranks.run(body, 3):
                self.assertIn(words, one.error)
                self.assertTrue(one.error.startswith("ValueError") or one.error.startswith("Error"), one.error)

    def test_types_and_counts_that_differ_are_named_at_every_rank(self):
        for what in ("bcast", "allgather", "alltoallv", "allgatherv"):
            for rank, one in enumerate(ranks.run(of_other_types, 2, what)):
                self.assertIn("the ranks differ: ", str(one.error), f"{what} at rank {rank}")

    def test_a_rank_that_does_not_come_is_named(self):
        found = ranks.run(late, 2)
        self.assertRegex(found[0].error, r"^TimeoutError: rank 0: allreduce of 800000 B, float64, sum \(operation 1 of group world\): "
                                         r"timed out after 300 ms at rank 0: rank 1 \(host .*\) has not begun it$")
        self.assertIsNone(found[1].error)

    def test_a_rank_that_dies_is_named(self):
        found = ranks.run(dead, 3)
        for one in found[:2]:
            self.assertRegex(one.error, r"^Error: .*rank 2 \(host [\w.-]+, process \d+\) died")

    def test_two_versions_of_the_package(self):
        values = {"sumac/0/1": b"0.0.9" + bytes(27)}
        with self.assertRaisesRegex(ValueError, "rank 1 has sumac_collectives 0.0.9 and rank 0 has .*: install the same version"):
            _core.Team(values.__setitem__, lambda key, _seconds: values.get(key), 0, 2, "world", 10.0, 10.0)

    def test_keys_of_another_job(self):
        values = {"sumac/0/1": b"\xff\x1b[31m"}
        with self.assertRaisesRegex(ValueError, "rank 1 sent no greeting; the store seems to hold keys of another job: give each job"):
            _core.Team(values.__setitem__, lambda key, _seconds: values.get(key), 0, 2, "world", 10.0, 10.0)

    def test_a_reason_that_is_no_text(self):
        values = {"sumac/gave-up": b"\x14caf\xff\x1b[31m"}
        with self.assertRaises(_core.Error) as raised:
            _core.Team(values.__setitem__, lambda key, _seconds: values.get(key), 0, 2, "world", 10.0, 10.0)
        self.assertEqual(str(raised.exception), "caf??[31m")

    def test_a_rank_that_does_not_join_is_named(self):
        for one in ranks.run(absent, 2)[:1]:
            self.assertEqual(one.error, "TimeoutError: waiting for rank 1 to join: not there within 300 ms")

    def test_a_port_that_is_taken(self):
        name = f"sumac-test-taken-{os.getpid()}"
        store.Server(name, 1)
        with self.assertRaisesRegex(OSError, f"rank 0 cannot serve at {name}.*choose another MASTER_PORT"):
            store.Server(name, 1)

    def test_nobody_at_the_address(self):
        with self.assertRaisesRegex(TimeoutError, "nobody serves at .*rank 0 must run there; check MASTER_ADDR"):
            store.Client("sumac-test-nobody", 0.05)

    def test_variables_that_are_wrong(self):
        for variables, words in (({"RANK": "x", "WORLD_SIZE": "2", "MASTER_ADDR": "n"}, "RANK=x: not a number"),
                                 ({"RANK": "0", "MASTER_ADDR": "n"}, "WORLD_SIZE is not set"),
                                 ({"RANK": "2", "WORLD_SIZE": "2", "MASTER_ADDR": "n", "MASTER_PORT": "1"}, "rank 2 of 2")):
            with self.assertRaisesRegex(ValueError, words):
                bootstrap.find(variables)


UCC_RANK = pathlib.Path(os.environ.get("SUMAC_HOME", "/")) / "tests/libucc-rank.so"


def beside_ucc(rank, size, folder, hosts):
    """Ranks of libucc meet by the team's allgather; then a sum of theirs is under way during the team's."""
    if hosts:
        ranks.become_host(f"host-{rank}")
        os.environ |= {"HCOLL_ENABLE_SHARP": "3", "HCOLL_SHARP_NP": "2", "SUMAC_NET_DEVICE": "lo", "SUMAC_LAST_LINE": "0"}
    team = make(rank, size, folder)

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    def allgather(given, out, count):
        every = team.allgather(np.frombuffer(ctypes.string_at(given, count), dtype=np.uint8))
        ctypes.memmove(out, every.ctypes.data, every.nbytes)
        return 0

    ucc = ctypes.CDLL(str(UCC_RANK))
    assert ucc.ucc_rank_open(b"TEST", rank, size, allgather) == 0
    for count in (1, 50, 3000):
        x = np.arange(count, dtype=np.int64) + rank
        theirs = np.empty_like(x)
        assert ucc.ucc_rank_post(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(theirs.ctypes.data), ctypes.c_size_t(count)) == 0
        own = team.allreduce(x)
        assert ucc.ucc_rank_wait() == 0
        right = np.arange(count) * size + size * (size - 1) // 2
        np.testing.assert_array_equal(theirs, right)
        np.testing.assert_array_equal(own, right)
    assert ucc.ucc_rank_close() == 0
    team.close()


@unittest.skipUnless(UCC_RANK.exists(), "the tests of libucc's clients are not built: MPI is missing")
class BesideUcc(unittest.TestCase):
    def test_by_shared_memory(self):
        ranks.values(self, beside_ucc, 3, False)

    @unittest.skipUnless(os.geteuid() == 0, "a host name of its own needs root")
    def test_each_has_a_tree_of_its_own(self):
        ranks.values(self, beside_ucc, 3, True)


class Launchers(unittest.TestCase):
    PROGRAM = "import sumac_collectives; t = sumac_collectives.init(60); print(f'sum {t.allreduce([t.rank + 1])[0]} {t.size}\\n', end='')"

    def check(self, *command):
        done = subprocess.run([*command, sys.executable, "-c", self.PROGRAM], capture_output=True, text=True, timeout=ranks.SECONDS)
        self.assertEqual(sorted(done.stdout.split("\n")), ["", "sum 3 2", "sum 3 2"], done.stderr)

    def test_open_mpi(self):
        self.check("mpirun", *["--allow-run-as-root"] * (os.geteuid() == 0), "--oversubscribe", "-n", "2")

    def test_mpich(self):
        self.check("mpirun.mpich", "-n", "2")

    def test_master_address(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        programs = [subprocess.Popen([sys.executable, "-c", self.PROGRAM], stdout=subprocess.PIPE, text=True,
                                     env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port})
                    for rank in range(2)]
        self.assertEqual([program.communicate(timeout=ranks.SECONDS)[0] for program in programs], ["sum 3 2\n"] * 2)


class Words(unittest.TestCase):
    def test_examples_in_the_docstrings(self):
        for module in (sumac_collectives, bootstrap, team_module):
            found = doctest.testmod(module)
            self.assertEqual(found.failed, 0, module.__name__)
            self.assertGreater(found.attempted, 0, module.__name__)

    def test_the_types_fit(self):
        done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", HERE.parent / "pyproject.toml", "--no-error-summary",
                               "--cache-dir", os.devnull, HERE.parent / "sumac_collectives"], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout + done.stderr, "")


if __name__ == "__main__":
    unittest.main()
