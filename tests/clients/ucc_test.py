"""Runs UCC's own MPI test over our library, if SUMAC_UCC_SRC names a tree that was built --with-sharp on our headers, --with-ucx and
--with-mpi."""
import os
import pathlib
import re
import subprocess
import sys

BUILD = pathlib.Path(os.environ["SUMAC_BUILD"])
SKIPPED = 77
# Every module of UCC has the first ones; later modules also have the others, named by our function that they call. In
# place, a later module's reduce_scatter takes the count of the whole vector for that of a rank's share, and names bytes
# far past the buffer: only the form with two buffers is tested, on its own and bounded, since UCC knows of a hang there
# (its issue 1076).
COLLECTIVES = ("barrier", "allreduce", "bcast")
LATER = {"reduce_scatter": "sharp_coll_do_reduce_scatter_nb", "allgather": "sharp_coll_do_allgather_nb"}


def run(program, environment, collectives, inplace):
    """Runs its MPI test, at most 4 minutes; all of the collectives must have used our library, or nothing was tested."""
    command = [BUILD / "bin/sumac", "run", "--tree", "mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "coll", "^hcoll,ucc", "-n", "3",
               program, "--colls", ",".join(collectives), "--mtypes", "host", "--teams", "world", "--inplace", inplace]
    try:
        done = subprocess.run([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=240, check=False)
    except subprocess.TimeoutExpired as late:
        print(f"{late.stdout}\n{late.stderr}\n{', '.join(collectives)}: not done after {late.timeout} s")
        return False
    print(done.stdout + done.stderr)
    # UCC makes two contexts, and uses one.
    unused = [kind for kind in collectives if not re.search(rf"statistics of rank 0: .*{kind}: posted:[1-9]", done.stderr)]
    if unused:
        print(f"UCC did not use the tree for {', '.join(unused)}: see the lines above")
    return done.returncode == 0 and not unused


def main():
    tree = os.environ.get("SUMAC_UCC_SRC")
    if not tree:
        print("skipped: SUMAC_UCC_SRC is not set; it names a UCC tree built with --with-sharp")
        return SKIPPED
    tree = pathlib.Path(tree)
    programs = [path for path in (tree / "test/mpi/ucc_test_mpi", tree / "test/mpi/.libs/ucc_test_mpi") if path.is_file()]
    module = list(tree.glob("src/components/tl/sharp/.libs/libucc_tl_sharp.so*"))
    if not programs or not module:
        missing = "test/mpi/ucc_test_mpi" if not programs else "src/components/tl/sharp (configure --with-sharp)"
        print(f"{tree} is not built: {missing} is missing")
        return 1
    environment = {**{k: v for k, v in os.environ.items() if k != "SUMAC_UCC_SRC"},
                   "LD_LIBRARY_PATH": f"{BUILD / 'lib'}:{tree / 'src/.libs'}:{os.environ.get('LD_LIBRARY_PATH', '')}",
                   "UCC_COMPONENT_PATH": str(tree / "src/components"), "UCC_CL_BASIC_TLS": "ucp,sharp", "UCC_TL_SHARP_TUNE": "inf",
                   "UCC_TL_SHARP_MIN_TEAM_SIZE": "2", "UCC_TL_SHARP_TEAM_MAX_PPN": "16", "UCC_TL_SHARP_DEVICES": "", "SHARP_COLL_ENABLE_SAT": "1",
                   "SHARP_COLL_STATS_DUMP_MODE": "1", "SHARP_COLL_LOG_LEVEL": "3"}
    if not run(programs[0], environment, COLLECTIVES, "2"):
        return 1
    called = subprocess.run(["nm", "-D", "--undefined-only", module[0]], capture_output=True, text=True, check=True).stdout
    later = [kind for kind, function in LATER.items() if function in called]
    print(f"over this tree's module as well: {', '.join(later) or 'nothing'}")
    return 0 if not later or run(programs[0], environment, later, "0") else 1


if __name__ == "__main__":
    sys.exit(main())
