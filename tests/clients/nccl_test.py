"""Runs the NCCL plugin over our library, if SUMAC_NCCL_PLUGIN_SRC names a tree of it (nccl-rdma-sharp-plugins) that was built --with-sharp
on our headers. The test checks its calls, its links, and that it loads: running it needs InfiniBand adapters and GPUs."""
import os
import pathlib
import re
import subprocess
import sys

BUILD = pathlib.Path(os.environ["SUMAC_BUILD"])
SKIPPED = 77
CALLED = {f"sharp_coll_{name}" for name in ("init", "comm_init", "caps_query", "reg_mr", "reg_mr_v2", "dereg_mr", "do_allreduce_nb", "do_allgather_nb",
                                            "do_reduce_scatter_nb", "req_test", "req_free", "comm_destroy", "finalize")}


def run(words, **environment):
    done = subprocess.run([str(word) for word in words], env={**os.environ, **environment}, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit status {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def symbols(library, which):
    return {word.split("@")[0] for word in run(["nm", "-D", which, "--format=just-symbols", library]).split()}


def check(plugin):
    ours = {name for name in symbols(plugin, "--undefined-only") if name.startswith("sharp_coll_")}
    assert CALLED <= ours, f"it does not call {CALLED - ours}: was it built --with-sharp on our headers?"
    assert ours <= symbols(BUILD / "lib/libsharp_coll.so", "--defined-only"), ours
    assert re.search(r"NEEDED.*libsharp_coll\.so\.5", run(["readelf", "-d", plugin]))
    offered = {name for name in symbols(plugin, "--defined-only") if name.startswith("ncclCollNetPlugin")}
    assert offered, "it offers NCCL no CollNet"
    # Every symbol is bound at once, with our library instead of the original.
    run([sys.executable, "-c", f"import ctypes, os; ctypes.CDLL({str(plugin)!r}, os.RTLD_NOW)"], LD_LIBRARY_PATH=str(BUILD / "lib"))
    print(f"{', '.join(sorted(offered))} call {len(ours)} functions of ours")


def main():
    tree = os.environ.get("SUMAC_NCCL_PLUGIN_SRC")
    if not tree:
        print("skipped: SUMAC_NCCL_PLUGIN_SRC is not set; it names a tree of nccl-rdma-sharp-plugins built --with-sharp")
        return SKIPPED
    if "SUMAC_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text():
        print("skipped: a sanitized library can't be loaded by a plain program")
        return SKIPPED
    plugin = pathlib.Path(tree).resolve() / "src/.libs/libnccl-net.so"
    if not plugin.is_file():
        print(f"{tree} is not built: src/.libs/libnccl-net.so is missing")
        return 1
    check(plugin)
    return 0


if __name__ == "__main__":
    sys.exit(main())
