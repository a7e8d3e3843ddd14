"""The NCCL plugin built against our installed headers and library, where SUMAC_NCCL_PLUGIN_SRC names its source tree (nccl-rdma-sharp-plugins, after
./autogen.sh); SUMAC_CUDA_DIR names CUDA if it is not at /usr/local/cuda. What it was told by configure, what it links, and that it loads: its run
needs InfiniBand adapters and GPUs."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["SUMAC_BUILD"])
SKIPPED = 77
CALLED = {f"sharp_coll_{name}" for name in ("init", "comm_init", "caps_query", "reg_mr", "reg_mr_v2", "dereg_mr", "do_allreduce_nb", "do_allgather_nb",
                                            "do_reduce_scatter_nb", "req_test", "req_free", "comm_destroy", "finalize")}


def run(words, folder, seconds=280, **environment):
    done = subprocess.run([str(word) for word in words], cwd=folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=seconds, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit status {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def symbols(library, which):
    return {word.split("@")[0] for word in run(["nm", "-D", which, "--format=just-symbols", library], BUILD).split()}


def check(source, folder):
    prefix, build = folder / "prefix", folder / "build"
    build.mkdir()
    run([os.environ.get("CMAKE", "cmake"), "--install", BUILD, "--prefix", prefix], folder)
    cuda = os.environ.get("SUMAC_CUDA_DIR", "/usr/local/cuda")
    told = run([source / "configure", f"--with-sharp={prefix}", f"--with-cuda={cuda}", "--without-ucx"], build)
    assert "SHARP support: yes" in told, told
    for found in ("SHARP_DTYPE_BFLOAT16 is declared... yes", "sharp_coll_reg_mr_v2 is declared... yes"):
        assert found in told, told
    run(["make", "-j2"], build)
    plugin = build / "src/.libs/libnccl-net.so"
    ours = {name for name in symbols(plugin, "--undefined-only") if name.startswith("sharp_coll_")}
    assert CALLED <= ours, f"it does not call {CALLED - ours}"
    assert ours <= symbols(prefix / "lib/libsharp_coll.so", "--defined-only"), ours
    assert re.search(r"NEEDED.*libsharp_coll\.so\.5", run(["readelf", "-d", plugin], build))
    offered = {name for name in symbols(plugin, "--defined-only") if name.startswith("ncclCollNetPlugin")}
    assert offered, "it offers NCCL no CollNet"
    # Every symbol bound at once, with our library in its place.
    run([sys.executable, "-c", f"import ctypes, os; ctypes.CDLL({str(plugin)!r}, os.RTLD_NOW)"], build, LD_LIBRARY_PATH=str(prefix / "lib"))
    print(f"{', '.join(sorted(offered))} call {len(ours)} functions of ours")


def main():
    source = os.environ.get("SUMAC_NCCL_PLUGIN_SRC")
    if not source:
        print("skipped: SUMAC_NCCL_PLUGIN_SRC is not set; it names a source tree of nccl-rdma-sharp-plugins")
        return SKIPPED
    if "SUMAC_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text():
        print("skipped: a sanitized library can't be loaded by a plain program")
        return SKIPPED
    source = pathlib.Path(source).resolve()
    if not (source / "configure").is_file():
        print(f"{source} has no configure: run ./autogen.sh there")
        return 1
    with tempfile.TemporaryDirectory(prefix="sumac-nccl-") as folder:
        check(source, pathlib.Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
