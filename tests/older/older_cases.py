#!/usr/bin/env python3
"""The tar in a fresh root of Debian 11 (glibc 2.31), where an ordinary user compiles programs with that system's compiler and runs them under its
Open MPI and MPICH. It needs root and Debian's servers.
usage: older_cases.py [--out FILE]    SUMAC_BUILD names the build folder"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve()
TOP = HERE.parents[2]
sys.path[:0] = [str(TOP / "tests"), str(TOP / "tests/toolkit")]
import files  # noqa: E402  pylint: disable=wrong-import-position
import roots  # noqa: E402  pylint: disable=wrong-import-position
from harness import rows as results  # noqa: E402  pylint: disable=wrong-import-position

PACKAGES = ["gcc", "libc6-dev", "libopenmpi-dev", "openmpi-bin", "libmpich-dev", "mpich", "xz-utils"]
FEW_CORES = {"OMPI_MCA_rmaps_base_oversubscribe": "1"}
SHARED_MEMORY = r"sumac: collectives: shared memory [1-9]"
TREE = r"sumac: job \d+: tree [1-9]"
RIGHT = r"0 of \d+ sums wrong"


class Machine:
    """A root of Debian 11, and what went wrong in it."""

    def __init__(self, root, folder):
        self.root, self.folder, self.failures = root, folder, []

    def expect(self, what, words, *output, user="someone"):
        done = self.root.run(words, user=user, env=FEW_CORES, seconds=900)
        text = done.stdout + done.stderr
        missing = [each for each in output if not re.search(each, text)]
        if done.returncode != 0 or missing:
            self.failures.append(f"{what}: status {done.returncode}, missing {missing}: {text[-1500:]}")
        print(f"  {'no ' if self.failures and self.failures[-1].startswith(what) else 'ok '} {what}", flush=True)

    def check(self):
        use = f". {self.folder}/sumac-init.sh && "
        mpicc = {"openmpi": "mpicc.openmpi", "mpich": "mpicc.mpich"}
        for mpi, compiler in mpicc.items():
            self.expect(f"compile with {mpi}", f"{compiler} -O2 -o until-{mpi} /given/until.c && {compiler} -O2 -o sums-{mpi} /given/sums.c -lm")
        for ranks in (2, 3, 4):
            for mpi, launcher in (("openmpi", "mpirun.openmpi"), ("mpich", "mpiexec.mpich")):
                run = f"{launcher} -n {ranks} ./until-{mpi}"
                self.expect(f"sumac run, {mpi}, {ranks} ranks", f"{self.folder}/bin/sumac run {run}", RIGHT, SHARED_MEMORY)
                self.expect(f"a tree on one machine, {mpi}, {ranks} ranks", f"{self.folder}/bin/sumac run --tree {run}", RIGHT, TREE)
            self.expect(f"bare mpirun, {ranks} ranks", use + f"mpirun.openmpi -n {ranks} ./until-openmpi", RIGHT, SHARED_MEMORY)
        for mpi, launcher in (("openmpi", "mpirun.openmpi"), ("mpich", "mpiexec.mpich")):
            self.expect(f"larger sums, {mpi}", f"{self.folder}/bin/sumac run {launcher} -n 3 ./sums-{mpi} 65536 20", "20 of 65536 bytes right on 3 ranks", SHARED_MEMORY)
        self.expect("the interposed library", f"LD_PRELOAD=$PWD/{self.folder}/lib/libsumac_mpi_openmpi.so mpirun.openmpi -x LD_PRELOAD -n 2 ./until-openmpi",
                    RIGHT, SHARED_MEMORY)
        self.expect("a client of libsharp_coll", use + "sumac run sharp_hello", "Test Passed")
        self.expect("daemons that stay", use + 'eval "$(sumac up)" && sharp_hello && sharp_cmd trees && sumac down', "Test Passed")
        self.expect("the same over UCX", use + "sumac run --transport ucx sharp_hello", "Test Passed")
        flags = f"-I {self.folder}/include -L {self.folder}/lib -Wl,-rpath,$PWD/{self.folder}/lib"
        self.expect("a client compiled here", f"gcc {flags} -o client {self.folder}/share/sumac/examples/allreduce.c -lsharp_coll && "
                    f"{self.folder}/bin/sumac run ./client", "all sums exact")
        self.expect("the team's library", f"gcc {flags} -o team {self.folder}/share/sumac/examples/team.c -lsumac_team -lpthread -lm && ./team 3")
        self.expect("libucc and libhcoll", f"{self.folder}/bin/ucc_info -v && {self.folder}/bin/hcoll_info")
        self.expect("sumac doctor", f"{self.folder}/bin/sumac doctor || test $? -lt 2")
        self.expect("every library is found", f"for f in $(find {self.folder}/bin {self.folder}/lib -type f); do head -c 4 $f | grep -q ELF && ldd $f; done 2>&1 | "
                    "grep -E 'not found' | grep -vE 'libibverbs|librdmacm|libmlx|libnl|libslurm' | grep . && exit 1; exit 0")


def run(rows):
    try:
        roots.check_machine()
        base = roots.base(TOP / "build/older", "bullseye", PACKAGES)
    except roots.Unavailable as why:
        print(f"skipped: {why}")
        sys.exit(77)
    given = TOP / "build/older/given"
    _, unpacked = files.tar(given)
    folder = unpacked.name
    rows.add("symbols", "newest glibc (2.x) that a file of the tar asks for", files.newest_glibc(unpacked), 28)
    if made := list((TOP / "build/wheels").glob("*.whl")):
        rows.add("symbols-wheel", "newest glibc (2.x) that a module of the wheel asks for", files.newest_glibc(files.wheel(made[0], given / "wheel")), 28)
    else:
        print("left out: symbols-wheel: there is no wheel (make wheel)")
    for program in ("until.c", "sums.c"):
        (given / program).write_bytes((TOP / "tests/mpi" / program).read_bytes())
    with roots.Root(base, given) as root:
        machine = Machine(root, folder)
        # MPICH 3.4 asks for the address of the host's name.
        machine.expect("install", f"echo 127.0.0.1 $(hostname) >> /etc/hosts; apt-get install -y -q --no-install-recommends {' '.join(PACKAGES)}", user="root")
        machine.expect("unpack", f"cp -r /given/{folder} .")
        machine.check()
    for each in machine.failures:
        print(f"  - {each}", flush=True)
    rows.add("debian11-tar", "failures", len(machine.failures), 0)


if __name__ == "__main__":
    results.cases(__doc__, run)
