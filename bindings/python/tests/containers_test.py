"""PyTorch's ranks of one host in containers of their own: they share a /dev/shm that has room for little, and the kernel reports no
death from one to another."""
import ctypes
import os
import pathlib
import signal
import sys
import tempfile
import unittest

try:
    import torch
    import torch.distributed as dist
except ImportError as error:
    print(f"skipped: {error}: make setup-python installs PyTorch")
    sys.exit(77)

import ranks

CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER = 0x00020000, 0x20000000, 0x10000000
MS_REC_PRIVATE = 0x44000
PR_SET_PDEATHSIG = 1


def may_not_be_made():
    """Makes new namespaces of mounts in this process, with a small /dev/shm; returns why not, or None."""
    libc = ctypes.CDLL(None, use_errno=True)
    user = 0 if os.geteuid() == 0 else CLONE_NEWUSER
    if libc.unshare(CLONE_NEWNS | user) != 0:
        return f"unshare: {os.strerror(ctypes.get_errno())}"
    if libc.mount(None, b"/", None, MS_REC_PRIVATE, None) != 0 or libc.mount(b"none", b"/dev/shm", b"tmpfs", 0, b"size=2M") != 0:
        return f"mount: {os.strerror(ctypes.get_errno())}"
    return None


def ends_with_its_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def contained(rank, size, folder, body):
    """Runs body(rank, size, folder) as the first process of a PID namespace; returns what it returned."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWPID) != 0:
        raise OSError(ctypes.get_errno(), "unshare: no PID namespace")
    # No process may start a thread once its children have another namespace, so the limit is that of the caller's end().
    pid, reads = ranks.start_one(lambda *of: (ends_with_its_parent(), body(*of))[1], rank, size, folder)
    with os.fdopen(reads, "rb") as pipe:
        data = pipe.read()
    one = ranks.Ended(os.waitpid(pid, 0)[1], data)
    if one.error:
        raise RuntimeError(one.error)
    return one.value


def exchange(rank, size, folder):
    """Messages longer than what is left of /dev/shm, in two groups, then one that never comes."""
    ranks.init("sumac", rank, size, folder)
    groups = [None, dist.new_group()]
    right, left = (rank + 1) % size, (rank - 1) % size
    for group in groups:
        x, got = torch.arange(100_000.0), torch.empty(100_000)
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, x + rank, right, group), dist.P2POp(dist.irecv, got, left, group)]):
            work.wait()
        assert torch.equal(got, x + left)
        dist.all_reduce(x, group=group)
        assert torch.equal(x, torch.arange(100_000.0) * size)
    dist.barrier()
    if rank == size - 1:
        os._exit(0)  # As a container that is stopped.
    try:
        dist.recv(torch.empty(1), size - 1)
    except RuntimeError as error:
        return str(error)
    return "it came"


def pod(folder):
    """The answers of three ranks as texts."""
    why = may_not_be_made()
    if why:
        raise OSError(why)
    return [one.error or one.value for one in ranks.end(ranks.start(contained, 3, pathlib.Path(folder), exchange))]


class Containers(unittest.TestCase):
    def test_messages_fit_and_a_rank_that_ends_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            (one,) = ranks.run(lambda rank, size, _: pod(folder), 1)
        self.assertIsNone(one.error)
        for text in one.value[:2]:
            self.assertRegex(text, r"rank 2 .*died$")


if __name__ == "__main__":
    (REFUSAL,) = ranks.run(lambda rank, size, _: may_not_be_made(), 1)
    if REFUSAL.value:
        print(f"skipped: no containers: {REFUSAL.value}")
        sys.exit(77)
    unittest.main()
