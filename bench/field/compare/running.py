"""Runs the two sides in turns: one process group for each run, which ends with this script, also if that is killed."""

import collections
import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time

from core.clock import clock
from core.pairs import take_turns
from core import tally

SIDE_NAMES = {"sumac": "with Sumac", "mpi": "without"}


class Failed(Exception):
    """A run that gives no numbers. `status` is this program's exit status."""

    def __init__(self, text, status):
        super().__init__(text)
        self.status = status


def give_up(stream):
    """What Python still holds for a broken stream goes to /dev/null: at the exit it would fail again."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def say(text, end="\n"):
    """Prints to stderr. One that is closed or full ends no measurement."""
    try:
        print(text, end=end, file=sys.stderr, flush=True)
    except OSError:
        give_up(sys.stderr)


def complaint(text, status):
    say(f"sumac bench: {text}")
    return status


def end_with_parent():
    """Runs in the child: if this script is killed outright, `sumac` gets a SIGTERM and takes its program along."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def by_table(rows):
    """Returns the rows as {(benchmark, ranks, bytes): row}. Sizes grow within a table, so one that does not grow begins another. A benchmark's
    second table with as many ranks (`Bcast Bcast`) gets a name of its own, bcast-2."""
    found, tables, last = {}, collections.Counter(), None
    for row in rows:
        table = (row["benchmark"], row["ranks"])
        if last is None or table != last[0] or row["bytes"] <= last[1]:
            tables[table] += 1
        last = (table, row["bytes"])
        name = row["benchmark"] if tables[table] == 1 else f"{row['benchmark']}-{tables[table]}"
        found[name, row["ranks"], row["bytes"]] = {**row, "benchmark": name}
    return found


class Run:
    """What one run printed: its rows, Sumac's last line, and all that came on stderr."""

    def __init__(self, out, err):
        self.rows = by_table(json.loads(line) for line in out.splitlines() if line.startswith('{"benchmark"'))
        found = tally.read(err)
        # A line without a part says that no collective was called.
        self.last_line, self.own_lines = found.text if found and found.parts else "", err


def end(process):
    """Asks the run to end, and waits until it has."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=20)
    except ProcessLookupError:
        pass
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def environment_of(side):
    """SUMAC_ENABLE is what tells the sides apart, so the user's own setting counts for neither."""
    kept = {name: value for name, value in os.environ.items() if name != "SUMAC_ENABLE"}
    return {**kept, "SUMAC_ENABLE": "0"} if side == "mpi" else {**kept, "SUMAC_LAST_LINE": "1"}


def run(side, command):
    process = subprocess.Popen(command, env=environment_of(side), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               errors="replace", start_new_session=True, preexec_fn=end_with_parent)
    try:
        out, err = process.communicate()
    except BaseException:
        end(process)
        raise
    if process.returncode != 0:
        say(err, end="")
        raise Failed(f"the run {SIDE_NAMES[side]} ended with status {process.returncode}; its own lines stand above", process.returncode if process.returncode > 0 else 1)
    done = Run(out, err)
    if not done.rows:
        say(err, end="")
        raise Failed(f"the run {SIDE_NAMES[side]} printed no row: is the largest size too small, or the memory limit (-M, -mem)?", 1)
    return done


class Progress:
    """One line on stderr for each pair."""

    def __init__(self, pairs):
        self.pairs, self.begin = pairs, time.monotonic()

    def __call__(self, done):
        spent = time.monotonic() - self.begin
        left = spent / done * (self.pairs - done)
        if sys.stderr.isatty():
            say(f"\rpair {done} of {self.pairs}, {clock(left)} left ", end="\n" if done == self.pairs else "")
        else:
            say(f"sumac bench: pair {done} of {self.pairs}, {clock(left)} left")


def show_that_it_stood_aside(done):
    """Says so at the first pair, so that nobody need wait for all of them."""
    say(done.own_lines, end="" if done.own_lines.endswith("\n") or not done.own_lines else "\n")
    above = "its own lines stand above" if done.own_lines.strip() else "it printed nothing"
    say(f"sumac bench: the run with Sumac has no last line of Sumac, so both sides may be the MPI alone; {above}, "
        "and `SUMAC_EXPLAIN=1 sumac bench ...` prints why")


def measure(sides, pairs):
    """Returns [(run without, run with)] in the order of the pairs; the first to run alternates."""
    progress, measured, has_shown = Progress(pairs), [], False
    for pair in take_turns(pairs, lambda: run("mpi", sides["mpi"]), lambda: run("sumac", sides["sumac"])):
        measured.append(pair)
        if not pair[1].last_line and not has_shown:
            show_that_it_stood_aside(pair[1])
            has_shown = True
        progress(len(measured))
    return measured
