"""`sumac run mpirun ...` on one machine: unmodified programs, right results, every call at the node, nothing left behind."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import case

MPIRUN = ["mpirun", "--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])


def run_with(options, ranks, program, *args, env=None, seconds=120):
    return case.start([case.SUMAC, "run", *options, *MPIRUN, "-n", ranks, case.PROGRAMS / program, *args], env, seconds)


def run(ranks, program, *args, env=None, seconds=120):
    return run_with([], ranks, program, *args, env=env, seconds=seconds)


class OneHost(unittest.TestCase):
    def test_every_type_and_operation_is_right(self):
        done = run(4, "matrix", "quick")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("reductions right on 4 ranks", done.out)
        self.assertIsNotNone(done.tally, done.text)
        self.assertGreater(done.tally["tree"], 1000, done.text)
        # What is not for the tree (Fortran's and C's other types) is little of it.
        self.assertGreater(done.tally["tree"], 0.9 * done.tally["all"], done.text)

    def test_a_barrier_that_waits_drives_mpi(self):
        done = run(3, "isend_barrier")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("isend_barrier: passed", done.out)

    def test_more_communicators_than_groups_come_and_go(self):
        done = run(4, "churn")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("churn: 40 rounds passed", done.out)
        self.assertEqual(done.tally["next"], 0, done.text)

    def test_off_means_no_module_and_no_line(self):
        done = run(2, "churn", env={"HCOLL_ENABLE_SHARP": "0"})
        self.assertEqual(done.code, 0, done.text)
        self.assertIsNone(done.tally, done.text)

    def test_a_level_that_is_none_is_an_error_that_names_it(self):
        done = run(2, "churn", env={"HCOLL_ENABLE_SHARP": "7"})
        self.assertIn("HCOLL_ENABLE_SHARP=7: expected a whole number from 0 to 4", done.err)

    def test_variables_that_change_nothing_are_told_once(self):
        done = run(2, "churn", "3", env={"HCOLL_SHARP_NPP": "1", "HCOLL_SBGP": "p2p", "SHARP_COLL_ENABEL_SAT": "1", "SUMAC_TRANSPROT": "tcp",
                                         "SUMAC_NODE_SPIN": "0"})
        self.assertEqual(done.code, 0, done.text)
        for words in ("warning: unknown variable HCOLL_SHARP_NPP: did you mean HCOLL_SHARP_NP?", "warning: HCOLL_SBGP has no effect yet: ",
                      "unknown variable SHARP_COLL_ENABEL_SAT: did you mean SHARP_COLL_ENABLE_SAT?",
                      "unknown variable SUMAC_TRANSPROT: did you mean SUMAC_TRANSPORT?"):
            self.assertEqual(done.err.count(words), 1, f"{words}\n{done.text}")
        self.assertNotIn("SUMAC_NODE_SPIN", done.err)

    def test_a_mistyped_switch_is_told_though_it_leaves_us_off(self):
        done = run(2, "churn", "3", env={"HCOLL_ENABLE_SHARP": "", "HCOLL_ENABLE_SHRAP": "3"})
        self.assertEqual(done.code, 0, done.text)
        self.assertIsNone(done.tally, done.text)
        self.assertEqual(done.err.count("warning: unknown variable HCOLL_ENABLE_SHRAP: did you mean HCOLL_ENABLE_SHARP?"), 1, done.text)

    def test_a_program_that_is_killed_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as scratch:
            marker = pathlib.Path(scratch) / "environment"
            command = [case.SUMAC, "run", "sh", "-c", f"env > {marker}.part; mv {marker}.part {marker}; exec sleep 60"]
            child = subprocess.Popen([str(word) for word in command], stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + 30
            while not marker.exists() and time.monotonic() < deadline and child.poll() is None:
                time.sleep(0.02)
            self.assertTrue(marker.exists(), "the program did not start")
            environment = dict(line.split("=", 1) for line in marker.read_text().splitlines() if "=" in line)
            socket = pathlib.Path(environment["SHARP_COLL_SHARPD_SOCKET_NAME"])
            self.assertTrue(socket.exists())
            child.send_signal(signal.SIGINT)
            self.assertNotEqual(child.wait(timeout=30), 0)
            self.assertFalse(socket.exists(), "the socket is left")
            self.assertFalse(socket.parent.exists(), "the directory is left")


if __name__ == "__main__":
    case.main()
