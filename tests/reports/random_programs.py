#!/usr/bin/env python3
"""Programs drawn from seeds, spread over the places in which Sumac serves them: tests/mpi/requests.c and tests/mpi/lives.c with the component and
with the interposed libraries, on one host, with the tree, and (with more than 20 seeds) on the hosts of a lab and with the newer MPIs of the
package index, which are installed the first time. A seed that fails is run again
by the MPI alone: where that fails too the seed is void. Ends with 0 if no other seed failed."""

import argparse
import os
import pathlib
import sys
import time

os.environ.setdefault("SUMAC_BUILD", "build/dev")
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "pmpi"), str(HERE.parents[1] / "bench")]
from host import programs as peers  # noqa: E402  pylint: disable=wrong-import-position
import lab_test as between  # noqa: E402  pylint: disable=wrong-import-position
import mpis  # noqa: E402  pylint: disable=wrong-import-position
from mpis import case  # noqa: E402  pylint: disable=wrong-import-position

SECONDS = 240  # longer than any of them takes on a machine that is busy with other things
LAB_LEVELS = ("0", "1", "4")
MPICHS = (mpis.MPICH, mpis.MPICH5)
OPENMPI = ["mpirun.openmpi", "--oversubscribe", *case.YIELD]


class Place:
    """Where a program runs. `words` are for requests.c, `alone` for the same run by the MPI alone; `lives` says whether lives.c runs there too."""

    def __init__(self, name, run, mpi, words, alone, lives=True):
        self.name, self.run, self.mpi, self.words, self.alone, self.lives = name, run, mpi, words, alone, lives


def ranks_of(mpi, number):
    return 2 if mpi in MPICHS else 2 + number % 4  # MPICH's ranks spin where they wait.


def program_of(mpi, name):
    return mpi.compile(name, "mpicc", between.MPI_PROGRAMS / f"{name}.c", flags=["-Wno-stringop-overflow", "-pthread"])


def component(*options, after=0):
    """A communicator gets its team after so many collectives."""
    env = {**mpis.AS_ROOT, "SUMAC_TEAM_AFTER": str(after)}
    return lambda command, number: case.start([case.SUMAC, "run", *options, *OPENMPI, "-n", ranks_of(None, number), *command], env, SECONDS)


def component_in_lab(level):
    def run(command, _):
        env = {"HCOLL_ENABLE_SHARP": level, "SHARP_COLL_ENABLE_SAT": "1"}
        exported = [word for name in env for word in ("-x", name)]
        hosts = ",".join(f"{host}:1" for host in between.HOSTS)
        return between.lab("mpirun", "--host", hosts, "-n", 4, *case.TCP, *case.YIELD, *case.component_flags(), *exported, *command, env=env, seconds=SECONDS)

    return run


def interposed(mpi):
    return lambda command, number: mpi.run(ranks_of(mpi, number), *command, seconds=SECONDS)


def interposed_in_lab(settings):
    return lambda command, _: between.run(mpis.OPENMPI, *command, each=1, settings=settings, seconds=SECONDS)


def places(with_lab):
    """Open MPI crashes where a communicator or a type is freed early under what it does itself, so that is for places where it does nothing there:
    not between hosts, where types and operations that the tree has not are the MPI's."""
    made = []
    for threads in ((), ("threads",)):
        level = ", threads" if threads else ""
        mine = ("mild", *threads)
        if (case.PROGRAMS / "requests").exists():
            made += [Place(f"component{level}", component(), None, ("early", *mine), mine, lives=not threads),
                     Place(f"component, tree{level}", component("--tree"), None, ("early", "hosts", *mine), mine, lives=not threads),
                     Place(f"component, teams in mid-life{level}", component(after=7), None, mine, mine, lives=not threads)]
        for mpi in mpis.ALL + mpis.NEWER:
            careful = ("careful",) if mpi in MPICHS else ()
            alone = (*careful, *(["hosts"] if careful else []), *mine)
            made.append(Place(f"interposed, {mpi.name}{level}", interposed(mpi), mpi, ("early", *careful, *mine), alone, lives=mpi not in MPICHS and not threads))
    if mpis.MPICH in mpis.ALL:
        made.append(Place("interposed, mpich4, tree", lambda command, _: case.start([case.SUMAC, "run", "--tree", "mpiexec.mpich", "-n", 2, *command], None, SECONDS),
                          mpis.MPICH, ("careful", "hosts", "mild"), ("careful", "hosts", "mild"), lives=False))
    if with_lab:
        made += [Place(f"component, lab, level {level}", component_in_lab(level), None, ("hosts", "mild"), ("mild",)) for level in LAB_LEVELS]
        if mpis.OPENMPI in mpis.ALL:
            made += [Place(f"interposed, openmpi4, lab, {name}", interposed_in_lab(settings), mpis.OPENMPI, ("hosts", "mild"), ("mild",))
                     for name, settings in (("leaders", between.LEADERS), ("tree", between.MAY_USE_THE_TREE))]
    return made


def outcome(run, command, number):
    """Returns "" where all is right, else what was printed."""
    try:
        done = run(command, number)
    except AssertionError as hangs:
        return str(hangs)
    return "" if done.code == 0 and " right" in done.out else done.text


def by_the_mpi_alone(place, command, number):
    mpi = place.mpi or mpis.OPENMPI
    return outcome(lambda words, _: mpi.run(ranks_of(mpi, number), *words, preload="", seconds=SECONDS), command, number)


def run_seed(program, place, number):
    """Returns "right", "void" or "FAILED"."""
    path = case.PROGRAMS / program if place.mpi is None else program_of(place.mpi, program)
    base = [path, number] + ([150] if program == "requests" else [])
    words = place.words if program == "requests" else ()
    text = outcome(place.run, [*base, *words], number)
    if not text:
        return "right"
    alone = by_the_mpi_alone(place, [*base, *(place.alone if program == "requests" else ())], number)
    word = "void" if alone else "FAILED"
    print(f"{program} {number} {' '.join(words)} ({place.name}): {word}\n{text[-3000:] if not alone else alone[-600:]}", flush=True)
    return word


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="so many for each program")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--program", choices=("requests", "lives"), action="append")
    parser.add_argument("--place", default="", help="only places whose names hold this text")
    parser.add_argument("--minutes", type=float, default=60)
    args = parser.parse_args()
    if not mpis.ALL and not (case.PROGRAMS / "requests").exists():
        case.skip_or_fail("no MPI is installed")
    is_long = args.seeds > 20
    if is_long:
        for package in ("openmpi", "mpich"):
            peers.installed(package, mpis.PEERS)
        mpis.NEWER[:] = [mpi for mpi in (mpis.OPENMPI5, mpis.MPICH5) if mpi.is_here()]
    with_lab = is_long and "lab" in (args.place or "lab")
    if with_lab:
        between.lab.up()
    end, totals, left_out = time.monotonic() + 60 * args.minutes, {}, 0
    try:
        everywhere = [place for place in places(with_lab) if args.place in place.name]
        if not everywhere:
            parser.error(f"no place of this machine has {args.place!r} in its name")
        for number in range(args.first, args.first + args.seeds):
            for program in args.program or ("requests", "lives"):
                there = [place for place in everywhere if program == "requests" or place.lives]
                if not there or time.monotonic() > end:
                    left_out += 1
                    continue
                place = there[number % len(there)]
                count = totals.setdefault((program, place.name), {"right": 0, "void": 0, "FAILED": 0})
                count[run_seed(program, place, number)] += 1
    finally:
        if with_lab:
            between.lab.down()
    for (program, name), count in sorted(totals.items()):
        print(f"{program:8}  {name:34} " + "  ".join(f"{number} {word}" for word, number in count.items()))
    sums = {word: sum(count[word] for count in totals.values()) for word in ("right", "void", "FAILED")}
    print("all: " + ", ".join(f"{number} {word}" for word, number in sums.items()) + (f"; {left_out} left out, the time was over" if left_out else ""))
    return 1 if sums["FAILED"] or not sums["right"] else 0


if __name__ == "__main__":
    sys.exit(main())
