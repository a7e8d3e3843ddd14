"""The MPIs that Debian has, and two of PyPI where `make bench-mpi` has installed them: how a program is compiled for each, how it is started, and
which of our libraries serves it."""

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = case.BUILD / "tests" / "pmpi"
HOST_CASES = [ROOT / "tests" / "host" / f"{name}.cpp" for name in ("calls", "cases", "communicators", "exercise", "layout", "plain", "scenario", "values")]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}


@dataclasses.dataclass(frozen=True)
class Mpi:
    name: str
    suffix: str  # Debian's programs end in it: mpicc.openmpi
    library: pathlib.Path
    start: tuple  # the launcher and its usual words
    folder: pathlib.Path | None = None  # None: it is Debian's

    def compiler(self, language):
        return str(self.folder / "bin" / language) if self.folder else f"{language}.{self.suffix}"

    def is_here(self):
        return self.library.exists() and shutil.which(self.compiler("mpicc")) and shutil.which(self.start[0])

    def compile(self, program, language, *sources, flags=(), libraries=(), compiler=None):
        """Compiles a program if one of its sources is newer, by another C compiler than the wrapper's if one is named. Returns its path."""
        made = FOLDER / self.name / program
        made.parent.mkdir(parents=True, exist_ok=True)
        if not made.exists() or any(made.stat().st_mtime < pathlib.Path(source).stat().st_mtime for source in sources):
            command = [self.compiler(language), "-O1", *flags, "-o", made, *sources, *libraries]
            other = {} if compiler is None else {"OMPI_CC": compiler, "MPICH_CC": compiler}
            subprocess.run([str(word) for word in command], check=True, cwd=ROOT, env={**os.environ, **other})
        return made

    def host_cases(self):
        if self.folder is None:  # The build has them for Debian's MPIs.
            return case.BUILD / "tests" / "host" / ("host-cases-mpich" if self is MPICH else "host-cases")
        return self.compile("host-cases", "mpicxx", *HOST_CASES,
                            flags=["-std=c++20", "-I", ROOT, "-I", ROOT / "src", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"],
                            libraries=[case.BUILD / "src" / "base" / "libsumac_base.a", "-lfmt"])

    def run(self, ranks, program, *args, env=None, preload=None, seconds=120, words=()):
        """Starts the program with our library, or with `preload` instead; returns case.Finished."""
        # The first collective of a communicator makes its team: most tests are about teams.
        clean = {name: "" for name in os.environ if name.startswith(("HCOLL_", "SUMAC_SHM_", "SUMAC_TEAM_", "HWLOC_"))}
        loaded = {"LD_PRELOAD": str(self.library) if preload is None else preload}
        return case.start([*self.start, *words, "-n", ranks, program, *args], {**clean, **AS_ROOT, "SUMAC_TUNING_FILE": "none", "SUMAC_TEAM_AFTER": "0", **loaded, **(env or {})}, seconds)


OPENMPI = Mpi("openmpi4", "openmpi", case.BUILD / "lib" / "libsumac_mpi_openmpi.so",
              ("mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"))
MPICH = Mpi("mpich4", "mpich", case.BUILD / "lib" / "libsumac_mpi_mpich.so", ("mpiexec.mpich",))
ALL = [mpi for mpi in (OPENMPI, MPICH) if mpi.is_here()]

PEERS = ROOT / "build" / "host-peers"
OPENMPI5 = Mpi("openmpi5", "", OPENMPI.library, (str(PEERS / "openmpi/bin/mpirun"), *OPENMPI.start[1:]), PEERS / "openmpi")
MPICH5 = Mpi("mpich5", "", MPICH.library, (str(PEERS / "mpich/bin/mpiexec"),), PEERS / "mpich")
NEWER = [mpi for mpi in (OPENMPI5, MPICH5) if mpi.is_here()]
