#!/usr/bin/env python3
"""An allreduce of 8 B among 16 hosts through the tree, with Open MPI's own messages by UCX and by its TCP, in turns."""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "bench")]
from harness import case, rows as results  # noqa: E402  pylint: disable=wrong-import-position
from core.pairs import Pairs, take_turns  # noqa: E402  pylint: disable=wrong-import-position

FABRIC = HERE.parents[1] / "lab/fabrics/demo-16h-500us.yaml"
LIMIT, TURNS = 1.10, 11


def measured(lab, network):
    done = lab("mpirun", "-np", 16, *network, *case.YIELD, *case.component_flags(), "-x", "HCOLL_ENABLE_SHARP=3", case.BUILD / "bin/collbench", "--case",
               "allreduce:8:200:20", seconds=120)
    rows = [json.loads(row) for row in done.out.splitlines() if row.startswith('{"program":"collbench')]
    if done.code != 0 or len(rows) != 1 or rows[0]["errors"] or case.tally.read(done.err).part("tree").kinds.get("allreduce", 0) < 220:
        raise AssertionError(done.text)
    return rows[0]["median"]


def run(rows):
    lab, pairs = case.Lab("pml-ucx", FABRIC), Pairs()
    lab.up()
    try:
        for turn, (ob1, ucx) in enumerate(take_turns(TURNS, lambda: measured(lab, case.TCP), lambda: measured(lab, case.PML_UCX))):
            pairs.add(turn, ucx / ob1)
            print(f"  {ob1:.3f} ms by ob1, {ucx:.3f} ms by ucx", flush=True)
    finally:
        lab.down()
    # As in design.md, section 7: it fails when the whole interval lies beyond the limit.
    low, high = pairs.interval
    rows.add("pml-ucx allreduce-8B-16h-500us", "ucx / ob1 (low end)", round(low, 3), LIMIT, ratio=round(pairs.ratio, 3), interval=[low, high])


if __name__ == "__main__":
    results.end_in_order()
    results.cases(__doc__, run)
