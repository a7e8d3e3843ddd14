"""A program that never asked for Sumac and finds the component, as it does once a package is installed: it sees nothing of it, until a
variable asks."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position

MPIRUN = ["mpirun", "--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
FOUND = ["--mca", "opal_mca_base_component_path", f"{case.BUILD}/lib/openmpi:SYSTEM_DEFAULT"]
ASKS = ("SUMAC_", "HCOLL_", "OMPI_MCA_coll_hcoll_")
ONCE = case.PROGRAMS / "once"


class Quiet(unittest.TestCase):
    def setUp(self):
        # The tests themselves have a variable that would ask.
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        for name in before:
            if name.startswith(ASKS):
                del os.environ[name]

    def run_mpi(self, *words, env=None):
        done = case.start([*MPIRUN, *FOUND, *words], env)
        self.assertEqual(done.code, 0, done.text)
        return done

    def test_who_did_not_ask_sees_nothing(self):
        self.assertEqual(self.run_mpi("-n", 3, ONCE).err, "")

    def test_and_yet_the_collectives_go_through_shared_memory(self):
        done = self.run_mpi("-n", 3, ONCE, env={"SUMAC_LAST_LINE": "1"})
        self.assertGreater(done.tally["shared"], 0, done.text)

    def test_asking_in_any_way_brings_the_last_line_and_a_variable_takes_it_away(self):
        for words, env in ((["--mca", "coll_hcoll_np", 2], {}), ([], {"HCOLL_SHARP_NP": "2"}), ([], {"SUMAC_ENABLE": "1"})):
            with self.subTest(words=words, env=env):
                self.assertIsNotNone(self.run_mpi(*words, "-n", 2, ONCE, env=env).tally)
                self.assertEqual(self.run_mpi(*words, "-n", 2, ONCE, env={**env, "SUMAC_LAST_LINE": "0"}).err, "")

    def test_rank_0_decides_for_ranks_with_other_variables(self):
        ask = ["-x", "SUMAC_LAST_LINE=1"]
        self.assertIsNotNone(self.run_mpi("-n", 1, *ask, ONCE, ":", "-n", 2, ONCE).tally)
        self.assertEqual(self.run_mpi("-n", 1, ONCE, ":", "-n", 2, *ask, ONCE).err, "")

    def test_warnings_are_for_who_asked(self):
        with tempfile.TemporaryDirectory() as home:
            file = pathlib.Path(home) / ".config/sumac/tuning.json"
            file.parent.mkdir(parents=True)
            file.write_text("no tuning file")
            env = {"HOME": home, "XDG_CONFIG_HOME": f"{home}/.config"}
            self.assertEqual(self.run_mpi("-n", 2, ONCE, env=env).err, "")
            self.assertIn("tuning.json", self.run_mpi("-n", 2, ONCE, env={**env, "SUMAC_LAST_LINE": "0"}).err)


case.main()
