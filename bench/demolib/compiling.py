"""Our C programs compiled for an MPI of somebody's choice, once for each state of their sources."""

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from .lab import last_words

SOURCE = Path(__file__).resolve().parents[2]
FLAGS = ["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Wshadow", f"-I{SOURCE}"]
VECTORS = ("bench/pattern.c", "bench/host/world_naive.c")  # plain loops over megabytes: -O3, as in bench/CMakeLists.txt


class Absent(Exception):
    """This program cannot be had here; the text says why."""


def run_quietly(argv, seconds, what):
    try:
        done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=seconds, check=False)
    except FileNotFoundError as missing:
        raise Absent(f"{what}: {argv[0]} is missing") from missing
    except subprocess.TimeoutExpired as late:
        raise Absent(f"{what}: not done after {seconds} s") from late
    if done.returncode != 0:
        raise Absent(f"{what}: {last_words(done.stderr + done.stdout)}")
    return done.stdout


def first_of(*names):
    for name in names:
        if shutil.which(name):
            return shutil.which(name)
    raise Absent(f"{names[0]} is missing: packaging/install packaging/apt-bench.txt")


def compile_once(name, compiler, files, headers, folder, flags=FLAGS, libraries=("-lm",)):
    """The program, made of `files`; its name holds what it was made of, so that it is made again when that changes."""
    digest = hashlib.sha256(" ".join([str(compiler), *flags]).encode())
    for each in [*files, *headers]:
        digest.update((SOURCE / each).read_bytes())
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / f"{name}-{digest.hexdigest()[:12]}"
    if program.exists():
        return program
    for old in folder.glob(f"{name}-????????????"):
        old.unlink()
    with tempfile.TemporaryDirectory() as place:
        for each in files:
            run_quietly([compiler, *flags, *(["-O3"] if each in VECTORS else []), "-c", SOURCE / each, "-o",
                         f"{place}/{Path(each).stem}.o"], 120, f"compiling {name}")
        run_quietly([compiler, *[f"{place}/{Path(each).stem}.o" for each in files], *libraries, "-o", f"{place}/program"], 120,
                    f"linking {name}")
        shutil.copy(f"{place}/program", program)  # complete or not there
    return program
