"""The cells of `make bench-torch`, and what must hold."""

from dataclasses import dataclass

SUMAC, GLOO, NOTHING, ALONE, ONE, COMPONENT = "sumac", "gloo", "nothing", "alone", "one", "component"
LABELS = {SUMAC: "sumac", GLOO: "gloo", NOTHING: "a backend that does nothing", COMPONENT: "the MPI component"}
SIZES = {"8B": 8, "64KiB": 64 << 10, "4MiB": 4 << 20, "32MiB": 32 << 20}


@dataclass(frozen=True)
class Cell:
    """One collective of float32 tensors between ranks on this host. `bytes` are those of the vector, or of all blocks together."""

    name: str
    kind: str
    bytes: int
    ranks: int
    faster: float  # The least ratio of gloo's time by ours.
    over_nothing_us: float | None = None  # The most that our time may be above that of a backend that does nothing.
    over_component: float | None = None  # The most that our time may be of the MPI component's for the same.
    has_recorder: bool = True  # PyTorch's flight recorder notes each call, as it does unless TORCH_FR_BUFFER_SIZE=0; never those of NOTHING.

    @property
    def iterations(self):
        """200 up to 64 KiB, then less, so that a turn of the slower backend takes half a second at most."""
        return 200 if self.bytes <= 64 << 10 else 20 if self.bytes <= 4 << 20 else 6

    @property
    def warmup(self):
        """A tenth, at least 5 where there are many, is measured and dropped."""
        return max(5, self.iterations // 10) if self.iterations > 10 else 2

    def must(self):
        """For people."""
        words = [f"{self.faster:g} x faster than gloo"]
        if self.over_nothing_us is not None:
            words.append(f"<= {self.over_nothing_us:g} us above a backend that does nothing")
        if self.over_component is not None:
            words.append(f"<= {self.over_component:g} x the MPI component")
        return ", ".join(words)


def cells():
    """All cells, those with the same number of ranks together."""
    out = [Cell("allreduce-8B-2r", "allreduce", 8, 2, 8, 15), Cell("allreduce-8B-2r-unrecorded", "allreduce", 8, 2, 8, 15, has_recorder=False),
           Cell("allreduce-64KiB-2r", "allreduce", SIZES["64KiB"], 2, 10), Cell("allreduce-32MiB-2r", "allreduce", SIZES["32MiB"], 2, 2.5, over_component=1.2)]
    out += [Cell(f"{kind}-{size}-2r", kind, SIZES[size], 2, 2) for kind in ("broadcast", "allgather", "reduce_scatter", "alltoall")
            for size in ("8B", "64KiB", "4MiB")]
    return [*out, Cell("allreduce-8B-4r", "allreduce", 8, 4, 4)]


OTHERS = ("c10d-suite", "idle-cpu", "idle-cpu-waiting", "ddp-loss-2r", "ddp-loss-4r", *(f"reproducible-cost-{size}" for size in ("8B", "64KiB", "4MiB")))
# The hosts of the ranks, beside one host for all.
PLACEMENTS = {2: ("ab",), 4: ("aabb", "abab", "abcd")}


RATE = 200e6 / 8 / 1e3  # Bytes in a millisecond on each link of demo-8h-stream.
LARGE = 64 << 20


@dataclass(frozen=True)
class Between:
    """A case among the hosts of an emulated fabric, one process a host."""

    name: str
    kind: str  # As between.py has it.
    fabric: str
    bytes: int
    turns: int
    nodes: bool = False  # Aggregation nodes at the switches.
    faster: float = 1  # The least ratio of gloo's time by ours.
    limit_ms: float | None = None
    limit_is: str = ""
    over_limit: float | None = None  # The most that our time may be of it.
    alone_share_max: float | None = None  # The most that a step without its exchange may take of gloo's step; else the case is void.

    over_one: float | None = None  # The most that several operations may take of the time of one of them.
    beside: str | None = None  # The case than which this one may be no slower.
    bound: str = ""  # The method of `sumac fabric bounds --json` whose bytes / rate are the limit, which is not known before.

    def must(self):
        """For people."""
        words = ["no slower than gloo" if self.faster == 1 else f"{self.faster:g} x faster than gloo"]
        if self.over_limit:
            words.append(f"<= {self.over_limit:g} x {self.limit_is}")
        if self.over_one:
            words.append(f"<= {self.over_one:g} x one alone")
        if self.beside:
            words.append(f"no slower than {self.beside}")
        return ", ".join(words)


def _small(what, count_bytes, size="", beside=False, **more):
    """Operations that travel together, by the tree and by messages. At 100 Mbit/s so few bytes take next to nothing beside the 500 us of a link."""
    name = f"{what}{size}-8h-500us"
    without = f"{name}-nonodes"
    return (Between(without, what, "fabric-8h-100mbit.yaml", count_bytes, 30, False, **more),
            Between(name, what, "fabric-8h-100mbit.yaml", count_bytes, 30, True, beside=without if beside else None, **more))


BETWEEN = (Between("allreduce-64MiB-8h", "allreduce", "demo-8h-stream.yaml", LARGE, 5, True, 1.4, LARGE / RATE, "line rate", 1.08),
           Between("allreduce-64MiB-8h-nonodes", "allreduce", "demo-8h-stream.yaml", LARGE, 5, False, 1, None, "the ring's bound", 1.2, bound="ring"),
           Between("allreduce-8B-16h-500us-nonodes", "allreduce", "demo-16h-500us.yaml", 8, 40),
           Between("ddp-step-8h", "ddp", "demo-8h-stream.yaml", LARGE, 5, True, 1.5, alone_share_max=0.1),
           *_small("8-async-allreduce", 8, "-8B", over_one=1.3), *_small("16-async-allreduce", 8, "-8B", over_one=1.5),
           *_small("8-broadcast-row", 256, beside=True))
IDLE_SHARE_MAX = 0.01
LOSS_MAX = 1e-6


def names_of(wanted):
    """The cases that a list of names with * asks for, all for "". Raises ValueError, which names an unknown one."""
    import fnmatch

    every = [*(cell.name for cell in cells()), *OTHERS, *(case.name for case in BETWEEN)]
    chosen = []
    for pattern in [part for part in wanted.split(",") if part] or ["*"]:
        found = fnmatch.filter(every, pattern)
        if not found:
            raise ValueError(f"no case {pattern}: --list prints them")
        chosen += [name for name in found if name not in chosen]
    return chosen
