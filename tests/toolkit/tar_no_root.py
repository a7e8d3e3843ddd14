"""The tar for an ordinary user of a machine that has openmpi-bin and none of our packages: unpacked, moved, by the script and by modules."""

import filecmp
import re

from work import FEW_CORES, allocator_breaches, call

CASE = "tar-no-root"


def check(rows, work):
    tar, again = work.tar(), work.tar("tar-again")
    program, found = work.program("until"), []
    folder = tar.name.removesuffix(".tar.xz")
    version = re.match(r"sumac-(.*)-x86_64$", folder).group(1)
    unpacked = work.folder / "allocators-tar"
    call("rm", "-rf", unpacked)
    unpacked.mkdir()
    call("tar", "-xf", tar, "-C", unpacked)
    found += allocator_breaches(unpacked)
    if not filecmp.cmp(tar, again, shallow=False):
        found.append("a second build gives other bytes")

    def expect(what, root, words, output="", shell="bash", status=0):
        done = root.run(words, user="someone", shell=shell, env=FEW_CORES)
        text = done.stdout + done.stderr
        if done.returncode != status or not re.search(output, text):
            found.append(f"{what}: status {done.returncode}: {text[-1500:]}")

    run = f"mpirun -n 4 {program}"
    by_memory = r"sumac: collectives: shared memory [1-9]"
    with work.root() as root:
        done = root.run("apt-get install -y -q --no-install-recommends openmpi-bin xz-utils man-db")
        assert done.returncode == 0, done.stdout + done.stderr
        expect("unpack", root, f"tar -xf /given/tar/{tar.name} && mv {folder} first")
        use = ". first/sumac-init.sh && "
        expect("bare mpirun", root, use + run, by_memory)
        expect("sumac run", root, f"first/bin/sumac run {run}", by_memory)
        expect("a tree on one machine", root, f"first/bin/sumac run --tree {run}", r"sumac: job \d+: tree [1-9]")
        expect("a client of libsharp_coll", root, use + "sumac run sharp_hello", "Test Passed")
        expect("the same over UCX", root, use + "sumac run --transport ucx sharp_hello", "Test Passed")
        expect("daemons that stay", root, use + 'eval "$(sumac up)" && sharp_hello && sharp_cmd trees && sumac down', "Test Passed")
        expect("the interposed library", root, f"LD_PRELOAD=$PWD/first/lib/libsumac_mpi_openmpi.so mpirun -x LD_PRELOAD -n 2 {program}", by_memory)
        expect("sharp_mpi_test", root, use + "mpirun -n 2 sharp_mpi_test -m basic")
        expect("a published command", root, use + "$HPCX_SHARP_DIR/bin/sharp_coll_dump_config -f && $HPCX_SHARP_DIR/sbin/sharp_daemons_setup.sh -h",
               "SHARP_COLL_")
        expect("a manual page", root, use + "man -P cat sharp_am", "SYNOPSIS")
        expect("moved elsewhere, with a space in its name", root, f"mkdir 'a b' && mv first 'a b/second' && . 'a b/second/sumac-init.sh' && {run}", by_memory)
        expect("in dash", root, f"SUMAC_DIR=$PWD/'a b'/second; . \"$SUMAC_DIR/sumac-init.sh\" && {run}", by_memory, shell="dash")
        expect("in dash, without SUMAC_DIR", root, ". 'a b/second/sumac-init.sh'", "set SUMAC_DIR", shell="dash", status=1)
        expect("every library is found", root,
               "for f in $(find 'a b/second/bin' 'a b/second/lib' -type f -exec sh -c 'head -c 4 \"$1\" | grep -q ELF' _ {} \\; -print | tr ' ' '?'); do "
               "ldd $f; done 2>&1 | grep 'not found' | grep -vE 'libibverbs|librdmacm|libmlx|libnl' | grep . && exit 1; exit 0")
        expect("nothing of the machine's own is replaced", root,
               ". 'a b/second/sumac-init.sh' && ldd $(command -v ompi_info) | grep second && exit 1; exit 0")
        expect("an older glibc is named", root, "mkdir -p fake && printf '#!/bin/sh\\necho glibc 2.17\\n' > fake/getconf && chmod +x fake/getconf && "
               "PATH=$PWD/fake:$PATH && . 'a b/second/sumac-init.sh'", r"needs glibc 2\.\d+ or newer, and this machine has 2\.17", status=1)
        done = root.run("cat ~someone/*/second/share/sumac/needs")
        print("  needs " + done.stdout.strip().replace("\n", ", "), flush=True)
    for modules, init in (("environment-modules", "/etc/profile.d/modules.sh"), ("lmod", "/etc/profile.d/lmod.sh")):
        with work.root() as root:
            done = root.run(f"apt-get install -y -q --no-install-recommends openmpi-bin xz-utils {modules}")
            assert done.returncode == 0, done.stdout + done.stderr
            load = (f"tar -xf /given/tar/{tar.name} && . {init} && module use {folder}/modulefiles && env | sort > before && module load sumac && ")
            expect(f"{modules}: mpirun", root, load + run, by_memory)
            expect(f"{modules}: its variables", root, load + f"test $SUMAC_DIR = $PWD/{folder} && test $HPCX_SHARP_DIR = $SUMAC_DIR && sharp_am --version", re.escape(version))
            expect(f"{modules}: a published line", root, load.replace("module load sumac", "module load hpcx-stack") +
                   "mpirun -n 2 $HPCX_MPI_TESTS_DIR/imb/IMB-MPI1 Barrier -npmin 2 -iter 10", "# Benchmarking Barrier")
            expect(f"{modules}: unloaded", root, load + "module unload sumac && env | grep -iE 'sumac|hpcx' | grep -vE 'MODULE|LOADED|_LM|LMFILES|PWD' && exit 1; exit 0")
    rows.failures(CASE, "failures", found)
