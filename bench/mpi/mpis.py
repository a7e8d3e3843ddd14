"""Six MPIs: where each comes from, how a program is compiled for it, and how it is started with the interposed library and without."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from demolib.compiling import Absent
from host import plan as H
from host.programs import Mpi, clean_environment, compile_for, find_mpi, installed, mpich_variables, openmpi_command

from . import plan as P

HERE = Path(__file__).resolve().parent
AS_HOST = {P.OPENMPI4: H.OMPI4, P.OPENMPI5: H.OMPI5, P.MPICH4: H.MPICH4, P.MPICH5: H.MPICH5}  # bench-host's names for the same MPIs
LIBRARIES = {P.OPENMPI4: "openmpi", P.OPENMPI5: "openmpi", P.MPICH4: "mpich", P.MPICH5: "mpich", P.ABI: "abi", P.IMPI: "mpich"}


@dataclass(frozen=True)
class Found:
    """An MPI of this machine. `key` is that of its compiled programs: Intel MPI runs MPICH 5's."""

    name: str
    mpi: Mpi
    key: str
    variables: dict = field(default_factory=dict)

    def start(self, ranks, options, settings):
        """Returns (words in front of the program, environment). `settings` are variables that only the ranks get: their launcher must
        not load a library of ours."""
        environment = {**clean_environment(), **self.variables}
        if self.mpi.family == "openmpi":
            argv = openmpi_command(self.mpi, ranks, options)
        else:
            argv, environment = [self.mpi.launcher, "-n", str(ranks)], {**environment, **mpich_variables(options)}
        if settings:
            argv = [*argv, "env", *(f"{name}={value}" for name, value in settings.items())]
        return argv, environment


def find(name, folder):
    """Returns the Found MPI, installed below `folder` if it is one of the package index; raises Absent with the reason."""
    if name in AS_HOST:
        return Found(name, find_mpi(AS_HOST[name], folder), AS_HOST[name])
    mpich5 = find_mpi(H.MPICH5, folder)
    if name == P.ABI:
        return Found(name, replace(mpich5, compiler=Path(mpich5.compiler).with_name("mpicc_abi")), P.ABI)
    place = installed("impi", folder, HERE)
    # Its launcher would bind each rank to a core before the program can do it itself.
    variables = {"LD_LIBRARY_PATH": str(place / "lib"), "I_MPI_PIN": "0"}
    return Found(name, replace(mpich5, launcher=place / "bin/mpiexec"), AS_HOST[P.MPICH5], variables)


def library(name, build):
    """Returns the interposed library for an MPI; raises Absent if this build has none."""
    path = Path(build).resolve() / "lib" / f"libsumac_mpi_{LIBRARIES[name]}.so"
    if not path.exists():
        raise Absent(f"{path} is not built")
    return path


def hostbench(found, folder):
    return compile_for(found.key, found.mpi.compiler, "bench/host/world_mpi.c", folder / "programs")


class Program:
    """A column: hostbench of one MPI, with these settings."""

    def __init__(self, label, found, program, settings):
        self.label, self.found, self.program, self.settings = label, found, program, settings

    def command(self, ranks, options):
        argv, environment = self.found.start(ranks, options, self.settings)
        return [*argv, self.program], environment


def programs(name, found, folder, build, before=None):
    """Returns {column: Program} of one MPI: without Sumac, with it, with the library loaded but switched off, and with that of the build
    folder `before` if there is one."""
    program, loaded = hostbench(found, folder), {"LD_PRELOAD": library(name, build)}
    label = P.LABELS[name]
    columns = {name: Program(label, found, program, {}), P.with_sumac(name): Program(f"Sumac on {label}", found, program, loaded),
               P.off(name): Program(f"Sumac, off, on {label}", found, program, {**loaded, "SUMAC_ENABLE": "0"})}
    if before:
        columns[P.before(name)] = Program(f"before on {label}", found, program, {"LD_PRELOAD": library(name, before)})
    return columns
