#!/usr/bin/env python3
"""The walk of one allreduce of 8 bytes over a tree of one node, through each front end: a line for each change of CMake target, in each process.

Four ranks on two hosts of a lab, in a build with -finstrument-functions. Compares the rooms with the picture in
docs/architecture.md (--write: writes it anew) and the counts with their limits; exit status 1 if one does not hold.
"""
import argparse
import collections
import os
import pathlib
import sys
import tempfile

import records
import rooms

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- walk:begin (make walk) -->\n", "<!-- walk:end -->\n"
HAND_OVERS_MAX = 24
CALLS_BACK_MAX = 4

FABRIC = """name: walk
defaults: {delay: 100us, rate: 1Gbit/s, mtu: 9000}
switches: [s1]
hosts:
  h[1-2]: {leaf: s1}
nodes:
  an1: {switch: s1}
root: an1
manager: {switch: s1}
"""


def front_ends(build, case):
    """Returns {name: the words for mpirun, the libraries to preload, the program}."""
    python = ROOT / "build" / "python" / "bin" / "python"
    walked = build / "tests" / "walk" / "walked"
    found = {"component": (case.component_flags(), [], [walked]),
             "interposed": ([], [build / "lib" / "libsumac_mpi_openmpi.so"], [walked])}
    if (build / "python").exists() and python.exists():
        found["PyTorch"] = (["-x", f"PYTHONPATH={build / 'python'}"], [], [python, ROOT / "tests" / "walk" / "walked.py"])
    else:
        print("without PyTorch: make setup-python installs it")
    return found


def traces(build, folder):
    """Runs the program through each front end in one lab; returns {front end: the usual walk of each role}."""
    from harness import case  # reads SUMAC_BUILD when it is imported

    fabric = folder / "walk.yaml"
    fabric.write_text(FABRIC)
    rings = folder / "rings"
    rings.mkdir()
    recorder = build / "tests" / "walk" / "walk_recorder.so"
    lab = case.Lab("walk", fabric)
    lab.up(env={"LD_PRELOAD": str(recorder), "SUMAC_WALK_DIR": str(rings)})
    found = {}
    try:
        for name, (words, libraries, program) in front_ends(build, case).items():
            windows = folder / name
            windows.mkdir()
            preload = ":".join(map(str, (recorder, *libraries)))
            done = lab("mpirun", "--oversubscribe", "-n", 4, *case.TCP, *case.YIELD, *words, "--map-by", "ppr:2:node", "-x", "HCOLL_ENABLE_SHARP=4",
                       "-x", f"SUMAC_WALK_DIR={rings}", "-x", f"LD_PRELOAD={preload}", *program, windows)
            if done.code != 0:
                sys.exit(f"make walk: {name}: {done.text}")
            # The nodes' rings keep the latest calls only.
            found[name] = usual(walks_of(windows, rings))
    finally:
        lab.down()
    return found


def walks_of(folder, rings):
    """Returns {ring: the steps of each call} of all threads that worked for the calls."""
    of_ranks = [[tuple(map(int, line.split())) for line in path.read_text().splitlines()] for path in folder.glob("window.*")]
    windows = [(min(begin for begin, _ in call), max(end for _, end in call)) for call in zip(*of_ranks)]
    found = {}
    for maps in sorted(rings.glob("*.maps")):
        ring = maps.with_suffix("")
        if ring.name.startswith("sumac."):
            continue  # the lab's own switch
        events, stack = rooms.read_ring(ring)
        kept = [window for window in windows if events and events[0][0] < window[0]]  # the ring may have lost the first ones
        if not kept or events[-1][0] < kept[0][0]:
            continue
        functions = rooms.functions_of({address for _, address, _ in events} | set(stack), maps)
        calls = [rooms.plain_walk(rooms.steps_of(events, stack, functions, *window)) for window in kept]
        if all(calls):
            found[ring.name] = calls
    return found


def role_of(ring, calls):
    if ring.startswith("sharp_an."):
        return "node"
    if ring.startswith(("walked.", "python")):
        return "leader" if any(s.room == "net" for s in calls[0]) else "member"
    return ring.split(".")[0]


def usual(walks):
    """Returns {role: the walk that most of its calls took}; the others waited in another place."""
    of_roles = {}
    for ring, calls in walks.items():
        of_roles.setdefault(role_of(ring, calls), []).extend(calls)
    found = {}
    for role, calls in of_roles.items():
        most = collections.Counter(rooms.picture(steps) for steps in calls).most_common(1)[0][0]
        found[role] = next(steps for steps in calls if rooms.picture(steps) == most)
    return {role: found[role] for role in sorted(found)}


def block(walks):
    """Returns what docs/architecture.md shows; the node is the same for all front ends."""
    lines = [f"{name:11}{role:7}{rooms.picture(steps)}\n" for name, roles in walks.items() for role, steps in roles.items() if role != "node"]
    return "```\n" + "".join(lines) + f"{'':11}{'node':7}{rooms.picture(next(iter(walks.values()))['node'])}\n```\n"


def check(what, found, most):
    names = [] if isinstance(found, int) else found
    count = found if isinstance(found, int) else len(found)
    print(f"{what}: {count} (at most {most}){': ' if names else ''}{', '.join(names)}")
    return count <= most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "walk")
    parser.add_argument("--write", action="store_true", help="write the walk into docs/architecture.md")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    os.environ["SUMAC_BUILD"] = str(build)
    with tempfile.TemporaryDirectory(prefix="sumac-walk-") as temporary:
        walks = traces(build, pathlib.Path(temporary))
    for name, roles in walks.items():
        for role, steps in roles.items():
            print(f"{name}, {role}: the walk of most of 20 calls")
            for s in steps:
                arrow = "back to" if not s.is_call else "calls"
                print(f"  {s.came_from:12}{arrow:8}{s.room:12}{s.function}")
    page = PAGE.read_text(encoding="utf-8")
    before, old, after = page.partition(BEGIN)[0], page.partition(BEGIN)[2].partition(END)[0], page.partition(END)[2]
    if arguments.write:
        PAGE.write_text(before + BEGIN + block(walks) + END + after, encoding="utf-8")
        old = block(walks)
    holds = []
    for name, roles in walks.items():
        # A member of a host waits for its leader: the path of the sum is the leader's and the node's.
        path = [roles[role] for role in ("leader", "node")]
        holds += [check(f"{name}: hand-overs", sum(len(rooms.hand_overs(steps)) for steps in path), HAND_OVERS_MAX),
                  check(f"{name}: calls back", sorted({call for steps in path for call in rooms.calls_back(steps)}), CALLS_BACK_MAX)]
    holds.append(check("records of an operation", [f"{path}: {name}" for path, name, _ in records.records()], records.MOST))
    if old != block(walks):
        print(f"docs/architecture.md shows another walk: look at the difference, then make walk WRITE=1\n{old}is now\n{block(walks)}", end="")
    return 0 if all(holds) and old == block(walks) else 1


if __name__ == "__main__":
    sys.exit(main())
