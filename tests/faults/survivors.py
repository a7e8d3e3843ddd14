"""What tests/mpi/survivors.c does, with sumac_collectives. mpirun only starts the ranks.

usage: survivors.py FOLDER"""

import os
import pathlib
import sys

import numpy as np
import sumac_collectives

COUNTS, KEPT = (1, 100, 1024), 6


def given(operation, rank, count):
    return operation * (rank + 1) + np.arange(count)


def right(operation, size, count):
    if operation % 3 == 0:
        return operation * size * (size + 1) // 2 + np.arange(count) * size
    return given(operation, operation // 3 % size, count)


def main():
    team = sumac_collectives.init()
    rank, size, folder = team.rank, team.size, pathlib.Path(sys.argv[1])
    record = os.open(folder / str(rank), os.O_WRONLY | os.O_CREAT, 0o600)
    kept, operation = {}, 0
    while True:
        count, root = COUNTS[operation % 7 % 3], operation // 3 % size
        mine = given(operation, rank, count)
        out = mine if operation % 3 == 2 and rank == root else np.full(count, -1)
        try:
            if operation % 3 == 0:
                team.allreduce(mine, out=out)
            elif operation % 3 == 1:
                team.barrier()
            else:
                team.bcast(out, root)
        except sumac_collectives.Error as error:
            os.write(record, f"{operation} failed 0 {error}\n".encode())
            break
        os.write(record, f"{operation} ok\n".encode())
        kept[operation] = out
        kept.pop(operation - KEPT, None)
        operation += 1
    for had, out in kept.items():
        if had % 3 != 1 and not np.array_equal(out, right(had, size, len(out))):
            os.write(record, f"{had} wrong\n".encode())
    os._exit(0)


main()
