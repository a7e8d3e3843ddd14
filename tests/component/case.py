"""Helpers of the component's tests: they start programs under `sumac run` on this machine, or on the hosts of a lab."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

BUILD = pathlib.Path(os.environ.get("SUMAC_BUILD", "build/dev")).resolve()
SUMAC = BUILD / "bin" / "sumac"
PROGRAMS = BUILD / "tests" / "mpi"

# This is the one line of MPI_Finalize (bindings/mpi/tally.c): its parts are separated by "; ", in the order in which
# they were done.
TALLY = re.compile(r"sumac: job \d+: (?P<parts>.*)")
TREE = re.compile(r"tree (?P<tree>\d+) of (?P<all>\d+) calls "
                  r"\(barrier (?P<barrier>\d+)/(?P<barriers>\d+), allreduce (?P<allreduce>\d+)/(?P<allreduces>\d+)\), next module (?P<next>\d+)")
NO_TREE = {"tree": 0, "barrier": 0, "allreduce": 0}  # a job that asked for no tree has no calls of one in its line
WAYS = {"shared": r"shared memory (\d+)", "leaders": r"shared memory and leaders (\d+)", "tree_others": r"(?:the tree as well|tree) (\d+) \(",
        "others": r"of the others next module (\d+)", "early": r"nonblocking before the first blocking call (\d+)",
        "closed": r"memory closed to single copy (\d+)"}


def tally_of(text):
    """Returns the counts of the only such line; None if there is none. The starter's own output may precede it on the same line."""
    lines = text.count("sumac: job ")
    if lines > 1:
        raise AssertionError(f"{lines} lines of MPI_Finalize instead of one:\n{text}")
    found = TALLY.search(text)
    if not found:
        if lines:
            raise AssertionError(f"a line of MPI_Finalize of another form:\n{text}")
        return None
    parts = found["parts"].split("; ")
    tree = next(filter(None, map(TREE.match, parts)), None)
    numbers = {name: int(value) for name, value in tree.groupdict().items()} if tree else dict(NO_TREE)
    for name, pattern in (WAYS if tree else {**WAYS, "next": r"next module (\d+)"}).items():
        more = next(filter(None, (re.match(pattern, part) for part in parts)), None)
        numbers[name] = int(more[1]) if more else 0
    numbers["begins"] = parts[0]
    return numbers


class Finished:
    def __init__(self, process):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr
        self.text = f"exit status {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"
        self.tally = tally_of(self.err)


def start(command, env=None, seconds=120):
    """Runs the command to its end, bounded; a program that hangs is a failure that says so."""
    environment = dict(os.environ)
    environment.update(env or {})
    try:
        return Finished(subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, timeout=seconds,
                                       stdin=subprocess.DEVNULL, check=False))
    except subprocess.TimeoutExpired as late:
        raise AssertionError(f"hangs: {command} still ran after {seconds} s; stderr so far:\n{late.stderr}") from late


def component_flags(enable=1, np=0):
    """Returns the usual command line, with the folder of our component before the distribution's. `np` None: its default."""
    theirs = subprocess.run(["ompi_info", "--path", "pkglibdir", "--parsable"], capture_output=True, text=True, check=True).stdout
    folder = theirs.strip().split(":")[-1]
    least = [] if np is None else ["--mca", "coll_hcoll_np", str(np)]
    return ["--mca", "mca_base_component_path", f"{BUILD}/lib/openmpi:{folder}", "--mca", "coll_hcoll_enable", str(enable), *least]


def fail_in_ci(reason):
    if os.environ.get("CI"):
        raise AssertionError(f"cannot run here, and CI demands it: {reason}")


def skip_or_fail(reason):
    """Ends the program: tests that cannot run fail if CI says that they must run, otherwise they are skipped with one line."""
    fail_in_ci(reason)
    print(f"skipped: {reason}")
    sys.exit(77)


def skip_one_or_fail(reason):
    """Does the same for one test, or one class, of a program whose others can run."""
    fail_in_ci(reason)
    raise unittest.SkipTest(reason)


TCP = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]  # the only network between the hosts of a lab
YIELD = ["--mca", "mpi_yield_when_idle", "1"]  # many ranks share few processors


class Lab:
    """The small emulated fabric of one test program: `lab("mpirun", ...)` is `sumac lab mpirun --name OURS ...`."""

    FABRIC = pathlib.Path(__file__).resolve().parents[2] / "lab" / "fabrics" / "test-4h.yaml"

    def __init__(self, prefix, fabric=FABRIC):
        self.name = f"{prefix}-{os.getpid()}"
        self.fabric = fabric

    def command(self, verb, *words):
        return [str(word) for word in (SUMAC, "lab", verb, "--name", self.name, *words)]

    def __call__(self, verb, *words, env=None, seconds=120):
        return start(self.command(verb, *words), env, seconds)

    def up(self, *words):
        done = self("up", self.fabric, *words)
        if done.code != 0:
            skip_or_fail(done.err.strip().splitlines()[-1] if done.err.strip() else "sumac lab up failed")

    def down(self):
        self("down")


class OnLab(unittest.TestCase):
    """All cases of a class use one lab, and leave it unchanged."""

    lab: Lab
    up_words: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls):
        cls.lab.up(*cls.up_words)

    @classmethod
    def tearDownClass(cls):
        cls.lab.down()


def main():
    unittest.main(verbosity=2)
