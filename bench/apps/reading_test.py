"""What programs print is read as it is meant, and results that differ are seen."""

import tempfile
import unittest
from pathlib import Path

from demolib.ways import WayFailed

from . import reading
from .apps import APPS

PRINTED = {
    "petsc-cg": ("Norm of error 5.14909e-05 iterations 497\n[0] 0.5 Event begin: KSPSolve\n[0] 0.6 \tEvent begin: MatMult\n[0] 1.25 Event end: KSPSolve\n",
                 ["Norm of error 5.14909e-05 iterations 497"], 0.75),
    "petsc-multigrid": ("Residual norm 9.89654e-05\n[0] 0.5 Event begin: KSPSolve\n[0] 2.5 Event end: KSPSolve\n", ["Residual norm 9.89654e-05"], 2.0),
    "lammps": ("     299    1.6275226   -4.7215411            0   -2.2814492    5.9072014 \n"
               "Loop time of 0.543318 on 2 procs for 300 steps with 2048 atoms\nPair    | 0.12053    | 0.24404\n",
               ["299 1.6275226 -4.7215411 0 -2.2814492 5.9072014"], 0.543318),
    "quantum-espresso": ("!    total energy              =     -15.84754593 Ry\n     PWSCF        :      0.76s CPU      3.88s WALL\n",
                         ["! total energy = -15.84754593 Ry"], 3.88),
    "cp2k": (" ENERGY| Total FORCE_EVAL ( QS ) energy [a.u.]:              -34.431225622781440\n"
             " CP2K                                 1  1.0    0.021    0.027   18.226   18.233\n",
             ["ENERGY| Total FORCE_EVAL ( QS ) energy [a.u.]: -34.431225622781440"], 18.233),
    "gromacs": ("    3.66731e+04   -3.92665e+04    1.22661e+03   -1.36683e+03    3.91235e+04\n"
                "               Core t (s)   Wall t (s)        (%)\n       Time:       11.180        5.595      199.8\n",
                ["3.66731e+04 -3.92665e+04 1.22661e+03 -1.36683e+03 3.91235e+04"], 5.595),
    "mpi4py": ("RESULT step 0 loss 131825.5827\nBITS model 0x1p+0\nSECONDS 0.0464\n", ["RESULT step 0 loss 131825.5827"], 0.0464),
}


class Reading(unittest.TestCase):
    def test_results_and_time_of_what_the_programs_of_packages_print(self):
        for app in APPS:
            if app.name in PRINTED:
                text, lines, seconds = PRINTED[app.name]
                self.assertEqual(reading.found(app.results, text, "result"), lines, app.name)
                self.assertEqual(reading.seconds(app.seconds, text, app.clock), seconds, app.name)

    def test_a_program_that_prints_nothing_failed(self):
        for read in (lambda: reading.found((r"^RESULT .*$",), "nothing\n", "result"), lambda: reading.seconds(r"^SECONDS ([\d.]+)$", "")):
            with self.assertRaises(WayFailed):
                read()

    def test_which_results_are_equal(self):
        rows = (
            ("the same", ["a 1.5"], ["a 1.5"], 0, 0, True),
            ("another number", ["a 1.5"], ["a 1.6"], 0, 0, False),
            ("the last digit of many", ["a 1.23456789"], ["a 1.23456788"], 1e-7, 0, True),
            ("more than the last digit", ["a 1.2345"], ["a 1.2355"], 1e-7, 0, False),
            ("another word", ["a 1"], ["b 1"], 1, 1, False),
            ("a line more", ["a 1", "a 2"], ["a 1"], 1, 1, False),
            ("another sign", ["a -1e-3"], ["a 1e-3"], 1e-2, 0, False),
            ("rounding alone", ["a -3e-15"], ["a 2e-16"], 0, 1e-12, True),
            ("Fortran's exponents", ["a 1.0D-3"], ["a 1.0d-3"], 0, 0, True),
            ("not a number", ["a nan"], ["a 1.0"], 1, 1, False),
        )
        for name, ours, theirs, tolerance, floor, equal in rows:
            with self.subTest(name):
                self.assertEqual(reading.difference(ours, theirs, tolerance, floor) == "", equal)

    def test_bits_come_from_a_dump_or_from_lines(self):
        by_name = {app.name: app for app in APPS}
        self.assertEqual(reading.bits(by_name["mpi4py"], "RESULT 1\nBITS a 0x1p+0\n", "."), "BITS a 0x1p+0")
        with tempfile.TemporaryDirectory() as folder:
            dump = Path(folder, by_name["lammps"].dump)
            dump.write_bytes(b"1.0")
            first = reading.bits(by_name["lammps"], "", folder)
            dump.write_bytes(b"1.1")
            self.assertNotEqual(reading.bits(by_name["lammps"], "", folder), first)
            dump.unlink()
            with self.assertRaises(WayFailed):
                reading.bits(by_name["lammps"], "", folder)


if __name__ == "__main__":
    unittest.main()
