"""What the checks share: the packages and the tar, made once, the MPI program, and the roots."""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys

import roots

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
# On a machine with fewer cores mpirun refuses four ranks; this is no option of ours.
FEW_CORES = {"OMPI_MCA_rmaps_base_oversubscribe": "1"} if (os.cpu_count() or 1) < 4 else {}


def call(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


class Work:
    def __init__(self, build, folder, given_variables):
        self.given_variables = given_variables
        self.build, self.folder = pathlib.Path(build).resolve(), pathlib.Path(folder).resolve()
        self.given = self.folder / "given"  # /given in every root
        self.given.mkdir(parents=True, exist_ok=True)

    @functools.cached_property
    def base(self):
        return roots.base(self.folder)

    def root(self):
        return roots.Root(self.base, self.given)

    @functools.lru_cache(maxsize=None)
    def packages(self, name="now", version=""):
        """Returns the .deb files, which appear in roots as /given/`name`/*.deb."""
        call(TOP / "packaging/packages", self.build, self.given / name, *([version] if version else []))
        return sorted((self.given / name).glob("*.deb"))

    @functools.lru_cache(maxsize=None)
    def tar(self, name="tar"):
        call(TOP / "packaging/tar", self.build, self.given / name)
        return next((self.given / name).glob("*.tar.xz"))

    @functools.lru_cache(maxsize=None)
    def program(self, name):
        """Puts an MPI program of tests/mpi there; it names no library of ours."""
        shutil.copy(self.build / "tests/mpi" / name, self.given)
        return f"/given/{name}"

    def installed(self, root, name="now", also="openmpi-bin"):
        """Installs our packages as a person does, with what they need from the distribution."""
        done = root.run(f"apt-get install -y -q --no-install-recommends /given/{name}/*.deb {also}", seconds=600)
        if done.returncode != 0:
            raise RuntimeError(f"apt-get install failed: {done.stdout[-3000:]}{done.stderr[-3000:]}")


def allocator_breaches(folder):
    """Returns a line for each library below the folder that would free what another runtime allocated."""
    sys.path.insert(0, str(TOP / "tests/install"))
    import allocators  # pylint: disable=import-outside-toplevel,import-error
    objects, _, wrong = allocators.breaches([folder])
    return wrong or ([] if objects else [f"no shared object below {folder}"])


def shared_memory_calls(text):
    """Returns the number of calls through shared memory that the last line counts; 0: there is no such line."""
    found = re.search(r"^sumac: .*?shared memory (\d+) \(", text, re.MULTILINE)
    return int(found.group(1)) if found else 0
