"""The table of programs is complete, and says what must hold."""

import re
import unittest
from pathlib import Path

from . import inputs
from .apps import APPS, LEAST
from .cases import CASES
from .programs import Compiled, Script

HERE = Path(__file__).parent
MUST = {"petsc-cg": 2.1, "petsc-pipecg": 3.3, "petsc-multigrid": 1.5, "lammps": 1.45, "quantum-espresso": 1.3, "slepc": 1.5, "scalapack": 1.05,
        "mumps": 1.05, "fftw": 1.05}


class Cases(unittest.TestCase):
    def test_what_must_hold_among_hosts_and_everywhere_else(self):
        for case in CASES:
            wanted = MUST.get(case.app.name, LEAST) if case.place.name == "16h-500us" else LEAST
            self.assertEqual(case.least, wanted, case.name)

    def test_each_program_runs_with_2_and_4_ranks_and_among_16_hosts(self):
        for app in APPS:
            places = {case.place.name for case in CASES if case.app is app}
            self.assertLessEqual({"2r", "4r", "16h-500us"}, places, app.name)
        self.assertTrue(any(case.place.name == "16h-5ms" for case in CASES))

    def test_each_place_has_all_words_of_the_command(self):
        own = {"folder": "/f", "backend": "gloo", "where": "lab"}
        for case in CASES:
            for word in case.app.words:
                self.assertNotIn("{", str(word).format(**case.app.size(case.place.name), **own), case.name)

    def test_input_files_get_all_their_numbers(self):
        for app in APPS:
            name = next((word for word in app.words if (HERE / "inputs" / word).is_file() and not word.startswith("/")), None)
            if name and app.prepare not in (None, inputs.water):
                wanted = set(re.findall(r"@(\w+)@", (HERE / "inputs" / name).read_text()))
                for size in app.sizes.values():
                    self.assertEqual(set(size), wanted, name)

    def test_no_program_or_input_is_left_over(self):
        used = {f"{app.program.name}.c" for app in APPS if isinstance(app.program, Compiled) and not app.program.source}
        listed = re.search(r"set\(SUMAC_APPS_PROGRAMS (.*)\)", (HERE / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual({*used, "result.h"}, set(listed.split()))
        used |= {app.program.name for app in APPS if isinstance(app.program, Script)} | {"result.h"}
        self.assertEqual(used, {file.name for file in (HERE / "programs").iterdir() if file.is_file()})
        words = " ".join(str(word) for app in APPS for word in app.words) + Path(inputs.__file__).read_text()
        for file in (HERE / "inputs").iterdir():
            self.assertIn(file.name, words)

    def test_words_of_a_preparation_may_be_numbers(self):
        inputs.in_folder(HERE, ["test", 2, "-eq", 2], "test")

    def test_the_squarest_cut_of_a_plane(self):
        self.assertEqual([inputs.squarest(ranks) for ranks in (2, 4, 6, 16)], [(2, 1), (2, 2), (3, 2), (4, 4)])


if __name__ == "__main__":
    unittest.main()
