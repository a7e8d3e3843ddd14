"""mpi4py with numpy: gradient descent of a linear model whose data are spread over the ranks, and one of each collective at its end.

usage: loop.py STEPS"""

import sys

import numpy as np
from mpi4py import MPI

ROWS, COLUMNS = 200, 8


def descend(comm, steps):
    """Returns the model that all ranks found."""
    dice = np.random.default_rng(comm.rank)
    inputs = dice.standard_normal((ROWS, COLUMNS))
    wanted = inputs @ np.arange(1, COLUMNS + 1) + 0.01 * dice.standard_normal(ROWS)
    model, gradient = np.zeros(COLUMNS), np.empty(COLUMNS)
    for step in range(steps):
        comm.Allreduce(inputs.T @ (inputs @ model - wanted) / ROWS, gradient)
        model -= 0.1 * gradient / comm.size
        if step % 50 == 0:
            loss = comm.allreduce(float(((inputs @ model - wanted) ** 2).sum()))
            if comm.rank == 0:
                print(f"RESULT step {step} loss {loss:.10g}")
    return model


def objects(comm):
    """Returns what collectives of Python's objects and of parts of the ranks give."""
    rank, size = comm.rank, comm.size
    half = comm.Split(rank % 2, -rank)
    most = np.empty(100000, dtype="i8")
    comm.Allreduce(np.full(100000, rank, dtype="i8"), most, op=MPI.MAX)
    counts = list(range(1, size + 1))
    gathered = np.zeros(sum(counts), dtype="f4")
    comm.Allgatherv(np.full(rank + 1, rank, dtype="f4"), [gathered, (counts, None), MPI.FLOAT])
    # mpi4py 3.1 keeps no array alive that a pending operation reads.
    parts, sums = [np.full(5, i + rank, dtype="i4") for i in range(10)], [np.empty(5, dtype="i4") for _ in range(10)]
    MPI.Request.Waitall([comm.Iallreduce(part, out) for part, out in zip(parts, sums)])
    return [comm.allgather({"rank": rank})[-1], comm.bcast({"from": list(range(10))} if rank == 0 else None),
            comm.scatter([("to", i) for i in range(size)] if rank == 0 else None), comm.alltoall([(rank, i) for i in range(size)])[-1],
            comm.allreduce((rank * 7 % 5, rank), op=MPI.MAXLOC), half.allreduce(rank), int(most[0]), float(gathered.sum()),
            [int(out[0]) for out in sums]]


def main():
    comm = MPI.COMM_WORLD
    began = MPI.Wtime()
    model, others = descend(comm, int(sys.argv[1])), objects(comm)
    if comm.rank == 0:
        print("RESULT model", *(f"{value:.9f}" for value in model))
        print("BITS model", *(value.hex() for value in model.tolist()))
        print("RESULT objects", others)
        print(f"SECONDS {MPI.Wtime() - began:.4f}")


main()
