#!/usr/bin/env python3
"""examples/charm4py: reductions of a chare array by Sumac's tree beside charm4py's own. `--short`: on this host, exact results alone; otherwise also an
array over 16 hosts, each with a PE."""

import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "bench")]
from harness import case, rows as results  # noqa: E402  pylint: disable=wrong-import-position
from core.pairs import Pairs  # noqa: E402  pylint: disable=wrong-import-position

ROOT = HERE.parents[1]
PYTHON, EXAMPLE = ROOT / "build/charm4py/bin/python", ROOT / "examples/charm4py/reductions.py"
FABRIC = ROOT / "lab/fabrics/demo-16h-500us.yaml"
LIMIT = 1 / 1.5  # The share of charm4py's own time.
ENVIRONMENT = {"PYTHONPATH": str(case.BUILD / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
STARTS, TURNS, STEPS = 3, 4, 50


def missing():
    if not PYTHON.exists():
        return "charm4py is not installed: make setup-charm4py"
    if not list((case.BUILD / "python/sumac_collectives").glob("_core.*.so")):
        return "sumac_collectives is not built: make setup-python, then build again"
    return ""


def exact(done):
    if done.code != 0 or not done.out.rstrip().splitlines()[-1:] or "reductions: 0 wrong" not in done.out:
        raise AssertionError(done.text)
    return [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]


def here(*words, pes=2):
    return exact(case.start([PYTHON, "-m", "charmrun.start", f"+p{pes}", "++local", "++quiet", EXAMPLE, "--json", *words], ENVIRONMENT, seconds=100))


def on_this_host(rows):
    """Several elements on a PE, one on each, and vectors."""
    for words in (["--steps", "20"], ["--elements", "2", "--steps", "20"], ["--elements", "5", "--count", "1000", "--steps", "10"]):
        here(*words)
    rows.add("charm4py on this host", "wrong results", 0, 0)


def on_hosts(rows):
    lab, pairs = case.Lab("charm4py", FABRIC), Pairs()
    lab.up()
    try:
        hosts = [place["name"] for place in json.loads(lab("status", "--json").out)["places"] if place["kind"] == "host"]
        listed = case.BUILD / "tests" / f"charm4py-{os.getpid()}.nodes"
        listed.write_text("group main\n" + "".join(f"host {host}\n" for host in hosts), encoding="utf-8")
        try:
            for start in range(STARTS):
                done = lab("exec", hosts[0], "--", PYTHON, "-m", "charmrun.start", f"+p{len(hosts)}", "++nodelist", listed, "++remote-shell",
                           f"{case.SUMAC} lab rsh", "++quiet", EXAMPLE, "--json", "--elements", len(hosts), "--turns", TURNS, "--steps", STEPS,
                           env={**ENVIRONMENT, "SUMAC_LAB": lab.name, "HCOLL_ENABLE_SHARP": "2"}, seconds=300)
                for one in exact(done):
                    pairs.add(start, one["tree_us"] / one["charm_us"])
                    print(f"  {one['charm_us']:.0f} us by charm4py, {one['tree_us']:.0f} us by Sumac", flush=True)
        finally:
            listed.unlink()
    finally:
        lab.down()
    low, high = pairs.interval
    rows.add("charm4py-allreduce-8B-16h-500us", "Sumac / charm4py (low end)", round(low, 3), round(LIMIT, 3), ratio=round(pairs.ratio, 3), interval=[low, high])


def run(rows, short):
    why_not = missing()
    if why_not:
        print(f"skipped: {why_not}")
        sys.exit(77)
    on_this_host(rows)
    if not short:
        on_hosts(rows)


if __name__ == "__main__":
    results.end_in_order()
    results.cases(__doc__, run, "on this host only")
