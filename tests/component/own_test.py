"""Reductions with a program's own operations and types (tests/mpi/own.c, own.f90) on this machine: by shared memory where the order of ranks is
kept, by the leaders where it does not matter, else by Open MPI, counted."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position

MPIRUN = ["mpirun", "--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
TWO_SOCKETS = {"HWLOC_SYNTHETIC": "package:2 core:2 pu:1"}


def run(ranks, program, *args, options=(), env=None):
    # Open MPI's own part shares the processors too, and the first collective of a communicator makes its team.
    settings = {"OMPI_MCA_mpi_yield_when_idle": "1", "SUMAC_TEAM_AFTER": "0"}
    return case.start([case.SUMAC, "run", *options, *MPIRUN, "-n", ranks, case.PROGRAMS / program, *args], {**settings, **(env or {})})


class OwnOperations(unittest.TestCase):
    def test_reductions_with_a_programs_own_operations_and_types(self):
        for ranks in (2, 3, 5, 8):
            done = run(ranks, "own")
            self.assertEqual(done.code, 0, done.text)
            self.assertIn(f"own: 696 right on {ranks} ranks", done.out)
            self.assertIn("shared memory 698 (barrier 2, allreduce 240, reduce 228, reduce_scatter_block 228)", done.err, done.text)
            self.assertEqual((done.tally["next"], done.tally["others"]), (0, 0), done.text)

    def test_own_operations_that_do_not_commute_are_left_to_mpi_where_a_team_has_several_levels(self):
        done = run(4, "own", "tame", env=TWO_SOCKETS)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("own: 396 right on 4 ranks", done.out)
        self.assertRegex(done.err, r"shared memory \d+ \(barrier 2, allreduce 70, reduce 69, reduce_scatter_block 66\b")
        self.assertRegex(done.err, r"; next module 153 \(allreduce 50, reduce 51, reduce_scatter_block 52: 153 with a user's operation or type\)")
        # All ranks at once keep the order.
        done = run(4, "own", env={**TWO_SOCKETS, "SUMAC_TEAM_LEVELS": "never"})
        self.assertIn("own: 696 right on 4 ranks", done.out, done.text)
        self.assertEqual((done.tally["next"], done.tally["others"]), (0, 0), done.text)

    def test_elements_too_large_for_shared_memory_are_left_to_mpi(self):
        done = run(3, "own", "large", "tame")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("own: 66 right on 3 ranks", done.out)
        self.assertIn("50 with a user's operation or type", done.err, done.text)

    def test_own_operations_beside_a_thread_that_moves_what_is_posted(self):
        done = run(3, "own", env={"SUMAC_PROGRESS_THREAD": "1"})
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("own: 696 right on 3 ranks", done.out)
        self.assertEqual((done.tally["next"], done.tally["others"]), (0, 0), done.text)

    def test_own_operations_with_the_tree_and_with_leaders(self):
        done = run(4, "own", "tame", options=["--tree"])
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("own: 396 right on 4 ranks", done.out)
        done = run(4, "own", "tame", env={**TWO_SOCKETS, "HCOLL_SBGP": "basesmsocket,p2p", "HCOLL_BCOL": "basesmuma,ucx_p2p"})
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("own: 396 right on 4 ranks", done.out)
        self.assertGreater(done.tally["leaders"], 100, done.text)

    def test_own_operations_in_fortran(self):
        if shutil.which("mpifort") is None:
            case.skip_one_or_fail("no mpifort (install gfortran and libopenmpi-dev)")
        folder = case.PROGRAMS / "fortran"
        folder.mkdir(parents=True, exist_ok=True)
        source = pathlib.Path(__file__).resolve().parents[1] / "mpi" / "own.f90"
        subprocess.run(["mpifort", "-J", folder, source, "-o", folder / "own"], check=True)
        for ranks in (2, 5):
            done = run(ranks, "fortran/own")
            self.assertEqual(done.code, 0, done.text)
            self.assertIn(f"own_fortran: right on {ranks} ranks", done.out)
            self.assertIn("shared memory 2 (allreduce 2)", done.err, done.text)


if __name__ == "__main__":
    case.main()
