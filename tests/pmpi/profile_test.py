#!/usr/bin/env python3
"""SUMAC_PROFILE and SUMAC_TRACE with the interposed libraries: what they count is what the program itself counts (tests/mpi/counted.c)."""

import pathlib
import tempfile
import unittest

import mpis
from demolib import profile  # mpis knows where

COUNTED = mpis.ROOT / "tests" / "mpi" / "counted.c"


class Profile(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)

    def both(self):
        return {"SUMAC_PROFILE": "2", "SUMAC_TRACE": str(self.folder)}

    def run_counted(self, mpi, ranks, *args, **env):
        done = mpi.run(ranks, mpi.compile("counted", "mpicc", COUNTED), *args, env=env)
        self.assertEqual(done.code, 0, done.text)
        return done

    def test_profile_and_traces_are_the_programs_own_count(self):
        self.assertTrue(mpis.ALL, "no MPI is installed for which a library was built")
        for mpi in mpis.ALL:
            for ranks in (2, 3):
                with self.subTest(mpi=mpi.name, ranks=ranks):
                    done = self.run_counted(mpi, ranks, **self.both())
                    self.assertEqual(profile.compare(done.out, done.err, self.folder, ranks), [], done.text)
                    ways = {row.way for row in profile.read(done.err).rows}
                    self.assertEqual(ways, {"shared memory", "MPI", "no data"}, done.text)

    def test_without_them_nothing_is_printed(self):
        for mpi in mpis.ALL:
            for env in ({}, {**self.both(), "SUMAC_ENABLE": "0"}):
                done = self.run_counted(mpi, 2, **env)
                self.assertIsNone(profile.read(done.err), done.text)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_another_profiling_library_changes_no_count(self):
        for mpi in mpis.ALL:
            tool = mpi.compile("tool.so", "mpicc", pathlib.Path(__file__).with_name("tool.c"), flags=["-shared", "-fPIC"])
            for preload in (f"{tool}:{mpi.library}", f"{mpi.library}:{tool}"):
                with self.subTest(mpi=mpi.name, preload=preload):
                    done = mpi.run(2, mpi.compile("counted", "mpicc", COUNTED), env=self.both(), preload=preload)
                    self.assertEqual(profile.compare(done.out, done.err, self.folder, 2), [], done.text)

    def test_a_folder_that_cannot_be_written_is_named_and_the_job_goes_on(self):
        wrong = self.folder / "file"
        wrong.write_text("", encoding="utf-8")
        for mpi in mpis.ALL:
            done = self.run_counted(mpi, 2, SUMAC_TRACE=str(wrong))
            self.assertRegex(done.err, rf"SUMAC_TRACE={wrong}: 2 of 2 ranks wrote no trace; this one cannot write {wrong}/sumac-trace-0.json: Not a directory")

    def test_an_illegal_value_is_named(self):
        for mpi in mpis.ALL:
            done = self.run_counted(mpi, 2, SUMAC_PROFILE="3")
            self.assertEqual(done.err.count("SUMAC_PROFILE=3: expected 0, 1 or 2"), 1, done.text)

    def test_ranks_that_do_not_all_ask_for_a_profile_run_without_us(self):
        if mpis.OPENMPI not in mpis.ALL:
            mpis.case.skip_one_or_fail("Open MPI is not installed")
        program = mpis.OPENMPI.compile("counted", "mpicc", COUNTED)
        done = mpis.OPENMPI.run(1, program, ":", "-n", 1, "-x", "SUMAC_PROFILE=1", program)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("sumac: off: rank 1 has other settings (SUMAC_*, HCOLL_*) than rank 0", done.err, done.text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
