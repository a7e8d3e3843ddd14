"""How tests start programs: they start programs under `sumac run` on this machine, or on the hosts of a lab."""

import concurrent.futures
import functools
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from core import tally  # noqa: E402  pylint: disable=wrong-import-position

from . import processes  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import  # for those who import case

BUILD = pathlib.Path(os.environ.get("SUMAC_BUILD", "build/dev")).resolve()
SUMAC = BUILD / "bin" / "sumac"
PROGRAMS = BUILD / "tests" / "mpi"

def tally_of(text):
    """Returns the counts of the only line of MPI_Finalize; None if there is none. The starter's own output may precede it on the same line.

    What programs without a tree do is in `shared`, `leaders` and `next`. With a tree `next` and `tree` count barriers and allreduces, and
    `others` and `tree_others` the other collectives."""
    lines = len(re.findall(r"sumac: (?:job \d+|without a tree|collectives): ", text))
    if lines > 1:
        raise AssertionError(f"{lines} lines of MPI_Finalize instead of one:\n{text}")
    found = tally.read(text)
    if not found:
        if lines:
            raise AssertionError(f"a line of MPI_Finalize of another form:\n{text}")
        return None

    def sums(name):
        return sum(found.part(name).kinds.get(kind, 0) for kind in ("barrier", "allreduce"))

    by_tree, left = found.part("tree"), found.part("next module")
    sums_left = sums("next module") if "tree" in found.parts else left.count
    return {"begins": found.text.split(": ", 2)[-1], "tree": sums("tree"), "tree_others": by_tree.count - sums("tree"),
            "barrier": by_tree.kinds.get("barrier", 0), "allreduce": by_tree.kinds.get("allreduce", 0), "barriers": found.calls("barrier"),
            "allreduces": found.calls("allreduce"), "all": found.calls("barrier", "allreduce"), "shared": found.part("shared memory").count,
            "leaders": found.part("shared memory and leaders").count, "next": sums_left, "others": left.count - sums_left,
            "closed": found.part("memory closed to single copy").count}


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


@functools.cache
def openmpi_folder():
    theirs = subprocess.run(["ompi_info", "--path", "pkglibdir", "--parsable"], capture_output=True, text=True, check=True).stdout
    return theirs.strip().split(":")[-1]


@functools.cache
def openmpi_series():
    """Returns "4.1" or "5.0", of the machine's Open MPI."""
    said = subprocess.run(["ompi_info", "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"v(\d+\.\d+)\.", said)[1]


def component_flags(enable=1, np=0):
    """Returns the usual command line, with the folder of our component before the distribution's. `np` None: its default."""
    least = [] if np is None else ["--mca", "coll_hcoll_np", str(np)]
    # PMIx in the mpirun of Open MPI 5 reads mca_base_component_path too, and finds none of its own there; by this name Open MPI alone does.
    return ["--mca", "opal_mca_base_component_path", f"{BUILD}/lib/openmpi:{openmpi_folder()}", "--mca", "coll_hcoll_enable", str(enable), *least]


def side_by_side(test, cases, at_once=3):
    """Runs the cases, {name: function}, so many at a time, each as a subtest: a program that is started mostly waits."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        started = {name: pool.submit(function) for name, function in cases.items()}
    for name, one in started.items():
        with test.subTest(name):
            one.result()


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
PML_UCX = ["--mca", "pml", "ucx"]
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

    def up(self, *words, env=None):
        # A test that is ended takes its lab down, since its `finally` runs then.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        done = self("up", self.fabric, *words, env=env)
        if done.code != 0:
            skip_or_fail(done.err.strip().splitlines()[-1] if done.err.strip() else "sumac lab up failed")

    def down(self):
        self("down")


class OnLab(unittest.TestCase):
    """All cases of a class use one lab, and leave it unchanged."""

    lab: Lab
    up_words: tuple[str, ...] = ()
    up_env: dict[str, str] | None = None

    @classmethod
    def setUpClass(cls):
        cls.lab.up(*cls.up_words, env=cls.up_env)

    @classmethod
    def tearDownClass(cls):
        cls.lab.down()


def main():
    unittest.main(verbosity=2)
