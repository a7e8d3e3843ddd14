"""What is compared: fabrics, cases, limits and what must hold. A limit is what no program can beat on that fabric."""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Fabric:
    """A file of lab/fabrics and the tree in it: the root node, and each leaf node with the hosts below it."""

    name: str
    root: str  # None: no lab, everything runs on this machine
    leaves: tuple  # ((leaf node, (host, ...)), ...)
    file: str = ""  # the path, if the file is not in lab/fabrics

    @property
    def hosts(self):
        return sum(len(hosts) for _, hosts in self.leaves)


def _leaves(count, each):
    return tuple(
        (f"an-leaf{leaf + 1}", tuple(f"h{leaf * each + i + 1}" for i in range(each))) for leaf in range(count))


@dataclass(frozen=True)
class Case:
    name: str
    fabric: Fabric
    collective: str  # barrier, allreduce, hpcc
    size: int  # bytes per rank
    limit: float  # ms; of a share: 1
    limit_why: str
    over_limit: float = None  # Sumac must be at most this many times the limit
    over_bare: float = None  # ... and this many times bare
    share_min: float = None  # a share or a ratio must be at least this
    over_peer: float = None  # ... and this many times the best of Open MPI's
    over_peer_ms: float = None  # ... and this many ms more than that
    bare_share: float = None  # a rate must be at least this share of the bare one's
    unit: str = "ms"
    group: str = ""  # cases of a fabric with the same word are started together
    iterations: tuple = None  # (iterations, warm-up) instead of the form's
    wire_limit: float = None  # the limit with every header, as the links count
    chunk: int = None  # Sumac and bare cut the vector into so many bytes; None: 64 KiB
    field: str = "median"  # the field of our programs' JSON lines that is compared
    may_refuse: bool = False  # it also holds if Sumac says beforehand that it would lose, and why
    environment: tuple = ()  # ((name, value), ...) that Sumac runs with, beside what it always does

    def iterations_of(self, form):
        return self.iterations or (form.small if self.size <= 64 << 10 else form.large)

    @property
    def must(self):
        parts = []
        if self.over_limit:
            parts.append(f"<= {self.over_limit:.2f} x limit")
        if self.over_bare:
            parts.append(f"<= {self.over_bare:.2f} x bare")
        if self.over_peer:
            parts.append(f"<= {self.over_peer:.2f} x Open MPI")
        if self.over_peer_ms:
            parts.append(f"<= Open MPI + {self.over_peer_ms:.0f} ms")
        if self.share_min:
            parts.append(f">= {self.share_min}" + (" and own checks pass" if self.unit == "share" else ""))
        if self.bare_share:
            parts.append(f">= {100 * self.bare_share:.0f} % of bare")
        return ", ".join(parts) or "reported"


def stream_limit_ms(size, rate_mbit, times=1):
    """`times` x 8 M / rate, in ms: the bytes that one link has to carry one way."""
    return times * 8 * size / (rate_mbit * 1e6) * 1e3


def latency_limit_ms(links, delay_ms):
    """Links on the way up and down x delay."""
    return links * delay_ms


F_500US = Fabric("demo-16h-500us", "an-root", _leaves(4, 4))
F_5MS = Fabric("demo-16h-5ms", "an-root", _leaves(4, 4))
F_STREAM = Fabric("demo-8h-stream", "an-root", _leaves(2, 4))
F_HOSTNODES = Fabric("demo-8h-hostnodes", "an-root", _leaves(2, 4))
F_HPCC = Fabric("demo-8h-hpcc", "an-root", _leaves(2, 4))

_5MS, _500US = latency_limit_ms(4, 5.0), latency_limit_ms(4, 0.5)
_UP_DOWN = "2 links up, 2 down"

CASES = (
    Case("allreduce-8B-16h-5ms", F_5MS, "allreduce", 8, _5MS, _UP_DOWN, over_limit=1.10),
    Case("barrier-16h-5ms", F_5MS, "barrier", 0, _5MS, _UP_DOWN, over_limit=1.10),
    Case("allreduce-8B-16h-500us", F_500US, "allreduce", 8, _500US, _UP_DOWN, over_limit=1.5, over_bare=1.15),
    Case("barrier-16h-500us", F_500US, "barrier", 0, _500US, _UP_DOWN, over_limit=1.5, over_bare=1.15),
    Case("allreduce-16MiB-8h", F_STREAM, "allreduce", 16 * MIB, stream_limit_ms(16 * MIB, 200), "M / rate",
         over_limit=1.12),
    Case("allreduce-16MiB-8h-hostnodes", F_HOSTNODES, "allreduce", 16 * MIB, stream_limit_ms(16 * MIB, 200, times=5),
         "(4 children + 1 parent) x M / rate of a node's one link"),
    Case("hpcc-tree-share", F_HPCC, "hpcc", 0, 1.0, "every call", share_min=0.9, unit="share"),
)
# The demo shows where a tree is ahead, in two minutes; the long form judges all of them.
DEMO = tuple(case for case in CASES if case.fabric in (F_5MS, F_500US, F_STREAM))

# Open MPI's own choices of algorithm, by their numbers. Every pair is one start of the program: the two parameters do not
# touch each other, and starting 16 ranks takes longer than most cells.
ALLREDUCE_NAMES = {1: "linear", 2: "nonoverlapping", 3: "recursive doubling", 4: "ring", 5: "segmented ring",
                   6: "Rabenseifner"}


def base_of(collective):
    """The MPI's own name of what a case calls: "bcast-stream" is many calls of bcast."""
    return collective.split("-")[0]


@dataclass(frozen=True)
class Tuned:
    """One tuning of Open MPI: the number of an algorithm for each collective (None: Open MPI chooses), and their segment size."""

    allreduce: int = None
    barrier: int = None
    segment: int = 0
    bcast: int = None
    reduce: int = None
    allgather: int = None

    def serves(self, collective):
        return getattr(self, base_of(collective), None) is not None

    def cuts(self, collective):
        return self.segment and collective not in ("barrier", "allgather")

    def peer(self, collective):
        name = f"Open MPI {base_of(collective)} {getattr(self, base_of(collective))}"
        return name + (f" segment {self.segment >> 10}K" if self.cuts(collective) else "")

    def flags(self):
        out = ["--mca", "coll_tuned_use_dynamic_rules", "1"]
        for collective in filter(self.serves, ("allreduce", "barrier", "bcast", "reduce", "allgather")):
            out += ["--mca", f"coll_tuned_{collective}_algorithm", str(getattr(self, collective))]
            if self.cuts(collective):
                out += ["--mca", f"coll_tuned_{collective}_algorithm_segmentsize", str(self.segment)]
        return out


OMPI_DEFAULT = "Open MPI default"
MPICH = "MPICH"
PEERS = ("Open MPI", MPICH)  # their columns begin so


@dataclass(frozen=True)
class Form:
    """How much is measured: the short form of `make demo`, the long one of `make bench`, a quick look while developing."""

    name: str
    runs: int
    small: tuple  # (iterations, warm-up) up to 64 KiB
    large: tuple  # (iterations, warm-up) above
    tuned_small: tuple
    tuned_large: tuple
    bare: tuple = ("epoll",)  # the bare tree's ways of waiting
    bare_runs: int = 1  # the demo writes bare's time and judges nothing by it
    client: bool = False  # with a column for libsharp_coll without MPI
    budget_s: float = None
    runs_enough: int = 3  # runs beyond these are left out where all of it would take longer than the budget

    def runs_of(self, case):
        return 1 if case.unit == "share" else self.runs  # a share is a count, not a time


_ALL_TUNED = (Tuned(1, 1), Tuned(2, 2), Tuned(3, 3), Tuned(4, 4), Tuned(5, 6), Tuned(5, None, 64 << 10), Tuned(6, None))
# Linear at 16 MiB: the root's one link carries 7 vectors in and 7 out, 9.4 s a call; only the long form waits for it.
SHORT = Form("short", 3, (20, 3), (2, 1), (Tuned(1, 1),), (Tuned(4, None),), runs_enough=1, budget_s=135)
QUICK = Form("quick", 1, (10, 2), (1, 1), (Tuned(1, 1),), (Tuned(4, None),))
FULL = Form("full", 5, (200, 20), (10, 5), _ALL_TUNED, tuple(t for t in _ALL_TUNED if t.barrier is None or t.allreduce <= 6),
            bare=("spin", "epoll"), bare_runs=5, client=True)


def program_case(case, form):
    """The --case text of collbench, sharp-client and baretree."""
    iterations, warmup = case.iterations_of(form)
    size = "" if case.collective == "barrier" else str(case.size)
    return f"{case.collective}:{size}:{iterations}:{warmup}"
