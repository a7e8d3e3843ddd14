import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from demolib.compiling import Absent
from host.programs import Mpi
from mpi import mpis, plan as P

OPENMPI5 = mpis.Found(P.OPENMPI5, Mpi("/peers/openmpi/bin/mpicc", "/peers/openmpi/bin/mpirun", "openmpi", "5"), "ompi5")
IMPI = mpis.Found(P.IMPI, Mpi("/peers/mpich/bin/mpicc", "/peers/impi/bin/mpiexec", "mpich", "5"), "mpich5", {"LD_LIBRARY_PATH": "/peers/impi/lib"})


class Starting(unittest.TestCase):
    def test_only_the_ranks_get_the_library(self):
        for found in (OPENMPI5, IMPI):
            argv, environment = found.start(2, {}, {"LD_PRELOAD": "/lib/sumac.so", "SUMAC_ENABLE": "0"})
            self.assertEqual(argv[-3:], ["env", "LD_PRELOAD=/lib/sumac.so", "SUMAC_ENABLE=0"])
            self.assertNotIn("SUMAC_ENABLE", environment)
            self.assertNotIn("env", found.start(2, {}, {})[0])

    def test_open_mpi_is_told_to_yield_or_not_and_the_others_have_their_own_variables(self):
        for yields in (False, True):
            argv, _ = OPENMPI5.start(8, {"yield": yields}, {})
            self.assertEqual(argv[argv.index("mpi_yield_when_idle") + 1], str(int(yields)))
        argv, environment = IMPI.start(8, {"yield": True}, {})
        self.assertEqual((argv, environment["LD_LIBRARY_PATH"]), (["/peers/impi/bin/mpiexec", "-n", "8"], "/peers/impi/lib"))
        self.assertEqual(environment["MPIR_CVAR_POLLS_BEFORE_YIELD"], "1")

    def test_what_another_launcher_left_in_the_environment_does_not_reach_it(self):
        with mock.patch.dict(os.environ, {"PMI_RANK": "3", "OMPI_COMM_WORLD_RANK": "3"}):
            self.assertFalse({"PMI_RANK", "OMPI_COMM_WORLD_RANK"} & IMPI.start(2, {}, {})[1].keys())

    def test_every_mpi_has_the_library_of_its_abi_and_without_it_a_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            build = Path(folder)
            (build / "lib").mkdir()
            (build / "lib" / "libsumac_mpi_mpich.so").touch()
            for name in (P.MPICH4, P.MPICH5, P.IMPI):
                self.assertEqual(mpis.library(name, build).name, "libsumac_mpi_mpich.so")
            for name, abi in ((P.OPENMPI4, "openmpi"), (P.OPENMPI5, "openmpi"), (P.ABI, "abi")):
                with self.assertRaisesRegex(Absent, f"libsumac_mpi_{abi}.so is not built"):
                    mpis.library(name, build)

    def test_intel_mpi_is_pinned_by_its_hash(self):
        lines = (mpis.HERE / "requirements-impi.txt").read_text(encoding="utf-8").splitlines()
        self.assertRegex(lines[-1], r"^impi-rt==[\d.]+ --hash=sha256:[0-9a-f]{64}$")


if __name__ == "__main__":
    unittest.main()
