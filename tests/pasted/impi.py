"""Intel's own benchmarks (PyPI's impi-rt) under Debian's MPICH, which has the same binary interface."""

import pathlib
import shutil
import subprocess
import sys
import zipfile

REQUIREMENTS = pathlib.Path(__file__).resolve().parent / "requirements-impi.txt"
PROGRAMS = ("IMB-MPI1", "IMB-NBC")
LAUNCHER = shutil.which("mpiexec.mpich")


def mpich_library():
    """Returns the path of libmpich.so.12 as the loader finds it."""
    done = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True)
    found = [line.split(" => ")[1] for line in done.stdout.splitlines() if line.strip().startswith("libmpich.so.12 ")]
    return found[0] if found else None


def missing():
    """Returns what this machine lacks, or nothing."""
    if LAUNCHER is None:
        return "mpiexec.mpich (install mpich)"
    return None if mpich_library() else "libmpich.so.12 (install libmpich12)"


def program(folder, name):
    """Returns the path of one of PROGRAMS. The first call fetches the package, checks its hash, and unpacks them."""
    if not all((folder / each).exists() for each in PROGRAMS):
        folder.mkdir(parents=True, exist_ok=True)
        print(f"impi-rt: downloading 129 MB into {folder}", flush=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "-r", REQUIREMENTS, "-d", folder], check=True)
        (wheel,) = folder.glob("impi_rt-*.whl")
        with zipfile.ZipFile(wheel) as package:
            for each in PROGRAMS:
                (inside,) = (path for path in package.namelist() if path.endswith(f"/bin/{each}"))
                partial = folder / f"{each}.part"
                partial.write_bytes(package.read(inside))
                partial.chmod(0o755)
                partial.rename(folder / each)
        wheel.unlink()
    return folder / name


def variables(folder):
    """Returns the environment in which the loader finds MPICH under the name that Intel's MPI has."""
    libraries = folder / "mpich"
    libraries.mkdir(parents=True, exist_ok=True)
    link = libraries / "libmpi.so.12"
    link.unlink(missing_ok=True)
    link.symlink_to(mpich_library())
    return {"LD_LIBRARY_PATH": str(libraries)}
