#!/usr/bin/env python3
"""The pairs that published slides compare, on emulated hosts: each pair in turns, its ratio beside the slide's. Times of a lab are not those of
the slides' switches; how the two of a pair compare is what can be set beside them."""

import dataclasses
import json
import os
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "bench")]
from harness import case, rows as results  # noqa: E402  pylint: disable=wrong-import-position
from core.pairs import Pairs, take_turns  # noqa: E402  pylint: disable=wrong-import-position
from demolib.ways import Tools  # noqa: E402  pylint: disable=wrong-import-position
from fabric.overlap import Overlap  # noqa: E402  pylint: disable=wrong-import-position

BENCH = case.BUILD / "lib/sumac/bench/sumac-bench"
PASTED, FABRICS = HERE.parent / "pasted", HERE.parents[1] / "lab/fabrics"
ENVIRONMENT = {"SUMAC_DEFAULTS": "2018", "HWLOC_SYNTHETIC": "package:2 core:8 pu:1"}
PLAIN = (*case.TCP, *case.YIELD)
TURNS = 5


def variables(**names):
    return tuple(word for name, value in names.items() for word in ("-x", f"{name}={value}"))


def tree(level=2, **names):
    return variables(HCOLL_ENABLE_SHARP=level, **names)


QUOTA = {"SHARP_COLL_JOB_QUOTA_OSTS": 128, "SHARP_COLL_JOB_QUOTA_MAX_GROUPS": 16, "SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST": 256}
STREAMS = {"SHARP_COLL_ENABLE_SAT": 1, "HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX": 1 << 30}
TO_2048 = {"HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX": 2048}
SOCKETS = {"HCOLL_SBGP": "basesmsocket,p2p", "HCOLL_BCOL": "basesmuma,ucx_p2p"}
MANY = ("-map-by", "node", "-np", "16")
ONE_PORT = {**QUOTA, **TO_2048, "HCOLL_MAIN_IB": "mlx5_1:1"}
SIZES = tuple(4 << i for i in range(10))
# The slides' microseconds (64 ranks on 4 hosts): one leader of a host, its two sockets' leaders on one port, on two ports of a tree, two trees.
ONE_CHANNEL = dict(zip(SIZES, (3.58, 3.65, 3.61, 3.77, 3.81, 4.09, 4.74, 5.84, 7.89, 12.05)))
TWO_CHANNELS = dict(zip(SIZES, (2.97, 2.97, 3.00, 3.08, 3.12, 3.41, 4.08, 5.04, 6.79, 10.17)))
TWO_PORTS = dict(zip(SIZES, (3.18, 3.69, 3.71, 3.92, 3.89, 4.18, 4.83, 6.09, 7.48, 10.49)))
TWO_RAILS = dict(zip(SIZES, (3.66, 3.71, 3.71, 3.82, 3.93, 4.25, 4.99, 5.89, 8.02, 12.90)))
DEFAULT_QUOTA = dict(zip(SIZES, (2.49, 2.54, 2.52, 2.58, 2.60, 2.72, 3.62, 6.60, 12.70, 24.36)))
TUNED_QUOTA = dict(zip(SIZES, (2.44, 2.54, 2.48, 2.53, 2.54, 2.74, 3.40, 4.23, 5.58, 7.83)))
LARGE = tuple(8 << 20 << i for i in range(7))


def ratios(other, one):
    return {size: round(other[size] / one[size], 2) for size in one}


@dataclasses.dataclass(frozen=True)
class Pair:
    name: str  # It says what the second has that the first has not.
    fabric: pathlib.Path
    benchmark: tuple
    one: tuple
    other: tuple
    deck: dict  # {size: the slides' ratio of the second's time to the first's}; of Intel's tables {ranks: ...}
    ranks: tuple = ("-map-by", "node", "-np", "8")
    turns: int = TURNS
    note: str = ""
    key: str = "bytes"


ALLREDUCE = ("osu_allreduce", "-m", "4:2048", "-i", "100", "-x", "10")
EIGHT, ONE_TREE, TWO_TREES = PASTED / "hosts-8.yaml", FABRICS / "channels-1tree.yaml", PASTED / "hosts-4x16-2rails.yaml"
OWN = tree(0)  # the hosts' own algorithms
PAIRS = (
    Pair("two channels on one port", ONE_TREE, ALLREDUCE, tree(**ONE_PORT), tree(**ONE_PORT, **SOCKETS), ratios(TWO_CHANNELS, ONE_CHANNEL), MANY),
    Pair("two channels on two ports of one tree", ONE_TREE, ALLREDUCE, tree(**ONE_PORT),
         tree(**{**ONE_PORT, "HCOLL_MAIN_IB": "mlx5_2:1,mlx5_1:1"}, **SOCKETS), ratios(TWO_PORTS, ONE_CHANNEL), MANY),
    Pair("two rails, a tree on each", TWO_TREES, ALLREDUCE, tree(**ONE_PORT),
         tree(**{**ONE_PORT, "HCOLL_MAIN_IB": "mlx5_1:1,mlx5_2:1", "SHARP_COLL_GROUPS_PER_COMM": 2}), ratios(TWO_RAILS, ONE_CHANNEL), MANY),
    Pair("128 OSTs of 256 bytes for 16 groups", EIGHT, ALLREDUCE, tree(**TO_2048), tree(**TO_2048, **QUOTA), ratios(TUNED_QUOTA, DEFAULT_QUOTA)),
    Pair("barrier by the tree", EIGHT, ("osu_barrier", "-i", "300", "-x", "30"), OWN, tree(1), {0: round(3.03 / 3.72, 2)}),
    Pair("IMB: a group for 4 of 8 ranks", EIGHT, ("IMB-MPI1", "Barrier", "-npmin", "4", "-iter", "300"), tree(3, HCOLL_SHARP_NP=6), tree(3),
         {4: round(1.96 / 2.53, 2), 8: round(2.31 / 2.26, 2)}, key="ranks"),
    Pair("4 to 256 bytes by the tree", EIGHT, ("osu_allreduce", "-m", "4:256", "-i", "200", "-x", "20"), OWN, tree(),
         {size: 0.25 for size in SIZES[:7]}, note="the slide: 75 % less at 128 hosts; here are 8"),
    Pair("8 to 512 MiB by streams of the tree", ONE_TREE, ("osu_allreduce", "-m", "8M:512M", "-M", "1G", "-i", "1", "-x", "0"),
         (*OWN, "--mca", "btl_tcp_if_include", "mlx5_1"), tree(**STREAMS, HCOLL_MAIN_IB="mlx5_1:1"), {size: 0.33 for size in LARGE},
         ("-map-by", "node", "-np", "4"), turns=2, note="the slide: 3 times as fast on 4 hosts"),
)


def measured(lab, pair, words):
    """Runs one of a pair. Returns {size or ranks: median in us}."""
    done = lab("mpirun", *pair.ranks, *PLAIN, *words, BENCH, "--json", *pair.benchmark, env=ENVIRONMENT, seconds=400)
    found = {row[pair.key]: row["median"] for row in map(json.loads, (line for line in done.out.splitlines() if line.startswith("{")))}
    if done.code != 0 or set(found) < set(pair.deck) or not goes_as_told(words, done):
        raise AssertionError(f"{pair.name}: {done.text}")
    return found


def goes_as_told(words, done):
    by_tree = case.tally.read(done.err).part("tree").count
    return by_tree == 0 if "HCOLL_ENABLE_SHARP=0" in words else by_tree > 0


def line(name, at, one, other, pairs, deck):
    span = pairs.interval
    spread = f"{span[0]:.2f}..{span[1]:.2f}" if span and len(pairs.values) > 5 else "-"
    print(f"  {name:<40}{at:>10} {one:>12.1f} {other:>12.1f} {pairs.ratio:>7.2f} {spread:>14} {deck:>7}", flush=True)
    return {"pair": name, "at": at, "one": one, "other": other, "ratio": round(pairs.ratio, 3), "deck": deck}


def compare(found, lab, pair):
    turns = list(take_turns(pair.turns, lambda: measured(lab, pair, pair.one), lambda: measured(lab, pair, pair.other)))
    for at, deck in pair.deck.items():
        pairs = Pairs()
        for turn, (one, other) in enumerate(turns):
            pairs.add(turn, other[at] / one[at])
        one, other = (statistics.median(turn[side][at] for turn in turns) for side in (0, 1))
        found.append(line(pair.name, at, one, other, pairs, deck))
    if pair.note:
        print(f"  ({pair.note})")


RECURSIVE = ("--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_allreduce_algorithm", "3")
CALLS = 20


def bytes_of_hosts(lab):
    """What the hosts' ports have sent since the lab began."""
    status = json.loads(lab("status", "--json").out)
    hosts = {place["name"] for place in status["places"] if place["kind"] == "host"}
    return sum(link["bytes"] for link in status["links"] if link["from"] in hosts)


def cost(lab, words):
    """Returns (bytes that a host sends, processor time of a rank in ms) of an allreduce of 1 MiB."""
    before = bytes_of_hosts(lab)
    done = lab("mpirun", "-np", 8, *PLAIN, *words, case.BUILD / "bin/collbench", "--case", f"allreduce:1M:{CALLS}:0", env=ENVIRONMENT)
    rows = [json.loads(row) for row in done.out.splitlines() if row.startswith('{"program":"collbench')]
    if done.code != 0 or len(rows) != 1 or rows[0]["errors"] or not goes_as_told(words, done):
        raise AssertionError(done.text)
    return (bytes_of_hosts(lab) - before) / 8 / CALLS, rows[0]["cpu_ms"]


def compare_costs(found, lab):
    """The slide: recursive doubling sends the data at least twice, and the ranks' processors do the sums."""
    streams = tree(**STREAMS)
    for name, words in (("recursive doubling", (*OWN, *RECURSIVE)), ("Open MPI's own choice", OWN)):
        turns = list(take_turns(TURNS, lambda: cost(lab, words), lambda: cost(lab, streams)))  # pylint: disable=cell-var-from-loop
        for what, index, deck in (("bytes", 0, 0.5), ("cpu ms", 1, "less")):
            pairs = Pairs()
            for turn, (one, other) in enumerate(turns):
                pairs.add(turn, other[index] / one[index])
            one, other = (statistics.median(turn[side][index] for turn in turns) for side in (0, 1))
            found.append(line(f"1 MiB by the tree beside {name}", what, one, other, pairs, deck))


@dataclasses.dataclass(frozen=True)
class Hidden:
    """A nonblocking collective whose ranks sleep for as long as it takes by itself, as bench/fabric/overlap.py wants it."""

    collective: str
    size: int = 64 << 10
    iterations: tuple = (20, 3)
    link_delay_us: float = 500.0
    fabric: object = type("Hosts", (), {"hosts": 8})

    @property
    def name(self):
        return self.collective


class LabOfBench:
    """The lab as the benches know it."""

    def __init__(self, lab):
        self.lab = lab

    def mpirun_command(self, words):
        return self.lab.command("mpirun", *words)

    def status(self):
        return json.loads(self.lab("status", "--json").out)


def compare_overlap(found, lab):
    """Slides on tag matching in adapters: Iscatterv and Ialltoall up to 1.8 times as fast beside a computation. What such a call takes with a
    sleep of its own length follows from the hidden share: 2 - share of its time."""
    tools, cases, place = Tools(case.BUILD), [Hidden("iscatterv"), Hidden("ialltoall")], LabOfBench(lab)
    alone = Overlap("alone", cases, lambda _: [])
    ours = Overlap("ours", cases, lambda tools: Tools.sumac_flags(tools, (("SUMAC_PROGRESS_THREAD", "1"), ("SUMAC_ACROSS", "p2p"), ("HCOLL_ENABLE_SHARP", "0"))))
    turns = list(take_turns(TURNS, lambda: alone.run(place, tools, 120), lambda: ours.run(place, tools, 120)))
    for one in cases:
        pairs, shares = Pairs(), []
        for turn, (first, second) in enumerate(turns):
            shares.append((first[one.name, "alone"], second[one.name, "ours"]))
            pairs.add(turn, (200 - shares[-1][1]) / (200 - shares[-1][0]))
        found.append(line(f"{one.name} of 64 KiB: hidden, in %", one.size, *(statistics.median(column) for column in zip(*shares)), pairs, round(1 / 1.8, 2)))


STEPS = {ONE_TREE: (), EIGHT: (compare_costs,), TWO_TREES: (), FABRICS / "fabric-8h-100mbit.yaml": (compare_overlap,)}


def run(rows):
    found = []
    print(f"  load {os.getloadavg()[0]:.1f}; the second's time over the first's\n  {'pair':<40}{'at':>10} {'first':>12} {'second':>12} {'ratio':>7} {'95 %':>14} {'slides':>7}")
    for fabric, more in STEPS.items():
        lab = case.Lab("deck-pairs", fabric)
        lab.up(env={"SUMAC_NODE_OST_COUNT": "512"})
        try:
            for pair in (pair for pair in PAIRS if pair.fabric == fabric):
                compare(found, lab, pair)
            for step in more:
                step(found, lab)
        finally:
            lab.down()
    expected = sum(len(pair.deck) for pair in PAIRS) + 6
    rows.add("deck-pairs", "ratios missing", expected - len(found), 0, ratios=found, load=os.getloadavg())


if __name__ == "__main__":
    results.end_in_order()
    results.cases(__doc__, run)
