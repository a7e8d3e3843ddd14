"""Intel's own IMB-MPI1 (PyPI's impi-rt) under Debian's MPICH, which has the same binary interface, with Sumac's interposed library: the columns of
the published lines, and its calls in the line of MPI_Finalize. Run by `make pasted`, since it downloads 129 MB once."""

import pathlib
import shutil
import subprocess
import sys
import unittest
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "component"))
import case  # noqa: E402
import texts  # noqa: E402

FOLDER = case.BUILD.parent / "impi-rt"
REQUIREMENTS = HERE / "requirements-impi.txt"
LIBRARY = case.BUILD / "lib" / "libsumac_mpi_mpich.so"
LAUNCHER = shutil.which("mpiexec.mpich")


def mpich_library():
    """Returns the path of libmpich.so.12 as the loader finds it."""
    done = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True)
    found = [line.split(" => ")[1] for line in done.stdout.splitlines() if line.strip().startswith("libmpich.so.12 ")]
    return found[0] if found else None


def download():
    """Fetches the package, checks its hash, and unpacks the one program. Returns the program."""
    program = FOLDER / "IMB-MPI1"
    if program.exists():
        return program
    FOLDER.mkdir(parents=True, exist_ok=True)
    print(f"impi-rt: downloading 129 MB into {FOLDER}", flush=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "-r", REQUIREMENTS, "-d", FOLDER], check=True)
    (wheel,) = FOLDER.glob("impi_rt-*.whl")
    with zipfile.ZipFile(wheel) as package:
        (name,) = (name for name in package.namelist() if name.endswith("/bin/IMB-MPI1"))
        partial = FOLDER / "IMB-MPI1.part"
        partial.write_bytes(package.read(name))
    partial.chmod(0o755)
    partial.rename(program)
    wheel.unlink()
    return program


class Imb(unittest.TestCase):
    def run_imb(self, *settings):
        """The loader finds MPICH under the name that Intel's MPI has."""
        program = download()
        libraries = FOLDER / "mpich"
        libraries.mkdir(exist_ok=True)
        link = libraries / "libmpi.so.12"
        link.unlink(missing_ok=True)
        link.symlink_to(mpich_library())
        done = case.start([LAUNCHER, "-n", "8", "env", f"LD_PRELOAD={LIBRARY}", *settings, program, "Barrier", "-npmin", "4", "-iter", "20"],
                          {"LD_LIBRARY_PATH": str(libraries)}, seconds=240)
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
    for name, is_missing in (("libsumac_mpi_mpich.so (install libmpich-dev, build again)", not LIBRARY.exists()),
                             ("mpiexec.mpich (install mpich)", LAUNCHER is None), ("libmpich.so.12 (install libmpich12)", mpich_library() is None)):
        if is_missing:
            case.skip_or_fail(f"there is no {name}")
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
