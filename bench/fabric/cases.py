"""The fabrics, cases, bounds and limits of `make bench-fabric`."""

from dataclasses import dataclass, replace

from core.bounds import stream_ms
from demolib import cases as C

MIB = C.MIB
CHUNK, HEADER = 64 << 10, 64  # a stream has messages of so much payload, and such a header before each
MTU, FRAME_EXTRA, TCP_IP = 9000, 66, 52  # a frame's own bytes: Ethernet 14 and TCP/IP with time stamps 52


@dataclass(frozen=True)
class FabricCase(C.Case):
    kind: str = "calls"  # which columns: see columns.py
    runs: int = 5
    peer_runs: int = 2  # runs of the default and of the algorithms still in the race; their spread is small, their calls are long
    peer_iterations: tuple = None  # set if a peer's calls are so long that the case's own number of them would take minutes
    tuned: tuple = ()  # the peer's algorithms tried
    mpich: bool = True
    library: bool = True  # the case has a column for libsharp_coll without MPI
    link_delay_us: float = None  # the delay of each link; set if a switch that is late makes a run void
    bound: tuple = ()  # The way to a method in `sumac fabric bounds --json`: its bytes / rate are the limit, which is not known before.
    pairs: int = None  # Sumac and bare take turns so often in one run, and their neighbours' ratios are what counts


def wire_bytes(payload, chunk=CHUNK):
    """Returns the bytes that a link carries in one direction for a stream of `payload` bytes."""
    messages = -(-payload // chunk)
    stream = payload + messages * HEADER
    return stream + -(-stream // (MTU - TCP_IP)) * FRAME_EXTRA


def stream_bounds(size, rate_mbit):
    """(payload bound, wire bound) in ms of a link that carries `size` one way."""
    return {"limit": C.stream_limit_ms(size, rate_mbit), "wire_limit": C.stream_limit_ms(wire_bytes(size), rate_mbit)}


def latency_bounds(links, delay_ms, size, rate_mbit=1000):
    limit = C.latency_limit_ms(links, delay_ms)
    return {"limit": limit, "wire_limit": limit + links * 8 * (size + HEADER + FRAME_EXTRA) / (rate_mbit * 1e3)}


def span_bounds(links, delay_ms, size, rate_mbit, chunk=CHUNK):
    """Returns the bounds of a collective that lasts until the last rank has its result: the delay of the path, and `size` bytes through the
    last link."""
    delay = C.latency_limit_ms(links, delay_ms)
    return {"limit": delay + C.stream_limit_ms(size, rate_mbit),
            "wire_limit": delay + C.stream_limit_ms(wire_bytes(size, chunk), rate_mbit)}


def with_bounds(case, bounds):
    """The case with the limits that `bounds`, the output of `sumac fabric bounds --json` for its fabric, has for its method."""
    return replace(case, limit=stream_ms(bounds, case.bound, case.size), wire_limit=stream_ms(bounds, case.bound, wire_bytes(case.size)))


def pipeline_ms(fragments, depth, round_trip_ms):
    """The closed form where delay is all: fragments go in turns of `depth`, and each turn takes one trip up and down."""
    return -(-fragments // depth) * round_trip_ms


F_64H = C.Fabric("fabric-64h-10ms", "an-root", C._leaves(8, 8))
F_8H_5MS = C.Fabric("fabric-8h-5ms", "an-root", C._leaves(2, 4))
F_8H_100MBIT = C.Fabric("fabric-8h-100mbit", "an-root", C._leaves(2, 4))
F_RAILS = C.Fabric("fabric-8h-2rails", "an-root-a", C._leaves(2, 4))
F_SPARE = C.Fabric("fabric-8h-8spare", "an-x1", C._leaves(1, 8))
F_ONHOSTS = C.Fabric("fabric-8h-onhosts", "an-h1", C._leaves(1, 8))
F_LOCAL = C.Fabric("this machine", None, C._leaves(1, 8))

_5MS = {"group": "latency", "iterations": (40, 5), "over_limit": 1.06, "tuned": (C.Tuned(1, 1), C.Tuned(2, 2), C.Tuned(3, 3),
        C.Tuned(4, 4), C.Tuned(5, 6), C.Tuned(6, None)), "peer_iterations": (20, 3)}
_500US = {**_5MS, "iterations": (200, 20), "over_limit": None, "over_bare": 1.10, "peer_iterations": (100, 10), "peer_runs": 3}
# These cases last until the last rank (or the root) is done. They have no column for libsharp_coll, which the allreduces measure.
_SPAN = {"library": False, "peer_runs": 2}
_SPAN_500US = {**_SPAN, "group": "spans", "over_bare": 1.25, "iterations": (100, 10), "peer_iterations": (30, 5), "chunk": 31232,
               "tuned": tuple(C.Tuned(bcast=bcast, reduce=reduce, allgather=allgather) for bcast, reduce, allgather in
                              ((1, 1, 1), (5, 4, 2), (6, 5, 3), (7, 6, 4), (8, 7, 5)))}
# 200 calls in a row, and 20 of which one rank comes 20 ms late to each; a cell is the time of all of them. Nothing bare does that.
_DEFAULTS = (("SHARP_COLL_JOB_QUOTA_OSTS", "0"), ("SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "0"))  # The window that a user has who asks for none.
_ROW = {"library": False, "environment": _DEFAULTS, "kind": "rows", "limit": None, "group": "rows", "iterations": (7, 1), "peer_iterations": (5, 1), "peer_runs": 3,
        "tuned": tuple(C.Tuned(bcast=bcast, reduce=reduce) for bcast, reduce in ((1, 1), (5, 4), (6, 5), (7, 6)))}
_IN_A_ROW = {**_ROW, "over_peer": 1.0, "limit_why": "200 calls, until the last rank (the root) has the last result"}
_LATE = {**_ROW, "over_peer_ms": 5.0, "limit_why": "20 calls, one rank late to each by 20 ms: what those wait who need nobody"}
# Nonblocking calls posted together, by MPI_COMM_WORLD or (-apart) each by a communicator of its own, beside one of them alone.
_TOGETHER = {"library": False, "environment": _DEFAULTS, "kind": "together", "limit": None, "group": "together", "iterations": (40, 5),
             "peer_iterations": (20, 3), "peer_runs": 3, "over_peer": 1.0, "limit_why": "until all of them are done; bare is one of them alone"}
_TOGETHER_CASES = (("8-iallreduce-8B", "iallreduce-8", 8, 1.3), ("16-iallreduce-8B", "iallreduce-16", 8, 1.5), ("8-ibarrier", "ibarrier-8", 0, 1.3),
                   ("8-ibcast-64B", "ibcast-8", 64, None), ("8-iallreduce-64KiB", "iallreduce-8", 64 << 10, None))
# MPI_Comm_dup, 1 or 40 allreduces of 8 B, and MPI_Comm_free. With HCOLL_ENABLE_SHARP=3 a group would have to be there at once.
_NEWCOMM = {"library": False, "environment": (*_DEFAULTS, ("HCOLL_ENABLE_SHARP", "1")), "kind": "rows", "limit": None, "group": "newcomm", "iterations": (15, 3),
            "peer_iterations": (10, 2), "peer_runs": 3, "tuned": (C.Tuned(3), C.Tuned(2)), "limit_why": "until a rank is through, mean of all ranks"}
_STREAM = (C.Tuned(2, None), C.Tuned(3, None), C.Tuned(4, None), C.Tuned(5, None), C.Tuned(5, None, 64 << 10), C.Tuned(6, None))
_16MIB = {"iterations": (5, 2), "peer_iterations": (3, 1)}
_RAILS = (("HCOLL_MAIN_IB", "mlx5_0:1,mlx5_1:1"), ("SHARP_COLL_GROUPS_PER_COMM", "2"))
_PAIRS = {"runs": 1, "pairs": 11}
_THREAD = (("SUMAC_PROGRESS_THREAD", "1"),)
_OVERLAP = {"unit": "%", "kind": "overlap", "limit": 100.0, "link_delay_us": 500.0, "environment": _THREAD, "peer_runs": 2}
# The time away from MPI is a sleep, as in bench-host, or (busy) arithmetic: 8 ranks that compute on all cores of this machine.
_ASLEEP = {**_OVERLAP, "share_min": 90, "limit_why": "all of the operation is over when a rank comes back from a sleep of its length"}
_BUSY = {**_OVERLAP, "limit_why": "the same, and the ranks compute instead of sleeping"}
_8TREES = (("SHARP_COLL_GROUPS_PER_COMM", "8"),)

CASES = (
    FabricCase("allreduce-8B-16h-5ms", C.F_5MS, "allreduce", 8, limit_why="2 links up, 2 down", **latency_bounds(4, 5.0, 8), **_5MS),
    FabricCase("barrier-16h-5ms", C.F_5MS, "barrier", 0, limit_why="2 links up, 2 down", **latency_bounds(4, 5.0, 0), **_5MS),
    FabricCase("allreduce-8B-16h-500us", C.F_500US, "allreduce", 8, limit_why="2 links up, 2 down", **latency_bounds(4, 0.5, 8),
               **_500US),
    FabricCase("barrier-16h-500us", C.F_500US, "barrier", 0, limit_why="2 links up, 2 down", **latency_bounds(4, 0.5, 0), **_500US),
    FabricCase("allreduce-8B-64h-10ms", F_64H, "allreduce", 8, limit_why="2 links up, 2 down", **latency_bounds(4, 10.0, 8),
               over_limit=1.10, iterations=(20, 4), tuned=(C.Tuned(3, None), C.Tuned(6, None)), peer_runs=1, peer_iterations=(6, 1)),
    FabricCase("allreduce-16MiB-8h", C.F_STREAM, "allreduce", 16 * MIB, limit_why="M / rate", **stream_bounds(16 * MIB, 200),
               group="16MiB", over_limit=1.07, tuned=_STREAM, **_16MIB),
    FabricCase("allreduce-64MiB-8h", C.F_STREAM, "allreduce", 64 * MIB, limit_why="M / rate", **stream_bounds(64 * MIB, 200),
               group="64MiB", over_limit=1.05, iterations=(3, 1), peer_runs=1, peer_iterations=(2, 1), mpich=False,
               tuned=(C.Tuned(4, None), C.Tuned(5, None, 64 << 10))),
    FabricCase("bcast-4MiB-8h", C.F_STREAM, "bcast", 4 * MIB, limit_why="M / rate", **stream_bounds(4 * MIB, 200), group="bcast",
               over_limit=1.10, iterations=(15, 3), peer_iterations=(5, 1), **_SPAN,
               tuned=(*(C.Tuned(bcast=number) for number in (6, 8, 9)), *(C.Tuned(bcast=number, segment=64 << 10) for number in (2, 3, 5)))),
    FabricCase("bcast-8B-16h-500us", C.F_500US, "bcast", 8, limit_why="2 links up, 2 down", **latency_bounds(4, 0.5, 8), **_SPAN_500US),
    FabricCase("bcast-64KiB-16h-500us", C.F_500US, "bcast", 64 << 10, limit_why="2 links up, 2 down, and M / rate",
               **span_bounds(4, 0.5, 64 << 10, 1000), **_SPAN_500US),
    FabricCase("reduce-8B-16h-500us", C.F_500US, "reduce", 8, limit_why="2 links up, 2 down", **latency_bounds(4, 0.5, 8), **_SPAN_500US),
    *(FabricCase(f"{kind}-64B-16h-500us-{form}", C.F_500US, f"{kind}-{form}", 64, **(_LATE if form == "late" else _IN_A_ROW))
      for kind in ("bcast", "reduce") for form in ("stream", "rotating", "late")),
    *(FabricCase(f"{name}-16h-500us{apart}", C.F_500US, f"{collective}{apart}", size, over_bare=over_one, **_TOGETHER)
      for apart in ("", "-apart") for name, collective, size, over_one in _TOGETHER_CASES),
    FabricCase("newcomm-16h-500us", C.F_500US, "newcomm", 8, over_peer=1.1, **_NEWCOMM),
    FabricCase("newcomm-40-16h-500us", C.F_500US, "newcomm-40", 8, over_peer=1 / 1.5, **_NEWCOMM),
    FabricCase("allgather-1KiB-16h-500us", C.F_500US, "allgather", 16 << 10, limit_why="2 links up, 2 down, and 15 blocks / rate",
               **span_bounds(4, 0.5, 15 << 10, 1000, 1 << 10), **_SPAN_500US),
    FabricCase("reduce_scatter-16MiB-8h", C.F_STREAM, "reduce_scatter", 16 * MIB, limit_why="M / rate: whole vectors go up",
               **stream_bounds(16 * MIB, 200), group="reduce_scatter", kind="parts", over_limit=1.10, **_16MIB),
    FabricCase("allgather-16MiB-8h", C.F_STREAM, "allgather", 16 * MIB, limit_why="(n-1)/n M / rate: a rank has its own part",
               limit=None, bound=("kinds", "allgather", "own", "recursive doubling"), group="allgather", kind="parts", over_limit=1.10, **_16MIB),
    FabricCase("allreduce-16MiB-8h-2rails", F_RAILS, "allreduce", 16 * MIB, limit_why="M / (2 rate)",
               limit=None, bound=("tree",), kind="striped", over_limit=1.10, environment=_RAILS,
               tuned=(C.Tuned(4, None), C.Tuned(5, None, 64 << 10)), iterations=(3, 1), peer_iterations=(2, 1), peer_runs=1),
    FabricCase("allreduce-16MiB-8h-8spare", F_SPARE, "allreduce", 16 * MIB, limit_why="n M / (m rate), n = m = 8",
               limit=None, bound=("tree",), kind="striped", over_limit=1.15, environment=_8TREES,
               tuned=(C.Tuned(4, None), C.Tuned(5, None, 64 << 10)), iterations=(3, 1), peer_iterations=(2, 1), peer_runs=1),
    FabricCase("allreduce-16MiB-8h-onhosts", F_ONHOSTS, "allreduce", 16 * MIB, limit_why="a ring's: 2 (n-1)/n M / rate",
               limit=None, bound=("ring",), kind="striped",
               over_limit=1.2, environment=_8TREES, tuned=(C.Tuned(4, None), C.Tuned(5, None, 64 << 10)), iterations=(3, 1),
               peer_iterations=(2, 1), peer_runs=1, may_refuse=True),
    FabricCase("start-16h-500us", C.F_500US, "start", 0, kind="start", group="start", limit=None, over_bare=1.30,
               limit_why="MPI_Init to the end of the first barrier; bare is Open MPI alone", **_PAIRS),
    FabricCase("start-run", F_LOCAL, "start", 0, kind="start-run", group="start", limit=80.0, over_limit=1.0,
               limit_why="`sumac run mpirun -np 2 true`: what is added to mpirun's time", **_PAIRS),
    FabricCase("pipeline-2KiB", F_8H_5MS, "allreduce", 2048, unit="ratio", kind="pipeline", iterations=(20, 3), share_min=7.2,
               limit=pipeline_ms(16, 2, 20.0) / pipeline_ms(8, 8, 20.0), limit_why="8 turns of 2 fragments over 1 turn of 8"),
    FabricCase("overlap-iallreduce-64KiB-8h-500us", F_8H_100MBIT, "iallreduce", 64 << 10, iterations=(60, 6), **_ASLEEP),
    FabricCase("overlap-iallreduce-1MiB-8h-500us", F_8H_100MBIT, "iallreduce", MIB, iterations=(12, 2), **_ASLEEP),
    FabricCase("overlap-iallreduce-64KiB-8h-500us-busy", F_8H_100MBIT, "iallreduce-busy", 64 << 10, iterations=(60, 6), **_BUSY),
    FabricCase("overlap-iallreduce-1MiB-8h-500us-busy", F_8H_100MBIT, "iallreduce-busy", MIB, iterations=(12, 2), **_BUSY),
    FabricCase("node-stream-8c", F_LOCAL, "allreduce", 16 * MIB, unit="1/s", kind="node", limit=None,
               limit_why="64 KiB results for 8 children, per processor second of the node's thread", bare_share=0.85, **_PAIRS),
    FabricCase("node-small-8c", F_LOCAL, "allreduce", 8, unit="1/s", kind="node", limit=None,
               limit_why="8 B results for 8 children, per processor second of the node's thread", bare_share=0.70, **_PAIRS),
    FabricCase("client-cpu-4MiB", C.F_STREAM, "allreduce", 4 * MIB, kind="client-cpu", group="cpu", field="cpu_ms",
               iterations=(10, 3), limit=None, limit_why="processor time of a client (getrusage) per call", over_bare=1.15, **_PAIRS),
    FabricCase("memory-client", C.F_STREAM, "memory", 0, unit="bytes", kind="memory", group="memory", runs=1, over_limit=1.0,
               limit=float(2 << 20), limit_why="per group, beside its vector; no results are retained so far"),
    FabricCase("memory-node", C.F_STREAM, "memory", 0, unit="bytes", kind="memory", group="memory", runs=1, over_limit=1.0,
               limit=None, limit_why="the bound that the node prints"),
)
