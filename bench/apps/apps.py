"""The table of programs: how each is started, how its results and its own time are read, and what must hold."""

from dataclasses import dataclass, field

from . import inputs
from .programs import Compiled, Installed, Script, tutorial

LAB = "16h-500us"
LEAST = 0.98  # Time without Sumac by time with Sumac, where nothing else is said.
HOST = "host"  # the sizes of the places on one host

RESULT, SECONDS, BITS = (r"^RESULT .*$",), r"^SECONDS ([\d.]+)$", r"^BITS .*$"
KSP_CLOCK = r"^\[0\] ([\d.e+-]+) +Event (?:begin|end): KSPSolve$"  # -log_trace writes these lines, and sends no message for them.


@dataclass(frozen=True)
class App:
    name: str
    what: str
    program: object
    words: tuple  # {word} stands for a number of the size
    sizes: dict  # {place, or HOST for those on one host: {word: number}}
    results: tuple = RESULT  # patterns of the lines that are compared
    seconds: str = SECONDS  # pattern of the program's own time; "": the time between start and end
    clock: bool = False  # The pattern finds times of day, and the last less the first one is the program's own time.
    reads: str = ""  # a file of the program's that is read beside what it prints
    dump: str = ""  # a file whose bits are compared
    bits: str = ""  # or else the lines that show them
    bits_words: tuple = ()  # more words for the program where bits are compared
    tolerance: float = 0.0  # Numbers may differ by this part of them.
    floor: float = 0.0  # numbers below this are rounding and nothing else
    prepare: object = None
    variables: dict = field(default_factory=dict)
    must: dict = field(default_factory=dict)  # {place: least ratio}
    torch: bool = False  # The backend of torch.distributed changes, not the MPI.

    def size(self, place):
        """Returns the size for a place; None if the program is not run there."""
        return self.sizes.get(place, self.sizes.get(HOST) if place.endswith("r") else None)

    @property
    def shows_bits(self):
        return bool(self.dump or self.bits)

    def least(self, place):
        return self.must.get(place, LEAST)


def petsc(name, what, source, words, sizes, must, tolerance=1e-4):
    return App(name, what, tutorial(source), (*words, "-log_trace", "trace"), sizes, (r"^Norm of error .*$", r"^Residual norm .*$"), KSP_CLOCK,
               clock=True, reads="trace.0", dump="solution", bits_words=("-ksp_view_solution", "binary:solution"), tolerance=tolerance,
               floor=1e-9, must={LAB: must})


APPS = (
    petsc("petsc-cg", "PETSc's tutorial ex2, conjugate gradients", "ex2",
          ("-m", "{grid}", "-n", "{grid}", "-ksp_type", "cg", "-pc_type", "jacobi", "-ksp_rtol", "1e-8"),
          {HOST: {"grid": 400}, LAB: {"grid": 80}, "16h-5ms": {"grid": 30}}, 2.1),
    petsc("petsc-pipecg", "the same, pipelined: its sums are nonblocking", "ex2",
          ("-m", "{grid}", "-n", "{grid}", "-ksp_type", "pipecg", "-pc_type", "jacobi", "-ksp_rtol", "1e-6"),
          {HOST: {"grid": 300}, LAB: {"grid": 80}, "16h-5ms": {"grid": 30}}, 3.3, tolerance=2e-2),
    petsc("petsc-multigrid", "PETSc's tutorial ex45 with geometric multigrid, in three dimensions", "ex45",
          ("-da_refine", "{refine}", "-pc_type", "mg", "-ksp_rtol", "1e-13", "-ksp_type", "cg"),
          {HOST: {"refine": 4}, LAB: {"refine": 2}}, 1.5),
    App("slepc", "SLEPc, eigenvalues by Krylov-Schur", Compiled("slepc", packages=("slepc", "petsc")), ("-n", "{grid}", "-eps_nev", "{values}"),
        {HOST: {"grid": 120, "values": 6}, LAB: {"grid": 40, "values": 4}}, bits=BITS, tolerance=1e-7, must={LAB: 1.5}),
    App("lammps", "LAMMPS's melt, energies after each step", Installed("lmp"),
        ("-in", f"{inputs.INPUTS}/melt.lammps", "-log", "none", "-var", "cells", "{cells}", "-var", "steps", "{steps}"),
        {HOST: {"cells": 10, "steps": 800}, LAB: {"cells": 8, "steps": 150}, "16h-5ms": {"cells": 8, "steps": 40}}, (r"^ +\d+(?: +-?[\d.]+){5} *$",),
        r"^Loop time of ([\d.]+) on", dump="atoms.dump", tolerance=1e-6, must={LAB: 1.45}),
    App("quantum-espresso", "Quantum ESPRESSO, self-consistent field of silicon", Installed("pw.x"), ("-in", "silicon.pw"),
        {HOST: {"ecut": 24, "points": 6}, LAB: {"ecut": 12, "points": 1}}, (r"^!.*total energy.*$",),
        r"^ +PWSCF +:.* ([\d.]+)s WALL", tolerance=1e-8, prepare=inputs.filled("silicon.pw"), must={LAB: 1.3}),
    App("scalapack", "ScaLAPACK, a linear system and eigenvectors", Compiled("scalapack", ("-lscalapack-openmpi", "-llapack", "-lblas")),
        ("{unknowns}", "{repeats}", "{values}"),
        {HOST: {"unknowns": 1000, "repeats": 6, "values": 400}, LAB: {"unknowns": 200, "repeats": 1, "values": 64}}, bits=BITS, tolerance=1e-8,
        must={LAB: 1.05}),
    App("mumps", "MUMPS, factors and solutions of a sparse matrix", Compiled("mumps", ("-ldmumps",)), ("{grid}", "{repeats}"),
        {HOST: {"grid": 200, "repeats": 4}, LAB: {"grid": 50, "repeats": 2}}, bits=BITS, tolerance=1e-8, must={LAB: 1.05}),
    App("fftw", "FFTW's planner, and transforms of a cube", Compiled("fftw", ("-lfftw3_mpi", "-lfftw3")), ("{edge}", "{repeats}"),
        {HOST: {"edge": 96, "repeats": 12}, LAB: {"edge": 32, "repeats": 5}}, bits=BITS, tolerance=1e-8, must={LAB: 1.05}),
    App("hdf5", "HDF5, data sets that all ranks write together", Compiled("hdf5", packages=("hdf5-openmpi",)), ("{sets}", "{elements}"),
        {HOST: {"sets": 40, "elements": 20000}, LAB: {"sets": 10, "elements": 1024}}, bits=BITS),
    App("hypre", "hypre, conjugate gradients with algebraic multigrid", Compiled("hypre", ("-lHYPRE",), includes=("/usr/include/hypre",)),
        ("{edge}", "{repeats}"), {HOST: {"edge": 48, "repeats": 3}, LAB: {"edge": 16, "repeats": 2}}, bits=BITS, tolerance=1e-6),
    App("cp2k", "CP2K, the energy of two molecules of water", Installed("cp2k.psmp"), ("-i", "water.cp2k"),
        {HOST: {"cutoff": 120}, LAB: {"cutoff": 60}}, (r"^ ENERGY\|.*$",), r"^ CP2K +1 +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+)$",
        bits=r"^ ENERGY\|.*$", tolerance=1e-7, prepare=inputs.filled("water.cp2k")),
    App("gromacs", "GROMACS, a box of water", Installed("gmx_mpi"),
        ("mdrun", "-s", "water.tpr", "-nsteps", "{steps}", "-ntomp", "1", "-reprod", "-noconfout", "-nb", "cpu"),
        {HOST: {"steps": 200}, LAB: {"steps": 40}}, (r"^ +(?:-?\d\.\d+e[+-]\d\d *){5}$",), r"^ +Time: +[\d.]+ +([\d.]+)", reads="md.log", tolerance=1e-3,
        prepare=inputs.water),
    App("openfoam", "OpenFOAM's cavity by icoFoam", Installed("icoFoam"), ("-parallel",),
        {HOST: {"cells": 60, "steps": 100}, LAB: {"cells": 20, "steps": 8}}, (r"^Courant Number.*$",), "", tolerance=1e-4, prepare=inputs.cavity,
        variables=inputs.FOAM),
    App("mpi4py", "a loop of mpi4py with numpy", Script("loop.py", "/usr/bin/python3", "mpi4py, numpy"), ("{steps}",),
        {HOST: {"steps": 20000}, LAB: {"steps": 300}, "16h-5ms": {"steps": 60}}, bits=BITS, tolerance=1e-6),
    App("ddp", "PyTorch's DistributedDataParallel, beside gloo", Script("ddp.py", "build/python/bin/python", "torch"),
        ("{backend}", "{steps}", "{width}", "{folder}", "{where}"), {HOST: {"steps": 60, "width": 256}, LAB: {"steps": 20, "width": 64}}, tolerance=1e-3,
        torch=True),
)
