"""The run itself: which column comes when, progress, what goes void, and the state of the machine meanwhile."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from core import before, verdict
from core.cases import chosen
from core.cells import Results
from core.clock import clock, end_as_by_ctrl_c
from core.pairs import median
from core.stolen import Stolen, Watch
from core.table import number

from . import cases as C
from . import report
from .lab import Lab, LabError
from .ways import NotBuilt, WayFailed

SOURCE = Path(__file__).resolve().parents[2]
START_S = 1.5  # one mpirun in the lab takes so long, until it is measured
CLOSE = 1.1  # a tuned algorithm this near to the best one stays in the race


class Step:
    """One way on one fabric in one run."""

    def __init__(self, run, fabric, way, guess_s):
        self.run, self.fabric, self.way, self.guess_s = run, fabric, way, guess_s
        self.key = (fabric.name, way.column, tuple(case.name for case in way.cases))


def plan(cases, form, ways):
    """Steps by group: [(fabric, cases, [step, ...])]; a group is a fabric's cases that are started together. The order of
    columns rotates from run to run. A way may say how many runs it takes part in (`runs`)."""
    out = []
    for fabric, group in dict.fromkeys((case.fabric, case.group) for case in cases):
        own = [case for case in cases if case.fabric is fabric and case.group == group]
        columns = ways(own, form)
        steps = []
        for run in range(form.runs_of(own[0])):
            turn = run % len(columns)
            steps += [Step(run, fabric, way, guess_seconds(way, form)) for way in columns[turn:] + columns[:turn]
                      if run < getattr(way, "runs", run + 1)]
        out.append((fabric, own, steps))
    return out


def guess_seconds(way, form):
    """For the progress line only, and only until the step has run once."""
    if hasattr(way, "guess_s"):
        return way.guess_s
    times = 3.5 if way.column in (C.OMPI_DEFAULT, C.MPICH) else 2.4 if way.column.startswith("Open MPI") else 1.2
    total = START_S + way.cases[0].fabric.hosts / 8
    for case in way.cases:
        if case.collective == "hpcc":
            return 30.0
        iterations, warmup = case.iterations_of(form)
        total += times * (case.limit or 200.0) / 1e3 * (iterations + warmup)
    return total


class Progress:
    """Which step is running, elapsed and what is about left."""

    def __init__(self, steps):
        self.start, self.waiting, self.seen = time.monotonic(), list(steps), {}
        self.absent = set()

    def elapsed_s(self):
        return time.monotonic() - self.start

    def left_s(self):
        return sum(self.seen.get(s.key, s.guess_s) for s in self.waiting if s.key not in self.absent)

    def begin(self, step):
        text = f"[{clock(self.elapsed_s())}, about {clock(self.left_s())} left] {step.fabric.name} run {step.run + 1}: {step.way.column}"
        print(f"{text:<78}", end=" ", flush=True)
        self.waiting.remove(step)
        self.began = time.monotonic()

    def done(self, step, words):
        self.seen[step.key] = time.monotonic() - self.began
        print(words, flush=True)


def run_step(step, lab, tools, results, progress):
    """Runs one step and files its numbers: a value (or several, of a way that takes turns with another), a void run, a failure, or a
    note that it is not built."""
    progress.begin(step)
    seconds = 60 if step.way.cases[0].collective == "hpcc" else 60 + 3 * step.guess_s
    try:
        dropped = lab.drops()
        numbers = step.way.run(lab, tools, seconds)
        drops = lab.drops() - dropped
    except NotBuilt as missing:
        progress.absent.add(step.key)
        for case in step.way.cases:
            results.note(case.name, step.way.column, str(missing))
        return progress.done(step, str(missing))
    except WayFailed as failure:
        for case in step.way.cases:
            results.cell(case.name, step.way.column).failures.append(str(failure))
        return progress.done(step, f"FAILED: {failure}")
    void = f"the fabric dropped {drops} frames" if drops else getattr(step.way, "void", None)
    if void:
        for case, column in numbers:
            results.cell(case, column).void += 1
        return progress.done(step, f"void: {void}")
    for (case, column), value in numbers.items():
        results.cell(case, column).values += value if isinstance(value, list) else [value]
    for (case, column), ratios in getattr(step.way, "ratios", {}).items():
        for ratio in ratios:
            results.pair(case, column).add(step.run, ratio)
    for (case, column), why in getattr(step.way, "failures", {}).items():
        results.cell(case, column).failures.append(why)
    for (case, column), words in getattr(step.way, "notes", {}).items():
        results.note(case, column, words)
    units = {case.name: case.unit for case in step.way.cases}
    several = len({column for _, column in numbers}) > 1
    words = ", ".join(f"{case}{f' {column}' if several or column == 'before' else ''}: "
                      f"{number(median(value) if isinstance(value, list) else value, units.get(case, 'ms'))}"
                      for (case, column), value in numbers.items())
    progress.done(step, words or ("no time" if getattr(step.way, "failures", {}) else "passed its own checks"))


def is_out_of_the_race(step, results):
    """After the first run, whether all of a tuned way's columns are clearly behind the best one."""
    way = step.way
    if step.run == 0 or not getattr(way, "races", False):
        return False
    for case in way.cases:
        best, own = report.best_tuned(results, case.name), results.value(case.name, way.peers(case.collective))
        if own is not None and own <= CLOSE * results.value(case.name, best):
            return False
    return True


ENOUGH_RUNS = 3


def is_too_late(step, progress, budget_s, enough=ENOUGH_RUNS):
    """Where all of it would take longer than it may, cells have at least `enough` runs, and not all that they would have."""
    return budget_s is not None and step.run >= enough and progress.elapsed_s() + progress.left_s() > budget_s


def cacheline_ns(tools):
    done = subprocess.run([tools.program("cacheline")], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["cacheline_ns"] if done.returncode == 0 else None


class NoLab:
    """Replaces a lab for cases without a network: nothing can be dropped."""

    before = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def drops(self):
        return 0


def bring_up(fabric, tools, log_folder, suffix="", share=None):
    if fabric.root is None:
        return NoLab()
    file = fabric.file or SOURCE / "lab" / "fabrics" / f"{fabric.name}.yaml"
    return Lab(tools.program("sumac"), file, f"{fabric.name}-{os.getpid()}{suffix}", log_folder / f"lab-{fabric.name}{suffix}.log",
               bare=not tools.daemons(), share=share)


def run_group(fabric, cases, steps, tools, results, progress, log_folder, budget_s=None, enough=ENOUGH_RUNS):
    with contextlib.ExitStack() as stack:
        lab = stack.enter_context(bring_up(fabric, tools, log_folder))
        if tools is not None and tools.before is not None:
            lab.before = stack.enter_context(bring_up(fabric, tools.before, log_folder, "-before", tools.bin))
        last_run, late, late_run = None, False, None
        for step in steps:
            if step.run != late_run:  # all columns of a run, or none: else the median of one would be of other moments
                late_run, late = step.run, is_too_late(step, progress, budget_s, enough)
            if late:
                progress.waiting.remove(step)
                results.left_out += 1
                continue
            if step.run != last_run:
                last_run, ns = step.run, cacheline_ns(tools)
                for case in cases:
                    if ns is not None:
                        results.cell(case.name, "cacheline_ns").values.append(ns)
            if step.key in progress.absent or is_out_of_the_race(step, results):
                progress.waiting.remove(step)
                continue
            run_step(step, lab, tools, results, progress)


LOAD_BEFORE = os.getloadavg()[0]  # later it is our own ranks that spin
STOLEN = Stolen()


def machine(results):
    """The state of the machine, for beside the table."""
    lines = [ns for cells in results.cells.values() if "cacheline_ns" in cells for ns in cells["cacheline_ns"].values]
    about = f"{len(os.sched_getaffinity(0))} cores, load before {LOAD_BEFORE:.1f}"
    about += f", cache line to and fro {min(lines):.0f}..{max(lines):.0f} ns" if lines else ""
    taken = STOLEN.words()
    return about + (f", {taken}" if taken else "")


def new_results(cases):
    results = Results()
    results.rates = {case.name for case in cases if case.bare_share}
    return results


def measure_groups(cases, form, ways, tools, log_folder, results, budget_s=None, enough=ENOUGH_RUNS):
    """Files all numbers into `results`. Raises LabError if a lab does not come up."""
    log_folder.mkdir(parents=True, exist_ok=True)
    groups = plan(cases, form, ways)
    progress = Progress([step for _, _, steps in groups for step in steps])
    for fabric, own, steps in groups:
        watch = Watch()
        run_group(fabric, own, steps, tools, results, progress, log_folder, budget_s, enough)
        results.busy[fabric.name] = watch.words()


def measure(program, cases, form, ways, tools, log_folder, keeps=False, budget_s=None, enough=ENOUGH_RUNS, results=None):
    """Everything, with progress; leaves the program with one line if the lab does not come up or somebody interrupts. With `keeps`
    what was measured until then is given back instead, marked `interrupted`. `results` of earlier runs of the same cases get more numbers."""
    end_as_by_ctrl_c()
    results = results or new_results(cases)
    print(f"{form.name} form: {len(cases)} cases; {machine(results)}")
    try:
        measure_groups(cases, form, ways, tools, log_folder, results, budget_s, enough)
    except LabError as error:
        sys.exit(f"{program}: {error}")
    except KeyboardInterrupt:
        if not keeps or not results.any():
            sys.exit(f"{program}: interrupted; the lab is down, nothing was written")
        results.interrupted = True
        print(f"\n{program}: interrupted; the lab is down, what was measured until now is written", file=sys.stderr)
    return results


def need(program, tools, build, names, target="programs"):
    for name in names:
        if not (tools.bin / name).exists():
            sys.exit(f"{program}: {tools.bin / name} is missing: build it first (cmake --build {build} --target {target})")


def choose(program, only, known):
    """Returns the cases named in `only`; ends the program with one line if a word of it names none."""
    try:
        names = chosen(only, [case.name for case in known])
    except ValueError as wrong:
        sys.exit(f"{program}: {wrong}")
    return [case for case in known if case.name in names]


def complete(cases, results):
    """Prints which results were wrong and which column did not run, a peer's too; the exit status of a program that judges no time."""
    status = 0
    for case in cases:
        cells, notes = results.cells.get(case.name, {}), results.notes.get(case.name, {})
        for column, cell in cells.items():
            if cell.failures:
                print(f"{case.name}: {column}: {cell.failures[0]}")
                status = 1
        for column in (C.OMPI_DEFAULT, "sumac") if case.unit == "ms" else ("sumac",):
            cell = cells.get(column)
            if results.value(case.name, column) is None and not (cell and cell.failures):
                why = "the fabric dropped frames in every run" if cell and cell.void else notes.get(column, "not started")
                print(f"{case.name}: {column}: no time: {why}")
                status = 1
    return status


def verdicts(entries):
    """Prints the cases that do not hold, and the state of the machine; returns the exit status."""
    status = verdict.complain(entries, lambda column: column.startswith((*C.PEERS, before.COLUMN)))
    if status and (taken := STOLEN.words()):
        print(f"This machine had {taken}: what does not hold may do so when nobody else needs it. Then run it again.")
    return status
