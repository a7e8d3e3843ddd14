"""Finds the programs: those that packages install, PETSc's tutorials, and small ones of ours that call a library as its users do."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from demolib.compiling import FLAGS, Absent, compile_once

FOLDER = "bench/apps/programs"
TUTORIALS = Path("/usr/share/petsc/3.18/share/petsc/examples/src/ksp/ksp/tutorials")
INSTALL = "packaging/install packaging/apt-apps.txt"


def words_of(command):
    """Returns what a program like pkg-config prints, as words."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise Absent(f"{command[0]} is missing: {INSTALL}") from missing
    if done.returncode != 0:
        raise Absent(f"{' '.join(command)} failed: {INSTALL}")
    return done.stdout.split()


@dataclass(frozen=True)
class Installed:
    """A program of a package."""

    name: str

    def find(self, _folder):
        path = shutil.which(self.name, path="/usr/bin:/usr/local/bin:" + os.environ.get("PATH", ""))
        if path is None:
            raise Absent(f"{self.name} is missing: {INSTALL}")
        return [path]


@dataclass(frozen=True)
class Compiled:
    """A C program that is compiled for Debian's Open MPI when it is first needed, with the words that pkg-config gives for `packages`."""

    name: str
    libraries: tuple = ()
    packages: tuple = ()
    includes: tuple = ()
    source: str = ""  # The program of somebody else has this file.

    def find(self, folder):
        if self.source and not Path(self.source).exists():
            raise Absent(f"{self.source} is missing: {INSTALL}")
        flags, libraries = list(FLAGS) + [f"-I{path}" for path in self.includes], list(self.libraries)
        if self.packages:
            flags += words_of(["pkg-config", "--cflags", *self.packages])
            libraries += words_of(["pkg-config", "--libs", *self.packages])
        headers = [] if self.source else [f"{FOLDER}/result.h"]
        return [compile_once(self.name, "mpicc", [self.source or f"{FOLDER}/{self.name}.c"], headers, folder, flags, (*libraries, "-lm"))]


@dataclass(frozen=True)
class Script:
    """A Python program of ours, run by the interpreter that has what it imports."""

    name: str
    python: str
    imports: str

    def find(self, _folder):
        python = Path(__file__).resolve().parents[2] / self.python
        done = subprocess.run([python, "-c", f"import {self.imports}"], capture_output=True, check=False) if python.exists() else None
        if done is None or done.returncode != 0:
            raise Absent(f"{python} with {self.imports} is missing: make setup-apps")
        return [python, Path(__file__).with_name("programs") / self.name]


def tutorial(name):
    return Compiled(name, packages=("petsc",), source=str(TUTORIALS / f"{name}.c"))
