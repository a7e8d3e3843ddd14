"""Intel's own IMB-MPI1 (PyPI's impi-rt) under Debian's MPICH, which has the same binary interface, with Sumac's interposed library: the columns of
the published lines, and its calls in the line of MPI_Finalize. Run by `make pasted`, since it downloads 129 MB once."""

import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from harness import case  # noqa: E402
import impi  # noqa: E402
import texts  # noqa: E402

FOLDER = case.BUILD.parent / "impi-rt"
LIBRARY = case.BUILD / "lib" / "libsumac_mpi_mpich.so"


class Imb(unittest.TestCase):
    def run_imb(self, *settings):
        done = case.start([impi.LAUNCHER, "-n", "8", "env", f"LD_PRELOAD={LIBRARY}", *settings, impi.program(FOLDER, "IMB-MPI1"), "Barrier", "-npmin", "4",
                           "-iter", "20"], impi.variables(FOLDER), seconds=240)
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(texts.imb_processes(done.out), [(4, 4), (8, 0)], done.text)
        return case.tally.read(done.err)

    def test_its_barriers_are_counted(self):
        tally = self.run_imb()
        self.assertIsNotNone(tally)
        self.assertGreaterEqual(tally.part("shared memory").kinds.get("barrier", 0), 40, tally.text)

    def test_switched_off_it_prints_the_same_columns(self):
        self.assertIsNone(self.run_imb("SUMAC_ENABLE=0"))


if __name__ == "__main__":
    if not LIBRARY.exists():
        case.skip_or_fail("there is no libsumac_mpi_mpich.so (install libmpich-dev, build again)")
    if impi.missing():
        case.skip_or_fail(f"there is no {impi.missing()}")
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
