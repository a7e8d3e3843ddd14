"""What `make bench-mpi` compares: for each MPI a program without Sumac and the same program with the interposed library, and the limits."""

from dataclasses import dataclass

from core.cases import chosen
from host.plan import IN_A_ROW, KIB, LATE, MIB, ROOTED, Cell, Group, beside, size_name

OPENMPI4, OPENMPI5, MPICH4, MPICH5, ABI, IMPI = MPIS = ("openmpi4", "openmpi5", "mpich4", "mpich5", "abi", "impi")
LABELS = {OPENMPI4: "Open MPI 4.1", OPENMPI5: "Open MPI 5", MPICH4: "MPICH 4.0", MPICH5: "MPICH 5", ABI: "MPICH 5 libmpi_abi", IMPI: "Intel MPI 2021"}
YIELDING = (OPENMPI4, OPENMPI5)  # The others spin: with more ranks than cores their times are reported only.

TIMED, OSU, OFF = "timed", "osu", "off"  # the three kinds of MpiCell
NEVER_BELOW = 0.97
OFF_BAND = (0.98, 1.02)
MEDIAN_AT_LEAST = 1.3
CHURN = 1 / 1.15  # a program that makes communicators in a loop takes at most 1.15 times as long as without Sumac
MOVING = ("bcast", "reduce", "allgather", "alltoall")
OSU_COLLECTIVES = ("allreduce", "bcast", "reduce", "allgather", "alltoall", "gather", "scatter")
OSU_SIZES = (1, 8, *(kib * KIB for kib in (1, 8, 64, 128, 256, 512)), MIB, 4 * MIB)
OSU_LARGE = 8 * KIB  # OSU's programs make fewer calls above this size.


@dataclass(frozen=True)
class MpiCell(Cell):
    """`faster` is the least ratio (time of the MPI / ours); `case` is the row of the table that the cell belongs to."""

    case: str = ""
    mpi: str = ""
    sort: str = TIMED


def with_sumac(mpi):
    return f"{mpi}+sumac"


def off(mpi):
    return f"{mpi}+off"


def before(mpi):
    return f"{mpi}+before"


def median_case(mpi):
    return f"median-2r-{mpi}"


def cell(mpi, ranks, kind, size, faster, **more):
    name = f"{kind}-{size_name(size)}-{ranks}r-{mpi}" if size else f"{kind}-{ranks}r-{mpi}"
    return MpiCell(name, kind, size, faster=faster, case=name, mpi=mpi, **more)


def two_ranks(mpi):
    cells = [cell(mpi, 2, kind, size, faster) for kind, size, faster in (
        ("barrier", 0, 1.5), ("allreduce", 8, 1.5), ("allreduce", KIB, 1.5), ("allreduce", 64 * KIB, 1.3), ("allreduce", MIB, 1.3))]
    cells += [cell(mpi, 2, kind, size, 1.0) for kind in MOVING for size in (8, KIB, 64 * KIB, MIB)]
    return Group(f"2r-{mpi}", 2, tuple(cells), with_sumac(mpi), (mpi,), starts=6, cycles=8)


def rooted(mpi):
    """Rooted calls in a row, and with a late partner, as bench-host has them."""
    def some(form, sizes, **more):
        names = {(kind, size): f"{kind}-{size_name(size)}-2r-{form}-{mpi}" for kind in ROOTED for size in sizes}
        return tuple(MpiCell(name, f"{kind}-{form}", size, case=name, mpi=mpi, **more) for (kind, size), name in names.items())

    return [Group(f"stream-2r-{mpi}", 2, some("stream", IN_A_ROW, faster=1.0, iterations=15), with_sumac(mpi), (mpi,), starts=3, cycles=6),
            Group(f"late-2r-{mpi}", 2, some("late", LATE, above_at_most=1.0, unit="ms", iterations=3, skipped=1), with_sumac(mpi), (mpi,),
                  starts=2, cycles=4)]


def eight_ranks(mpi):
    least = 2.5 if mpi in YIELDING else None
    cells = (cell(mpi, 8, "barrier", 0, least, iterations=100), cell(mpi, 8, "allreduce", 8, least, iterations=100))
    return Group(f"8r-{mpi}", 8, cells, with_sumac(mpi), (mpi,), starts=4, cycles=8, pinned=False, options={"yield": True})


def churn(mpi):
    """Communicators that are made, used a little and freed; with four ranks where the MPI can share cores."""
    out = []
    for ranks, iterations in ((2, 100), (4, 20)):
        name = f"comm-churn-{ranks}r-{mpi}"
        cells = (MpiCell(name, "churn", faster=CHURN, case=name, mpi=mpi, iterations=iterations),)
        if ranks == 2:
            out.append(Group(name, ranks, cells, with_sumac(mpi), (mpi,), starts=6, cycles=8))
        elif mpi in YIELDING:
            out.append(Group(name, ranks, cells, with_sumac(mpi), (mpi,), starts=6, cycles=8, pinned=False, options={"yield": True}))
    return out


def off_cost(mpi):
    case = f"off-cost-{mpi}"
    cells = tuple(MpiCell(f"{case}-{kind}", kind, size, case=case, mpi=mpi, sort=OFF) for kind, size in (("barrier", 0), ("allreduce", 8)))
    return Group(case, 2, cells, off(mpi), (mpi,), starts=8, cycles=10)


def osu(mpi):
    """OSU's loop: its numbers of calls, and reductions of floats, which begin at one float."""
    cells = []
    for kind in OSU_COLLECTIVES:
        for size in OSU_SIZES:
            size = max(size, 4) if kind in ("allreduce", "reduce") else size
            calls, skipped = (1000, 200) if size <= OSU_LARGE else (100, 10)
            cells.append(MpiCell(f"osu-{kind}-{size_name(size)}-{mpi}", f"osu-{kind}", size, case=f"osu-{kind}-{mpi}", mpi=mpi, sort=OSU,
                                 iterations=calls, skipped=skipped, is_mean=True))
    return Group(f"osu-{mpi}", 2, tuple(cells), with_sumac(mpi), (mpi,), starts=5, cycles=4)


def groups(mpis):
    """Returns all groups for these MPIs."""
    out = [make(mpi) for make in (two_ranks, off_cost, eight_ranks) for mpi in mpis]
    out += [group for make in (rooted, churn) for mpi in mpis for group in make(mpi)]
    return out + [osu(mpi) for mpi in mpis if mpi == OPENMPI4]


def with_before(every):
    """Returns the same groups; those that do not measure a library that is off have that of another build as one more peer."""
    return [group if group.cells[0].sort == OFF else beside(group, before(group.cells[0].mpi)) for group in every]


def cases(every):
    """Returns the names of all rows of the table that `every` fills."""
    names = [one.case for group in every for one in group.cells]
    return names + [median_case(one.mpi) for group in every for one in group.cells if one.kind in MOVING]


def choose(every, names):
    """Returns the groups with the cells of these cases; the median of an MPI needs all of its cells."""
    picked = [(group, tuple(one for one in group.cells if one.case in names or (
        one.sort == TIMED and one.kind in MOVING and median_case(one.mpi) in names))) for group in every]
    return [with_cells(group, cells) for group, cells in picked if cells]


def with_cells(group, cells, **more):
    return Group(**{**group.__dict__, "cells": tuple(cells), **more})


def names_of(words, every, others=()):
    """Returns the cases that `words` (with commas) name; `others` are cases without cells. Raises ValueError for a word without a case."""
    return chosen(words, [*cases(every), *others])


def wanted_for(names, mpis):
    """Returns those of `mpis` that the cases run; the last word of a case is its MPI, but `profile` runs all and `oshmem` Open MPI 4.1."""
    return [mpi for mpi in mpis if "profile" in names or (mpi == OPENMPI4 and "oshmem" in names) or any(case.endswith(f"-{mpi}") for case in names)]
