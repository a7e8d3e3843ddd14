"""UCC's own MPI test over our library, where SUMAC_UCC_SRC names a tree that was built like this:

    ./autogen.sh && ./configure --with-sharp=PREFIX --with-ucx --with-mpi && make -j     # PREFIX: of an installed Sumac
"""
import os
import pathlib
import re
import subprocess
import sys

BUILD = pathlib.Path(os.environ["SUMAC_BUILD"])
SKIPPED = 77
COLLECTIVES = ("barrier", "allreduce", "bcast")  # those that its module for us has


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
    command = [BUILD / "bin/sumac", "run", "--tree", "mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "coll", "^hcoll,ucc", "-n", "3",
               programs[0], "--colls", ",".join(COLLECTIVES), "--mtypes", "host", "--teams", "world", "--inplace", "2"]
    done = subprocess.run([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=500, check=False)
    print(done.stdout + done.stderr)
    if done.returncode != 0:
        return 1
    # It must have gone over our library, or nothing was tested.
    # It makes two contexts, and uses one.
    if not all(re.search(rf"statistics of rank 0: .*{kind}: posted:[1-9]", done.stderr) for kind in COLLECTIVES):
        print("UCC did not use the tree: see the lines above")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
