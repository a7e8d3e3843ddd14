#!/usr/bin/env python3
"""Correct MPI programs that once hung, crashed or got wrong numbers (tests/mpi/defects.c), the lives of communicators drawn from seeds
(tests/mpi/lives.c), and corners of MPI's rules (tests/mpi/corners.c) run on one host, with leaders of sockets, with the tree, and on the
hosts of a lab. Any fault of a run counts as a failure. A sanitizer's build runs on one host and with leaders of sockets, with 20 seeds;
the sanitizer's reports count as well (make asan-component)."""

import os
import pathlib
import re
import sys

import common

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import reports  # noqa: E402  pylint: disable=wrong-import-position

case = common.case
# Programs and their arguments.
CASES = {"uneven": ["defects", "uneven"], "holes": ["defects", "holes"], "orders": ["defects", "orders"], "idup": ["defects", "idup"],
         "inter": ["defects", "inter"], "corners": ["corners"]}
OF_LEADERS = ("uneven", "holes", "corners")
# The machine is invented: the last of its four sockets has one rank if the number of ranks is odd.
SOCKETS = {"HWLOC_SYNTHETIC": "package:4 core:2 pu:1", "HCOLL_SBGP": "basesmsocket,p2p", "HCOLL_BCOL": "basesmuma,ucx_p2p"}
HOSTS = ("h1:2,h2:1,h3:1,h4:1", "h1:2,h2:2,h3:2,h4:2", "h1:1,h2:3,h3:1", "h1:3,h2:3,h3:3,h4:2", "h1:1,h2:1")
MPIRUN = ["mpirun", "--oversubscribe", *case.YIELD, *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]
SANITIZED = not re.search(r"^SUMAC_SANITIZE:\w+=$", (case.BUILD / "CMakeCache.txt").read_text(encoding="utf-8"), re.MULTILINE)
SECONDS = 120  # limit of one run: it guards against a hang


def on_one_host(words, number, options=(), env=None):
    ranks = 2 + number % 10
    program = [case.PROGRAMS / words[0], *words[1:]]
    if SANITIZED:
        return case.start([*MPIRUN, *case.component_flags(), "-n", ranks, *program], env, SECONDS)
    return case.start([case.SUMAC, "run", *options, *MPIRUN, "-n", ranks, *program], env, SECONDS)


def with_the_tree(words, number):
    return on_one_host(words, number % 4, ["--tree"])


def with_leaders_of_sockets(words, number):
    return on_one_host(words, 1 + number % 6 if number % 2 else 5, env=SOCKETS)


def in_lab(lab, level):
    def run(words, number):
        hosts = HOSTS[number % len(HOSTS)]
        ranks = sum(int(host.split(":")[1]) for host in hosts.split(","))
        env = {"HCOLL_ENABLE_SHARP": level, "SHARP_COLL_ENABLE_SAT": "1"}
        exported = [word for name in env for word in ("-x", name)]
        return lab("mpirun", "-n", ranks, "--oversubscribe", "-H", hosts, *case.TCP, *case.YIELD, *case.component_flags(), *exported,
                   case.PROGRAMS / words[0], *words[1:], env=env, seconds=SECONDS)

    return run


def failures(run, words, numbers):
    failed = 0
    for number in numbers:
        own = [*words, str(number)] if words[0] == "lives" else words
        try:
            done = run(own, number)
            text = "" if done.code == 0 else done.text
        except AssertionError as hangs:
            text = str(hangs)
        if text:
            failed += 1
            print(f"{' '.join(own)} (run {number}): {text[:2000]}", flush=True)
    return failed


def attack(rows, args):
    if not (case.PROGRAMS / "lives").exists():
        case.skip_or_fail("the programs of tests/mpi were not built (install libopenmpi-dev)")
    places = {"one host": on_one_host, "leaders of sockets": with_leaders_of_sockets}
    runs, seeds = (20, 200) if args.long else (1, 1)
    if SANITIZED:
        folder = case.BUILD / "reports"
        os.environ.update(reports.environment(folder, whole_stacks=True))
        runs, seeds = 2, 20
    lab = None
    if args.long and not SANITIZED:
        lab = case.Lab("guard-defects")
        lab.up()
        places["tree"] = with_the_tree
        for level in ("0", "1", "4"):
            places[f"lab, level {level}"] = in_lab(lab, level)
    try:
        for place, run in places.items():
            for name, words in CASES.items():
                if runs > 1 or (run == with_leaders_of_sockets) == (name in OF_LEADERS):
                    rows.add(f"defects: {name}, {place}", f"failures of {runs}", failures(run, words, range(5, 5 + runs)), 0)
            rows.add(f"defects: lives, {place}", f"failures of {seeds}", failures(run, ["lives"], range(1, 1 + seeds)), 0)
    finally:
        if lab:
            lab.down()
    if SANITIZED:
        rows.add("defects: reports of sanitizers", "reports", reports.tell(folder), 0)


common.main(attack, __doc__)
