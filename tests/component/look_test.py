"""`sumac ps` and `sumac explain` name who keeps a job waiting (tests/mpi/hang.c), without help of its processes, which hang. SUMAC_LOOK_ROUNDS=3
does the whole three times, for 30 jobs."""

import os
import pathlib
import re
import resource
import sys
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position

MPIRUN = ["mpirun", "--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
ROUNDS = int(os.environ.get("SUMAC_LOOK_ROUNDS", "1"))
HOST = re.escape(os.uname().nodename)
WORLD = r"MPI_COMM_WORLD, 3 ranks: "
LAST = r"its last there: allreduce 8 B \(number \d+\), (at most )?[\d.]+ \w+ ago"
# For each way to hang the words that name its operation, and those behind them that name the rank.
HANGS = {
    "loop": (WORLD + r"allreduce 8 KiB \(number 18\): ranks 0-1 in it for [\d.]+ \w+", rf"rank 2 on {HOST} \(pid \d+, running\) has not begun it; {LAST}"),
    "recv": (WORLD + r"allreduce 8 KiB \(number 18\): ranks 0-1 in it for", rf"rank 2 on {HOST} \(pid \d+, \w+\) has not begun it; {LAST}"),
    "sleeps": (WORLD + r"allreduce 8 KiB \(number 18\): ranks 0-1 in it for", rf"rank 2 on {HOST} \(pid \d+, asleep\) has not begun it; {LAST}"),
    "stop": (WORLD + r"allreduce 8 KiB \(number 18\): ranks 0-1 in it for", rf"rank 2 on {HOST} \(pid \d+, stopped\) has not begun it; {LAST}"),
    "root": (WORLD + r"bcast 8 KiB \(number 18\): ranks 1-2 in it for", rf"rank 0 on {HOST} \(pid \d+, asleep\) has not begun it; {LAST}"),
    "nonblocking": (WORLD + r"allreduce 8 B, nonblocking \(number 18\): ranks 0-1 in it for", rf"rank 2 on {HOST} \(pid \d+, asleep\) has not begun it"),
    "order": (r"first, 3 ranks: allreduce 16 B \(number 2\): ranks 0-1 in it for",
              rf"rank 2 on {HOST} \(pid \d+, \w+\) has not begun it; {LAST}; it waits itself, in allreduce 16 B of second"),
    "split": (r"part, 2 ranks: barrier \(number 2\): rank 1 in it for", rf"rank 0 \(rank 2 of the job\) on {HOST} \(pid \d+, asleep\) has not begun it; {LAST}"),
    "other": (WORLD + r"allreduce 8 KiB \(number 1018\): ranks 0-1 in it for", rf"rank 2 on {HOST} \(pid \d+, running\) has not begun it; {LAST}"),
}


class Hanging:
    """A job of three ranks that hangs."""

    def __init__(self, how, env=None):
        environment = {**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1", "SUMAC_TEAM_AFTER": "0", **(env or {})}
        self.process = case.processes.start([case.SUMAC, "run", *MPIRUN, "-n", 3, case.PROGRAMS / "hang", how], env=environment,
                                            stdout=case.processes.PIPE, text=True)
        came, heard = case.processes.wait_for_line(self.process, "hang: rank 0 is")
        if not came:
            raise AssertionError(f"the job did not begin: {heard}")
        self.pid = re.search(r"rank 0 is (\d+)", heard)[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        case.processes.end(self.process, grace=30)


def explain(job):
    return case.start([case.SUMAC, "explain", job])


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Look(unittest.TestCase):
    def names(self, pid, operation, rank):
        """Asks until the job hangs where it is to hang. Returns the answer."""
        ends = time.monotonic() + 100
        while True:
            before = processor_seconds()
            done = explain(pid)
            took = processor_seconds() - before
            found = re.search(operation, done.out)
            if found and re.search(rank, done.out[found.end():]):
                break
            self.assertLess(time.monotonic(), ends, f"{operation}\n{rank}\n{done.text}")
        self.assertLess(took, 0.5, "the processor time of an answer, which takes 0.05 s beside it: the target is 1 s")
        return done

    def test_explain_names_rank_host_and_operation_of_jobs_that_hang(self):
        for _ in range(ROUNDS):
            for how, (operation, rank) in HANGS.items():
                with self.subTest(how=how), Hanging(how) as job:
                    done = self.names(job.pid, operation, rank)
                    number = re.match(r"job (\d+) of \w+: hang, 3 of 3 ranks on ", done.out)
                    self.assertTrue(number, done.text)
                    self.assertEqual(explain(number[1]).code, 0)

    def test_the_interposed_library_leaves_the_same(self):
        library = case.BUILD / "lib" / "libsumac_mpi_openmpi.so"
        self.assertTrue(library.exists(), library)
        with Hanging("loop", {"LD_PRELOAD": str(library)}) as job:
            self.names(job.pid, *HANGS["loop"])

    def test_ps_lists_the_job_and_for_whom_it_waits(self):
        with Hanging("loop") as job:
            number = re.match(r"job (\d+)", self.names(job.pid, *HANGS["loop"]).out)[1]
            done = case.start([case.SUMAC, "ps"])
            self.assertRegex(done.out, rf"(?m)^{number} +\S+ +hang +{HOST} +0-2 of 3 .*allreduce 8 KiB of MPI_COMM_WORLD waits for rank 2, ", done.text)
        gone = explain(number)
        self.assertEqual(gone.code, 1, gone.text)
        self.assertIn(f"no job {number} on this host that you may look into", gone.err, gone.text)

    @unittest.skipIf(os.geteuid() != 0, "another user's view needs root")
    def test_another_users_job_is_not_shown(self):
        with Hanging("sleeps") as job:
            number = re.match(r"job (\d+)", self.names(job.pid, *HANGS["sleeps"]).out)[1]
            other = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", case.SUMAC]
            for word in (number, job.pid):
                done = case.start([*other, "explain", word])
                self.assertEqual(done.code, 1, done.text)
                self.assertIn(f"no job {word} on this host that you may look into", done.err, done.text)
            self.assertNotIn(number, case.start([*other, "ps"]).out)

    def test_wrong_usage_is_said(self):
        for words in (["ps", "--all"], ["explain", "--all"], ["explain", "1", "2"]):
            done = case.start([case.SUMAC, *words])
            self.assertEqual(done.code, 2, done.text)
            self.assertIn("--help", done.err)


if __name__ == "__main__":
    case.main()
