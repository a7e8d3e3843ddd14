"""The cases that count failures: mpi4py's own tests and host-cases, for each MPI with the interposed library and without it.

A failure that happens without Sumac too is the MPI's own. mpi4py's tests run in parts, each without Sumac and with it. The modules of a part
that does not come to its end run one by one, so that a module that hangs hides no other. A case of host-cases that fails with Sumac is
repeated alone without it."""

import math
import os
import re
import subprocess
import sys

from core import table as T
from core import verdict as V
from core.tally import read as read_tally
from demolib.compiling import SOURCE, Absent, compile_once
from demolib.lab import start as start_process

from . import mpis, plan as P

sys.path.insert(0, str(SOURCE / "tests" / "host"))
import mpi4py_suite  # noqa: E402  pylint: disable=wrong-import-position

SUITE, HOST_CASES = "suite", "host-cases"
RANKS = (1, 2, 3, 4)
SILENT_S = 45  # Each test has a line, and the longest takes 8 s. Ranks that share a core take as many times as long.
CASES_LIMIT_S = 400
CASES_PART = 500
PATIENCE_S = 20  # A case that takes longer hangs.
FAILURES_MAX = 20  # After so many failures the rest of an MPI's host-cases is left out.
CASE = re.compile(r"case (?P<seed>0x[0-9a-f]+) \(number (?P<number>\d+)\)")
# Each pair is (ranks, cases). The other MPIs spin where there are more ranks than cores, so they get two ranks.
CASES = {P.OPENMPI4: ((2, 8000), (3, 6000), (4, 6000))}
CASES_OTHERS = ((2, 2000),)
CASES_SOURCES = [f"tests/host/{name}.cpp" for name in ("cases", "calls", "communicators", "exercise", "layout", "plain", "scenario", "values")]
CASES_HEADERS = [f"tests/host/{name}.hpp" for name in ("calls", "communicators", "exercise", "layout", "plain", "scenario", "values")] + [
    "src/base/random.hpp", "src/coll/collective.hpp"]
CASES_FLAGS = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", f"-I{SOURCE}", f"-I{SOURCE}/src"]


def cases(mpis_wanted):
    """Returns the names of the cases."""
    return [f"{what}-{mpi}" for what in (SUITE, HOST_CASES) for mpi in mpis_wanted]


class Tally:
    """The failures of one case, by column, and the number of tests."""

    def __init__(self):
        self.failed = {"mpi": set(), "sumac": set()}
        self.count = {"mpi": 0, "sumac": 0}
        self.left_out = []  # parts for which there was no time

    @property
    def ours(self):
        return sorted(self.failed["sumac"] - self.failed["mpi"])


class Suites:
    def __init__(self, found, build, folder, clock):
        self.found, self.build, self.folder, self.clock = found, build, folder, clock

    def case(self, name):
        """Runs a case; returns its entry."""
        what, mpi = next((what, name[len(what) + 1:]) for what in (HOST_CASES, SUITE) if name.startswith(what + "-"))
        tally = Tally()
        try:
            {SUITE: self.suite, HOST_CASES: self.host_cases}[what](self.found[mpi], tally)
        except Absent as why:
            return entry(name, mpi, tally, V.OPEN, str(why))
        return entry(name, mpi, tally, *judged(tally))

    def settings(self, found, column):
        return {"LD_PRELOAD": mpis.library(found.name, self.build)} if column == "sumac" else {}

    def has_time(self, tally, part):
        if self.clock.over():
            tally.left_out.append(part)
        return not self.clock.over()

    def suite(self, found, tally):
        # The compiler's optimiser takes minutes for the generated source, and no time counts in these tests.
        variables = {"MPICC": str(found.mpi.compiler), "CFLAGS": "-O0"}
        python, tests = mpi4py_suite.install(self.folder / f"mpi4py-{found.key}", variables)
        for ranks in RANKS:
            for number, modules in enumerate(mpi4py_suite.modules_of(tests), 1):
                part = f"{ranks} ranks, piece {number}"
                if not self.has_time(tally, part):
                    continue
                self.part(found, (python, tests), modules, ranks, part, tally)
                told(f"{SUITE}-{found.name}: {part}", tally)

    def part(self, found, installed, modules, ranks, part, tally):
        """Runs the modules of a part together, and one by one where that does not come to its end."""
        if not self.together(found, installed, modules, ranks, part, tally):
            for module in modules:
                self.together(found, installed, [module], ranks, f"{part}, {module}", tally)

    def together(self, found, installed, modules, ranks, part, tally):
        """Runs modules without Sumac and with it. Returns False where a run of several does not come to its end; then nothing of it counts.
        A single module that does not end without Sumac is not tried with it."""
        silent_s = SILENT_S * max(1, math.ceil(ranks / len(os.sched_getaffinity(0))))
        failures, counts = {}, {}
        for column in ("mpi", "sumac"):
            launcher, environment = found.start(ranks, {"yield": ranks > 2}, self.settings(found, column))
            environment["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
            failed, count, text = mpi4py_suite.run_by(launcher, environment, *installed, modules, ranks, silent_s)
            (self.folder / f"suite-{found.name}-{column}-{part.replace(', ', '-').replace(' ', '-')}.log").write_text(text, encoding="utf-8")
            if count == 0 and len(modules) > 1:
                return False
            if column == "sumac" and count > 0 and ranks > 1 and not read_tally(text):
                failed.add("no line of Sumac: was the library loaded?")
            failures[column], counts[column] = failed, count
            if count == 0 and column == "mpi":
                break
        for column, failed in failures.items():
            tally.failed[column] |= {f"{part}: {one}" for one in failed}
            tally.count[column] += counts[column]
        return True

    def host_cases(self, found, tally):
        program = compile_once(f"host-cases-{found.key}", found.mpi.compiler, CASES_SOURCES, CASES_HEADERS, self.folder / "programs",
                               CASES_FLAGS, ("-lfmt", "-lstdc++", "-lm"))
        for ranks, count in CASES.get(found.name, CASES_OTHERS):
            for seed in range(1, 1 + count // CASES_PART):
                part = f"{ranks} ranks, seed {seed}"
                if len(tally.failed["sumac"]) >= FAILURES_MAX:
                    tally.left_out.append(f"{part}, after {FAILURES_MAX} failures")
                elif self.has_time(tally, part):
                    self.cases_part(found, ranks, [program, "--not-alone", "--patience", PATIENCE_S], seed, tally)
                    told(f"{HOST_CASES}-{found.name}: {part}", tally)

    def cases_part(self, found, ranks, words, seed, tally):
        """Runs some cases with Sumac, each that fails also without it, and goes on behind it."""
        first = 0
        while first < CASES_PART and len(tally.failed["sumac"]) < FAILURES_MAX:
            part = ["--seed", seed, "--cases", CASES_PART, "--from", first]
            why = self.one_run(found, ranks, "sumac", [*words, *part])
            case = CASE.search(why)
            if not why:
                tally.count["sumac"] += CASES_PART - first
                return
            name = f"{ranks} ranks, case {case['seed']}" if case else f"{ranks} ranks, seed {seed} from {first}"
            tally.failed["sumac"].add(name)
            alone = self.one_run(found, ranks, "mpi", [*words, *(["--case", case["seed"]] if case else part)])
            tally.count["mpi"] += 1
            if alone:
                tally.failed["mpi"].add(name)
            print(f"{HOST_CASES}-{found.name}: {'also without Sumac' if alone else 'ONLY WITH SUMAC'}: {name}: {why}", flush=True)
            if case is None:
                tally.left_out.append(f"{name}: ended without naming a case")
                return
            tally.count["sumac"] += int(case["number"]) + 1 - first
            first = int(case["number"]) + 1

    def one_run(self, found, ranks, column, words):
        """Returns "" if the program succeeds; the reason otherwise."""
        launcher, environment = found.start(ranks, {"yield": ranks > 2}, self.settings(found, column))
        argv = [str(word) for word in [*launcher, *words]]
        with start_process(argv, env=environment, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           start_new_session=True) as process:
            try:
                text, _ = process.communicate(timeout=CASES_LIMIT_S)
            except subprocess.TimeoutExpired:
                return f"hangs, still there after {CASES_LIMIT_S} s: {mpi4py_suite.end(process)[-300:]}"
            except KeyboardInterrupt:
                mpi4py_suite.end(process)
                raise
        if process.returncode == 0 and "right, seed" in text:
            return ""
        own = [line.strip() for line in text.splitlines() if line.lstrip().startswith(("host-cases:", "case "))]
        return f"exit status {process.returncode}: " + ("; ".join(own[:2]) or text[-300:].strip())


def told(text, tally):
    print(f"{text}: {tally.count['sumac']} with Sumac, {len(tally.failed['sumac'])} failed; {tally.count['mpi']} without, "
          f"{len(tally.failed['mpi'])} failed", flush=True)


def judged(tally):
    if tally.ours:
        return V.FAIL, f"{len(tally.ours)} fail only with Sumac: {tally.ours[0]}"
    if tally.left_out:
        return V.OPEN, f"no time for {len(tally.left_out)} parts, first {tally.left_out[0]}"
    if not tally.count["sumac"]:
        return V.OPEN, "no test ran"
    return V.PASS, f"{tally.count['sumac']} tests"


def entry(name, mpi, tally, word, why):
    ran = tally.count["sumac"] > 0
    return T.entry(name, "failures", len(tally.failed["sumac"]) if ran else None, {P.LABELS[mpi]: len(tally.failed["mpi"]) if ran else None}, None,
                   None, **V.keys(word, why, "0 more failures than without"), tests=dict(tally.count), only_with_sumac=tally.ours,
                   also_without=sorted(tally.failed["sumac"] & tally.failed["mpi"]), failures={})
