"""Runs a function as several ranks: children of this process by fork, so that PyTorch is imported once."""
from __future__ import annotations

import contextlib
import ctypes
import datetime
import os
import pathlib
import pickle
import signal
import socket
import sys
import tempfile
import threading
import time

SECONDS = 120
CLONE_NEWUTS, CLONE_NEWUSER = 0x04000000, 0x10000000


class Ended:
    """A rank that has ended: what its function returned, or the text of its exception."""

    def __init__(self, status: int, data: bytes) -> None:
        self.status = status
        self.value, self.error = pickle.loads(data) if data else (None, f"it ended with status {status} and said nothing")


def _child(body, rank, size, folder, arguments, pipe) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        answer = (body(rank, size, folder, *arguments), None)
    except BaseException as error:  # KeyboardInterrupt is one of the cases.
        answer = (None, f"{type(error).__name__}: {error}")
    with contextlib.suppress(BrokenPipeError):
        os.write(pipe, pickle.dumps(answer))
    sys.stderr.flush()


def start_one(body, rank, size, folder, *arguments):
    """Forks a rank; returns (pid, read end)."""
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reads)
        _child(body, rank, size, folder, arguments, writes)
        os._exit(0)
    os.close(writes)
    return pid, reads


def start(body, size, folder, *arguments):
    """Forks the ranks; returns [(pid, read end)]."""
    return [start_one(body, rank, size, folder, *arguments) for rank in range(size)]


def end(ranks, seconds: float = SECONDS) -> list[Ended]:
    """Waits for all; a rank that takes too long is killed, and says nothing."""
    timer = threading.Timer(seconds, lambda: [os.kill(pid, signal.SIGKILL) for pid, _ in ranks])
    timer.start()
    found = []
    for pid, reads in ranks:
        with os.fdopen(reads, "rb") as pipe:
            data = pipe.read()
        found.append(Ended(os.waitpid(pid, 0)[1], data))
    timer.cancel()
    return found


def run(body, size, *arguments) -> list[Ended]:
    """body(rank, size, folder, *arguments) as each rank."""
    with tempfile.TemporaryDirectory() as folder:
        return end(start(body, size, pathlib.Path(folder), *arguments))


def values(test, body, size, *arguments):
    """The same where every rank must succeed: returns what they returned."""
    found = run(body, size, *arguments)
    for rank, one in enumerate(found):
        test.assertIsNone(one.error, f"rank {rank}")
    return [one.value for one in found]


def become_host(name) -> None:
    """Gives this process a host name of its own, so that it shares no memory with processes of other names."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUTS | (0 if os.geteuid() == 0 else CLONE_NEWUSER)) != 0:
        raise OSError(ctypes.get_errno(), "unshare: no UTS namespace")
    socket.sethostname(name)


def init(backend, rank, size, folder, timeout=60.0, name="store"):
    """init_process_group over a file."""
    import torch.distributed as dist

    dist.init_process_group(backend, store=dist.FileStore(str(folder / name), size), rank=rank, world_size=size,
                            timeout=datetime.timedelta(seconds=timeout))
    return dist


def comes_true(fact, seconds=30.0) -> bool:
    """Looks again and again, for facts that nobody announces."""
    end_of_patience = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > end_of_patience:
            return False
        time.sleep(0.002)
    return True


def await_file(path: pathlib.Path) -> None:
    """Waits until another rank has made a file: the only way that needs no group."""
    if not comes_true(path.exists, SECONDS):
        raise TimeoutError(f"{path.name} was not made")


def short_folder():
    """A folder whose name leaves room for the sockets of daemons."""
    return tempfile.TemporaryDirectory(prefix="st-", dir="/tmp")
