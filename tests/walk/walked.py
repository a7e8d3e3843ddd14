"""walked.py FOLDER: what walked.c does, by torch.distributed.all_reduce. mpirun starts it, and says which rank this is."""
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist

CALLS, APART_NS = 20, 50_000_000


def wait_until(ns):
    """All begin at one time; the thread must not sleep, or the call would wake it."""
    while time.monotonic_ns() < ns:
        pass


def main():
    folder = pathlib.Path(sys.argv[1])
    rank, ranks = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    torch.set_num_threads(1)
    dist.init_process_group("sumac", store=dist.FileStore(str(folder / "store"), ranks), rank=rank, world_size=ranks)
    value = torch.zeros(1, dtype=torch.int64)
    for _ in range(200):
        dist.all_reduce(value)
    start = torch.tensor([time.monotonic_ns() + APART_NS])
    dist.broadcast(start, 0)
    windows = []
    for call in range(CALLS):
        value[0] = rank
        wait_until(start.item() + call * APART_NS)
        began = time.monotonic_ns()
        dist.all_reduce(value)
        windows.append(f"{began} {time.monotonic_ns()}\n")
        if value.item() != ranks * (ranks - 1) // 2:
            sys.exit(f"walked.py: rank {rank}: a wrong sum, {value.item()}")
    (folder / f"window.{rank}").write_text("".join(windows), encoding="utf-8")
    wait_until(start.item() + CALLS * APART_NS)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
