"""What is compared: cells, what must hold in each, and who is started together. See docs/results/host.md for the method."""

from dataclasses import dataclass, field

from core.cases import chosen

KIB, MIB = 1 << 10, 1 << 20

SUMAC, BARE, OFF, THREAD, AT_ONCE = "sumac", "bare", "sumac-off", "sumac-thread", "sumac-at-once"
COPIES = "copies"  # the column of the copies that a cell can't do without
OMPI4, MPICH4, OMPI5, OMPI5_SM, MPICH5 = "ompi4", "mpich4", "ompi5", "ompi5-sm", "mpich5"
# These are the same programs with the component of another build.
BEFORE, BEFORE_OFF, BEFORE_THREAD, BEFORE_AT_ONCE = "before", "before-off", "before-thread", "before-at-once"
BEFORE_OF = {SUMAC: BEFORE, OFF: BEFORE_OFF, THREAD: BEFORE_THREAD, AT_ONCE: BEFORE_AT_ONCE}
PEERS = (OMPI4, MPICH4, OMPI5, OMPI5_SM, MPICH5)
LABELS = {OMPI4: "Open MPI 4.1", MPICH4: "MPICH 4.0", OMPI5: "Open MPI 5", OMPI5_SM: "Open MPI 5 coll/sm", MPICH5: "MPICH 5",
          SUMAC: "Sumac", OFF: "Sumac, off", THREAD: "Sumac, progress thread", BARE: "bare", AT_ONCE: "Sumac, teams at once",
          BEFORE: "before", BEFORE_AT_ONCE: "before, teams at once",
          BEFORE_OFF: "before, off", BEFORE_THREAD: "before, progress thread"}


@dataclass(frozen=True)
class Cell:
    name: str
    kind: str  # hostbench's name for it
    bytes: int = 0  # the size of one block, which one rank gives to one other; in a reduction, of the whole vector
    faster: float = None  # at least so many times faster than the best peer
    over_sm: float = None  # at most so many times the time of coll/sm; `faster` then counts the others alone
    at_least: float = None
    at_most: float = None
    times_at_most: float = None  # at most so many times the peer's time
    above_at_most: float = None  # at most so much more than the best peer, in the cell's unit
    band: tuple = None  # the ratio lies between
    gain: float = None  # at least this part of the time that AT_ONCE saves
    unit: str = "us"
    limit: float = None
    iterations: int = 0
    skipped: int = None  # calls before those that are measured
    is_mean: bool = False  # a turn's number is the mean over its iterations, not the median

    def copies(self, ranks):
        """Returns the cell whose time is the limit of this one, or None: each rank copies one block within its core and one out of the
        other's cache. Below 64 KiB the time to meet counts for more than the bytes."""
        if ranks != 2 or self.kind not in ("alltoall", "allgather") or self.bytes < 64 * KIB:
            return None
        return Cell(self.name, "copies", self.bytes)

    @property
    def turns(self):
        """Iterations of one turn."""
        return self.iterations or default_iterations(self.bytes)

    def warmup(self, iterations):
        return warmup(iterations) if self.skipped is None else self.skipped


def warmup(iterations):
    """10 %, at least 5; a few where a program is slow."""
    return max(min(5, iterations), (iterations + 9) // 10)


def default_iterations(size):
    """Enough for a steady median, few enough that two turns of a pair lie milliseconds apart."""
    for limit, count in ((KIB, 1000), (8 * KIB, 500), (64 * KIB, 200), (MIB, 20)):
        if size <= limit:
            return count
    return 10


@dataclass(frozen=True)
class Group:
    """Programs started together, taking turns over the same cells."""

    name: str
    ranks: int
    cells: tuple
    reference: str
    peers: tuple
    starts: int  # fresh starts of all programs
    cycles: int  # turns of every pair in each start
    pinned: bool = True
    bare: bool = False
    apart: bool = False  # one program at a time: their helper threads do not sleep between turns, and there are no pairs
    options: dict = field(default_factory=dict)
    before: str = None  # the peer that is the same program with another build of ours

    @property
    def rivals(self):
        return tuple(peer for peer in self.peers if peer not in (self.before, AT_ONCE))


def size_name(size):
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if size >= unit and size % (unit // 2) == 0:
            return f"{size / unit:g}{name}"
    return f"{size}B"


def _timed(ranks, targets):
    """The cells that every rank count gets; targets: {kind: {bytes: faster}}."""
    cells = []
    for kind, sizes in targets.items():
        for size, faster in sizes.items():
            name = f"{kind}-{size_name(size)}-{ranks}r" if size else f"{kind}-{ranks}r"
            cells.append(Cell(name, kind, size, faster=faster, over_sm=1.1 if kind == "barrier" and faster else None))
    return tuple(cells)


GATHER_AND_SCATTER = {8: 1.0, KIB: None, 64 * KIB: 1.0, MIB: None}
ROOTED_AND_OTHERS = {8: 1.2, KIB: 1.2, 64 * KIB: 1.2, MIB: 1.2}
TWO_RANKS = {
    "allreduce": {8: 1.8, 64: 1.8, KIB: 1.8, 8 * KIB: 1.3, 64 * KIB: 1.3, MIB: 2.0, 4 * MIB: 1.6},
    "barrier": {0: 2.5},
    "bcast": ROOTED_AND_OTHERS,
    "reduce": ROOTED_AND_OTHERS,
    "allgather": ROOTED_AND_OTHERS,
    "alltoall": {**ROOTED_AND_OTHERS, 64 * KIB: 1.0, MIB: 1.0},  # Both copy the same bytes: the column `limit`.
    "gather": GATHER_AND_SCATTER,
    "scatter": GATHER_AND_SCATTER,
}
# If there are the cores for it, the same is measured without a target: docs/results/host.md has the record.
MORE_RANKS = {kind: dict.fromkeys(sizes) for kind, sizes in TWO_RANKS.items()}


# Rooted calls are measured alone (above), in a row, and with a partner who comes 1 ms late to each of 20 calls.
ROOTED = ("bcast", "reduce", "scatter", "gather")
IN_A_ROW = (8, KIB, 4 * KIB, 32 * KIB)
LATE = tuple(size for size in IN_A_ROW if size <= 4 * KIB)


def _rooted(ranks, cores):
    """The slowest rank's time over the calls of a row; and how long the root, or the slowest leaf, is in the calls with a late partner."""
    where = {"pinned": ranks <= cores, "options": {} if ranks <= cores else {"yield": True}}
    rows = [Cell(f"{kind}-{size_name(size)}-{ranks}r-stream", f"{kind}-stream", size, faster=1.0, iterations=15) for kind in ROOTED for size in IN_A_ROW]
    late = [Cell(f"{kind}-{size_name(size)}-{ranks}r-late", f"{kind}-late", size, above_at_most=1.0, unit="ms", iterations=3, skipped=1)
            for kind in ROOTED for size in LATE]
    return [Group(f"stream-{ranks}r", ranks, tuple(rows), SUMAC, PEERS, starts=3, cycles=6 if ranks <= cores else 3, **where),
            Group(f"late-{ranks}r", ranks, tuple(late), SUMAC, PEERS, starts=2, cycles=1, **where)]


# Blocks of two sizes by turns (the larger one counts as the size; the other is a 128th), also in buffers that nobody writes between two calls, a vector type of runs of 64 B, MAXLOC of pairs of a
# double and an int, an operation of the program's own, buffers that no call of the last 63 had, and caches that others have filled.
WIDE = (("allgatherv", 64 * KIB), ("alltoallv", 32 * KIB), *((kind, size) for kind in ("scan", "exscan", "reduce_scatter") for size in (8, 64 * KIB)),
        ("osu-allgatherv", 64 * KIB), ("osu-alltoallv", 32 * KIB), ("cold-allreduce", 8), ("cold-allreduce", 64 * KIB), ("cold-bcast", 64 * KIB),
        ("vector-bcast", 64 * KIB), ("vector-allgather", 64 * KIB), ("vector-alltoall", 64 * KIB), ("fresh-allreduce", 64 * KIB),
        ("maxloc-allreduce", 16), ("maxloc-allreduce", 64 * KIB), ("own-allreduce", 8), ("own-allreduce", 64 * KIB))


def _wide(ranks, cores):
    """What the cells with warm caches, even blocks, plain types and sums do not see."""
    cells = [Cell(f"wide-{kind}-{size_name(size)}-{ranks}r", kind, size, faster=1.0, iterations=50 if kind.startswith("cold") else 100)
             for kind, size in WIDE]
    return Group(f"wide-{ranks}r", ranks, tuple(cells), SUMAC, PEERS, starts=3, cycles=6 if ranks <= cores else 3, pinned=ranks <= cores,
                 options={} if ranks <= cores else {"yield": True})


def _oversubscribed(ranks):
    cells = [Cell(f"barrier-{ranks}r", "barrier", faster=2.5, iterations=100),
             Cell(f"allreduce-8B-{ranks}r", "allreduce", 8, faster=2.5, iterations=100)]
    if ranks == 8:
        cells.append(Cell("allreduce-1MiB-8r", "allreduce", MIB, faster=1.5, iterations=10))
    return Group(f"{ranks}r", ranks, tuple(cells), SUMAC, PEERS, starts=3, cycles=8, pinned=False, bare=True,
                 options={"yield": True})


# Shared memory hands over to single copy at these sizes (src/shm/algorithms.cpp; a test compares), which are no powers of two.
HANDED_OVER = (96 * KIB, 192 * KIB, 448 * KIB)
# Powers of two, what lies half-way, and 64 bytes more where an algorithm hands over to the next, or might once.
CLIFF_SIZES = tuple(sorted({1 << shift for shift in range(3, 23)} | {3 << shift for shift in range(3, 21)} |
                           {(1 << shift) + 64 for shift in range(9, 21)} | {size + more for size in HANDED_OVER for more in (0, 64)}))
CLIFF_KINDS = ("allreduce", "bcast", "reduce", "allgather", "alltoall")


def _neighbours(name, ranks, kinds, sizes, **others):
    cells = [Cell(f"{name}-{kind}-{size}", kind, size, iterations=min(200, default_iterations(size))) for kind in kinds for size in sizes]
    return Group(name, ranks, tuple(cells), SUMAC, (), starts=3, cycles=5, **others)


def cliffs(cores=2):
    """Sumac alone at many neighbouring sizes: two ranks, and an allreduce of more than there are cores, which has an algorithm of its own."""
    crowd = 4 * cores
    return [_neighbours("cliffs", 2, CLIFF_KINDS, CLIFF_SIZES),
            _neighbours(f"cliffs-{crowd}r", crowd, ("allreduce",), tuple(size for size in CLIFF_SIZES if 4 * KIB <= size <= MIB), pinned=False,
                        options={"yield": True})]


def groups(cores):
    """Everything `make bench-host` runs on a machine of so many cores."""
    out = [Group("2r", 2, _timed(2, TWO_RANKS), SUMAC, PEERS, starts=10, cycles=6, bare=True)]
    out += [Group(f"{ranks}r", ranks, _timed(ranks, MORE_RANKS), SUMAC, PEERS, starts=2, cycles=6, bare=True)
            for ranks in (4, 8, 16) if ranks <= cores]
    out += [group for ranks in (2, 4) for group in _rooted(ranks, cores)]
    out += [_wide(ranks, cores) for ranks in (2, 4)]
    out += [_oversubscribed(ranks) for ranks in (8, 16) if ranks > cores]
    out.append(Group("overlap", 2, (
        Cell("overlap-iallreduce-1MiB", "iallreduce", MIB, at_least=90, unit="%", limit=100, iterations=20),
        Cell("overlap-ialltoall-1MiB", "ialltoall", MIB, at_least=90, unit="%", limit=100, iterations=20),
        Cell("overlap-iscatterv-1MiB", "iscatterv", MIB, at_least=90, unit="%", limit=100, iterations=20)),
        THREAD, (OMPI4, OMPI5, MPICH4, MPICH5), starts=3, cycles=5, apart=True, options={"thread": True}))
    out.append(Group("comm-create", 2, (Cell("comm-create", "dup", times_at_most=2.0, iterations=100),), SUMAC, (OMPI4,),
                     starts=4, cycles=6))
    out += [Group(f"comm-churn-{ranks}r", ranks, (Cell(f"comm-churn-{ranks}r", "churn", times_at_most=1.15, iterations=iterations),), SUMAC, (OMPI4,),
                  starts=8, cycles=8, pinned=ranks <= cores, options={} if ranks <= cores else {"yield": True})
            for ranks, iterations in ((2, 100), (4, 20))]
    out.append(Group("comm-new", 2, (Cell("comm-new-allreduce-8B-2r", "new-allreduce", 8, gain=0.95, unit="ms", iterations=1),),
                     SUMAC, (OMPI4, AT_ONCE), starts=4, cycles=6))
    out.append(Group("team-make", 2, (Cell("team-make-2r", "first-allreduce", 8, at_most=0.06, unit="ms", limit=0.06, iterations=50),),
                     AT_ONCE, (OMPI4,), starts=4, cycles=6))
    out.append(Group("first-collective", 2, (
        Cell("first-collective", "first-allreduce", 8, at_most=1.0, unit="ms", limit=1.0, iterations=50),
        Cell("first-collective-barrier", "first-barrier", at_most=1.0, unit="ms", limit=1.0, iterations=50)),
        SUMAC, PEERS, starts=2, cycles=4))
    out.append(Group("off-cost", 2, tuple(
        Cell("off-cost", kind, size, band=(0.98, 1.02), unit="ratio") for kind, size in
        (("barrier", 0), ("allreduce", 8), ("allreduce", KIB), ("allreduce", 64 * KIB))), OFF, (OMPI4,), starts=20, cycles=12))
    return out


def with_before(every):
    """Returns the same groups; those with peers have the component of another build as one more peer."""
    return [beside(group, BEFORE_OF[group.reference]) if group.peers else group for group in every]


def beside(group, before):
    """Returns the group with one more peer, the column of another build."""
    return Group(**{**group.__dict__, "peers": (*group.peers, before), "before": before})


def choose(every, only):
    """The groups with the cells named by `only` (names, with * and ? as in a shell); ValueError names what there is not."""
    names = chosen(only, [cell.name for group in every for cell in group.cells])
    picked = [(group, tuple(cell for cell in group.cells if cell.name in names)) for group in every]
    return [Group(**{**group.__dict__, "cells": cells}) for group, cells in picked if cells]
