"""How each way of an allreduce is run: Open MPI's algorithms one by one, the tree whatever it costs, and what the selection says."""

import re

from core.pairs import take_turns
from demolib import cases as C
from demolib.ways import Mpi, Tools, WayFailed, run_mpi

from . import grid

# Open MPI's algorithms by number, and the sizes at which they can be the best: (algorithm, least, most bytes). With fewer numbers than
# ranks 4 to 6 are recursive doubling.
ALGORITHMS = ((C.Tuned(1), 0, 4 << 10), (C.Tuned(2), 0, 4 << 10), (C.Tuned(3), 0, 64 << 10), (C.Tuned(4), 4 << 10, 1 << 62),
              (C.Tuned(5, None, 64 << 10), 1 << 20, 1 << 62), (C.Tuned(6), 4 << 10, 1 << 62))
RING = C.Tuned(4).peer("allreduce")
IN_TURNS = "in turns"
# With SUMAC_EXPLAIN=1 the component says this of a communicator that has a group: all kinds that are for the tree.
FOR_THE_TREE = re.compile(r"communicator MPI_COMM_WORLD: for the tree: [^(\n]*?\ballreduce (?:of any size|up to (\d+) bytes)")


def tree_limit(text):
    """Returns the largest allreduce that goes to the tree, as the component prints it; None if it prints none."""
    found = FOR_THE_TREE.search(text)
    if found is None:
        return None
    return int(found.group(1)) if found.group(1) else 1 << 62


def tree_settings(one):
    return (("SHARP_COLL_GROUPS_PER_COMM", str(one.trees)),)


class Choice:
    """What the selection does with each size: asked of a job with a single small case."""

    column, guess_s = "selection", 3.0

    def __init__(self, cases, form):
        self.cases, self.form, self.notes = cases, form, {}

    def run(self, lab, tools, seconds):
        one = self.cases[0].fabric
        flags = Tools.sumac_flags(tools, tree_settings(one)) + ["-x", "SUMAC_EXPLAIN=1"]
        out, err = run_mpi(lab, one.hosts, flags, [tools.program("collbench"), "--case", "allreduce:8:2:1"], seconds)
        limit = tree_limit(err + out)
        if limit is None:
            raise WayFailed("the component does not say what is for the tree")
        print("any size" if limit == 1 << 62 else f"up to {limit} B", end=" ", flush=True)
        self.notes = {(case.name, "chose"): "tree" if case.size <= limit else "hosts" for case in self.cases}
        return {}


def shorter(case):
    """A peer's number of calls follows its own bound."""
    if case.hosts_limit is None:
        return case
    return type(case)(**{**case.__dict__, "limit": case.hosts_limit, "iterations": grid.calls(case.hosts_limit, 0.6, 50)})


def peers(cases, form):
    for tuned, least, most in ALGORITHMS:
        served = [shorter(case) for case in cases if least <= case.size <= most]
        if served:
            yield Mpi(tuned.peer("allreduce"), served, form, flags=lambda _, t=tuned: t.flags())


def tree(cases, form):
    """The tree, whatever it costs."""
    forced = tree_settings(cases[0].fabric) + (("HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX", "inf"),)
    return Mpi("sumac", cases, form, flags=lambda tools: Tools.sumac_flags(tools, forced))


class InTurns:
    """The tree and the hosts' best algorithm, one beside the other in one lab: for a cell that one number each does not decide."""

    column, guess_s = IN_TURNS, 8.0

    def __init__(self, case, algorithm, form):
        tuned = next(tuned for tuned, _, _ in ALGORITHMS if tuned.peer("allreduce") == algorithm)
        self.cases, self.ratios = [case], {}
        self.ways = (tree([case], form), Mpi(algorithm, [shorter(case)], form, flags=lambda _: tuned.flags()))

    def run(self, lab, tools, seconds):
        name = self.cases[0].name

        def once(way):
            return lambda: next(iter(way.run(lab, tools, seconds).values()))

        both = list(take_turns(2, *map(once, self.ways)))
        self.ratios = {(name, IN_TURNS): [by_tree / by_hosts for by_tree, by_hosts in both]}
        return {(name, column): list(values) for column, values in zip(("sumac", self.ways[1].column), zip(*both))}


def columns(cases, form):
    """Where the nodes are is nothing to Open MPI: its own algorithms run once for a number of hosts and a round trip."""
    cases = [case for case in cases if not case.left_out]
    one = cases[0].fabric
    out = [tree(cases, form)]
    if one.round_trip_us != grid.FLOOR_US:
        out.append(Choice(cases, form))
    return out + (list(peers(cases, form)) if one.place == "switch" else [])
