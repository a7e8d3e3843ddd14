#!/usr/bin/env python3
"""The table of `make demo` and `make bench`: for each case its limit, the bare tree, Open MPI and Sumac, side by side.

Everything runs in an emulated fabric (`sumac lab`) on this machine. Within one run all columns take turns, so that drift of
the machine hits all of them; a cell is the median of the runs, and a run in which the fabric dropped a frame is void."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from demolib import cases as C  # noqa: E402
from demolib import picture, report  # noqa: E402
from demolib.lab import Lab, LabError, last_words  # noqa: E402
from demolib.stats import Results  # noqa: E402
from demolib.ways import NotBuilt, Tools, WayFailed, sumac_environment, ways  # noqa: E402

SOURCE = Path(__file__).resolve().parent.parent
START_S = 1.5  # of one mpirun in the lab, until measured


class Step:
    """One way on one fabric in one run."""

    def __init__(self, run, fabric, way, guess_s):
        self.run, self.fabric, self.way, self.guess_s = run, fabric, way, guess_s
        self.key = (fabric.name, way.column)


def plan(cases, form):
    """Steps by fabric: [(fabric, cases, [step, ...])]. The order of columns rotates from run to run."""
    out = []
    for fabric in dict.fromkeys(case.fabric for case in cases):
        own = [case for case in cases if case.fabric is fabric]
        columns = ways(own, form)
        steps = []
        for run in range(form.runs_of(own[0])):
            turn = run % len(columns)
            steps += [Step(run, fabric, way, guess_seconds(way, form)) for way in columns[turn:] + columns[:turn]]
        out.append((fabric, own, steps))
    return out


def guess_seconds(way, form):
    """For the progress line only, and only until the step has run once."""
    times = 3.5 if way.column == C.OMPI_DEFAULT else 2.4 if way.column.startswith("Open MPI") else 1.2
    total = START_S
    for case in way.cases:
        if case.collective == "hpcc":
            return 30.0
        iterations, warmup = form.small if case.size <= 64 << 10 else form.large
        total += times * case.limit / 1e3 * (iterations + warmup)
    return total


class Progress:
    """Which step is running, elapsed and what is about left."""

    def __init__(self, steps):
        self.start, self.waiting, self.seen = time.monotonic(), list(steps), {}
        self.absent = set()

    def left_s(self):
        return sum(self.seen.get(s.key, s.guess_s) for s in self.waiting if s.key not in self.absent)

    def begin(self, step):
        now = time.monotonic() - self.start
        text = f"[{clock(now)}, about {clock(self.left_s())} left] {step.fabric.name} run {step.run + 1}: {step.way.column}"
        print(f"{text:<78}", end=" ", flush=True)
        self.waiting.remove(step)
        self.began = time.monotonic()

    def done(self, step, words):
        self.seen[step.key] = time.monotonic() - self.began
        print(words, flush=True)


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def run_step(step, lab, tools, results, progress):
    """Runs one step and files its numbers: a value, a void run, a failure, or a note that it is not built."""
    progress.begin(step)
    seconds = 60 if step.way.cases[0].collective == "hpcc" else 60 + 3 * step.guess_s
    try:
        before = lab.drops()
        numbers = step.way.run(lab, tools, seconds)
        drops = lab.drops() - before
    except NotBuilt as missing:
        progress.absent.add(step.key)
        for case in step.way.cases:
            results.note(case.name, step.way.column, str(missing))
        return progress.done(step, str(missing))
    except WayFailed as failure:
        for case in step.way.cases:
            results.cell(case.name, step.way.column).failures.append(str(failure))
        return progress.done(step, f"FAILED: {failure}")
    if drops:
        for case, column in numbers:
            results.cell(case, column).void += 1
        return progress.done(step, f"void: the fabric dropped {drops} frames")
    for (case, column), value in numbers.items():
        results.cell(case, column).values.append(value)
    words = ", ".join(f"{case}: {report.number(value)}" for (case, _), value in numbers.items())
    progress.done(step, words or "passed its own checks")


def cacheline_ns(tools):
    done = subprocess.run([tools.program("cacheline")], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["cacheline_ns"] if done.returncode == 0 else None


def run_fabric(fabric, cases, steps, tools, results, progress, log_folder):
    file = SOURCE / "lab" / "fabrics" / f"{fabric.name}.yaml"
    with Lab(tools.program("sumac"), file, f"{fabric.name}-{os.getpid()}", log_folder / f"lab-{fabric.name}.log",
             bare=not tools.daemons()) as lab:
        last_run = None
        for step in steps:
            if step.run != last_run:
                last_run, ns = step.run, cacheline_ns(tools)
                for case in cases:
                    if ns is not None:
                        results.cell(case.name, "cacheline_ns").values.append(ns)
            if step.key in progress.absent:
                progress.waiting.remove(step)
                continue
            run_step(step, lab, tools, results, progress)


LOAD_BEFORE = os.getloadavg()[0]  # later it is our own ranks that spin


def machine(results):
    """The state of the machine, for beside the table."""
    lines = [ns for cells in results.cells.values() if "cacheline_ns" in cells for ns in cells["cacheline_ns"].values]
    about = f"{len(os.sched_getaffinity(0))} cores, load before {LOAD_BEFORE:.1f}"
    return about + (f", cache line to and fro {min(lines):.0f}..{max(lines):.0f} ns" if lines else "")


def choose(only):
    if not only:
        return list(C.CASES)
    wanted = only.split(",")
    unknown = [name for name in wanted if name not in {case.name for case in C.CASES}]
    if unknown:
        sys.exit(f"demo: no case '{unknown[0]}': {', '.join(case.name for case in C.CASES)}")
    return [case for case in C.CASES if case.name in wanted]


def footnotes(form, tools, started, results):
    env = " ".join(f"{name}={value}" for name, value in sumac_environment().items())
    iterations = f"{form.small[0]} iterations up to 64 KiB, {form.large[0]} at 16 MiB"
    return [
        f"ms; median of {form.runs} runs (least..most), {iterations}, columns taking turns"
        f"{f'; {form.runs_untargeted} run where no target is set' if form.runs_untargeted < form.runs else ''}.",
        f"This machine: {machine(results)}; {clock(time.monotonic() - started)} min in all.",
        "limit: links up and down x delay, or bytes on the busiest link / rate. bare: the same messages without MPI, sums or checks.",
        "best tuned: fastest of the Open MPI algorithms tried, by its number. Every result was verified; a cell with a dropped frame is void.",
        f"Sumac ran with {env}." if tools.daemons() else "Sumac's columns are empty: not built yet.",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build/dev"), help="build directory (default build/dev)")
    parser.add_argument("--out", type=Path, default=Path("build/demo.json"), help="the table goes there, as JSON and as .txt")
    parser.add_argument("--only", metavar="CASE,...", help="these cases only")
    parser.add_argument("--runs", type=int, help="runs per cell (3; --full: 5; --quick: 1)")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="one run with few iterations: a look, not a measurement")
    size.add_argument("--full", action="store_true", help="5 runs, 200 iterations, every tuned algorithm (an hour)")
    arguments = parser.parse_args()

    form = C.FULL if arguments.full else C.QUICK if arguments.quick else C.SHORT
    if arguments.runs is not None:
        if arguments.runs < 1:
            sys.exit("demo: --runs must be at least 1")
        form = C.Form(**{**form.__dict__, "runs": arguments.runs})
    cases = choose(arguments.only)
    tools, results, started = Tools(arguments.build), Results(), time.monotonic()
    for needed in ("sumac", "collbench", "baretree", "cacheline"):
        if not (tools.bin / needed).exists():
            sys.exit(f"demo: {tools.bin / needed} is missing: build it first (cmake --build {arguments.build} --target programs)")
    log_folder = arguments.out.resolve().parent
    log_folder.mkdir(parents=True, exist_ok=True)

    def stop(number, _):
        raise KeyboardInterrupt(number)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)  # as Ctrl-C: the lab goes down on the way out
    print(f"{form.name} form: {len(cases)} cases; {machine(results)}")
    fabrics = plan(cases, form)
    progress = Progress([step for _, _, steps in fabrics for step in steps])
    try:
        for fabric, own, steps in fabrics:
            run_fabric(fabric, own, steps, tools, results, progress, log_folder)
    except LabError as error:
        sys.exit(f"demo: {error}")
    except KeyboardInterrupt:
        sys.exit("demo: interrupted; the lab is down, nothing was written")

    lines = report.table(cases, results)
    notes = footnotes(form, tools, started, results)
    entries = report.rows(cases, results)
    report.write(arguments.out, entries, lines + [""] + [f"{note}  " for note in notes], picture.draw(entries))
    print("\n" + "\n".join(lines) + "\n\n" + "\n".join(notes))
    return verdicts(cases, results)


def verdicts(cases, results):
    """Prints what failed; the exit status of the whole. That a peer failed is told and is not our failure."""
    status = 0
    for case in cases:
        word, why = report.verdict(case, results)
        for column, cell in results.cells.get(case.name, {}).items():
            if cell.failures and column != "sumac":
                print(f"{case.name}: {column}: {cell.failures[0]}")
                status = status if column.startswith("Open MPI") else 1
        if word == report.FAIL or (word == report.OPEN and results.value(case.name, "sumac") is not None):
            print(f"{case.name}: must hold {case.must}: {why}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
