"""Runs the two sides in turns: one process group for each run, which ends with this script, also if that is killed."""

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time

from core.clock import clock
from core.pairs import take_turns

LAST_LINE = re.compile(r"^sumac: .*\d.*$", re.MULTILINE)
SIDE_NAMES = {"sumac": "with Sumac", "mpi": "without"}


class Failed(Exception):
    """A run that gives no numbers. `status` is this program's exit status."""

    def __init__(self, text, status):
        super().__init__(text)
        self.status = status


def complaint(text, status):
    print(f"sumac bench: {text}", file=sys.stderr)
    return status


def end_with_parent():
    """Runs in the child: if this script is killed outright, `sumac` gets a SIGTERM and takes its program along."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


class Run:
    """What one run printed: its rows as {(benchmark, ranks, bytes): row}, and Sumac's last line."""

    def __init__(self, out, err):
        rows = [json.loads(line) for line in out.splitlines() if line.startswith('{"benchmark"')]
        self.rows = {(row["benchmark"], row["ranks"], row["bytes"]): row for row in rows}
        found = LAST_LINE.findall(err)
        self.last_line = found[-1] if found else ""


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


def run(side, command):
    environment = {**os.environ, "SUMAC_LAST_LINE": "1"}
    if side == "mpi":
        environment = {**os.environ, "SUMAC_ENABLE": "0"}
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               errors="replace", start_new_session=True, preexec_fn=end_with_parent)
    try:
        out, err = process.communicate()
    except BaseException:
        end(process)
        raise
    if process.returncode != 0:
        sys.stderr.write(err)
        raise Failed(f"the run {SIDE_NAMES[side]} ended with status {process.returncode}; its own lines stand above", process.returncode if process.returncode > 0 else 1)
    done = Run(out, err)
    if not done.rows:
        sys.stderr.write(err)
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
            print(f"\rpair {done} of {self.pairs}, {clock(left)} left ", end="\n" if done == self.pairs else "", file=sys.stderr, flush=True)
        else:
            print(f"sumac bench: pair {done} of {self.pairs}, {clock(left)} left", file=sys.stderr, flush=True)


def measure(sides, pairs):
    """Returns [(run without, run with)] in the order of the pairs; the first to run alternates."""
    progress, measured = Progress(pairs), []
    for pair in take_turns(pairs, lambda: run("mpi", sides["mpi"]), lambda: run("sumac", sides["sumac"])):
        measured.append(pair)
        progress(len(measured))
    return measured
