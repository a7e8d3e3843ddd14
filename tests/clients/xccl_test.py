"""Runs XCCL's own test programs, test_mpi_*, on our libxccl, if SUMAC_XCCL_SRC names a source tree of openucx/xccl. They are compiled beside it,
in a folder of their own."""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["SUMAC_BUILD"])
SKIPPED = 77
RANKS = (2, 4, 7)
PASSES = "Correctness check: PASS"
# Each program with its sources, and what it prints when it is right; two of them print nothing else.
PROGRAMS = {**{f"test_mpi_{name}": (("test_mpi.c", *more), PASSES) for name, more in
               {"allreduce": (), "reduce": (), "fanout_get": (), "create_team_nb": (), "bcast": ("test_utils.c",),
                "alltoall": (), "alltoallv": ("test_utils.c",), "allgather": ("test_utils.c",)}.items()},
            "test_mpi_barrier": (("test_mpi.c",), "Rank 1 checks in"), "test_mt": (("test_mpi.c",), "Elapsed")}


def main():
    tree = os.environ.get("SUMAC_XCCL_SRC")
    if not tree:
        print("skipped: SUMAC_XCCL_SRC is not set; it names a source tree of openucx/xccl")
        return SKIPPED
    sources = pathlib.Path(tree) / "test"
    environment = {**{k: v for k, v in os.environ.items() if k != "SUMAC_XCCL_SRC"}, "XCCL_TEST_ITERS": "200", "XCCL_TEST_CHECK": "1",
                   "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_coll": "^hcoll,ucc"}
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (more, right) in PROGRAMS.items():
            program = pathlib.Path(folder) / name
            subprocess.run(["mpicc", "-std=gnu11", "-w", "-o", program, sources / f"{name}.c", *(sources / one for one in more), f"-I{ROOT / 'include'}",
                            f"-L{BUILD / 'lib'}", f"-Wl,-rpath,{BUILD / 'lib'}", "-lxccl", "-pthread"], check=True)
            for ranks in RANKS:
                command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), str(program)]
                try:
                    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                          timeout=120, check=False)
                    text, is_right = done.stdout, done.returncode == 0 and right in done.stdout
                except subprocess.TimeoutExpired as late:
                    text, is_right = f"not done after {late.timeout} s", False
                print(f"{name} on {ranks} ranks: {'right' if is_right else f'wrong: {text}'}", flush=True)
                if not is_right:
                    failed.append(f"{name} on {ranks}")
    print(f"{len(PROGRAMS) * len(RANKS) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
