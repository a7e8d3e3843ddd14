"""Programs that call as known clients do run to their end, and configure scripts find the headers and libraries."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["SUMAC_BUILD"])
INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
LIBRARIES = BUILD / "lib"
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
# Some sanitizers want their runtime in the program itself; a plain program cannot load such a library.
IS_SANITIZED = "SUMAC_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text()


def run(words, timeout=240, **environment):
    """Runs one command, with nobody at the keyboard."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SHARP_", "HCOLL_"))}
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env={**env, **environment}, timeout=timeout)


class Programs(unittest.TestCase):
    def passes(self, client, ranks, *words, **environment):
        """`words` are for `sumac run`: it sees that a program is linked with libsharp_coll.so, but not that one will load it."""
        done = run([BUILD / "bin/sumac", "run", *words, "timeout", "--kill-after=5", "200", "mpirun", "--allow-run-as-root", "--oversubscribe",
                    "--mca", "coll", "^hcoll", "--mca", "mpi_yield_when_idle", "1", "-n", ranks, BUILD / "tests" / f"client-{client}"],
                   LD_LIBRARY_PATH=str(LIBRARIES), **environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{client.replace('_', '-')}: passed", done.stdout)

    def test_ucc(self):
        self.passes("ucc_order", 3, SHARP_COLL_ENABLE_SAT="1")

    def test_nccl_plugin(self):
        self.passes("nccl_plugin", 4, SHARP_COLL_IB_DEV_LIST="any")  # it names an adapter, which this machine may lack

    def test_xccl_team(self):
        self.passes("xccl_team", 3, SHARP_COLL_IB_DEV_LIST="any")  # this program names an adapter as well

    def test_vendor_style(self):
        self.passes("vendor_style", 5)
        self.passes("vendor_style", 3, SHARP_COLL_ENABLE_SAT="0")

    @unittest.skipIf(IS_SANITIZED, "a sanitized library can't be loaded by dlopen")
    def test_mvapich(self):
        self.passes("mvapich", 5, "--tree", SHARP_COLL_IB_DEV_LIST="any")  # this program names mlx5_0

    @unittest.skipIf(IS_SANITIZED, "a sanitized library can't be loaded by dlopen")
    def test_tccl(self):
        self.passes("tccl", 3, "--tree")


@unittest.skipIf(IS_SANITIZED, "a sanitized library can't be loaded by dlopen")
class BesideMpi(unittest.TestCase):
    """The component's job and one of libsharp_coll.so in the same processes."""

    def test_two_jobs_in_one_process(self):
        done = run([BUILD / "bin/sumac", "run", "--tree", "timeout", "--kill-after=5", "200", "mpirun", "--allow-run-as-root", "--oversubscribe",
                    "--mca", "mpi_yield_when_idle", "1", "-n", 3, BUILD / "tests" / "client-beside_mpi"], LD_LIBRARY_PATH=str(LIBRARIES))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("beside-mpi: passed", done.stdout)
        self.assertRegex(done.stderr, r"sumac: job \d+: tree [1-9]", "MPI's own sums went through the tree")


@unittest.skipIf(IS_SANITIZED, "a sanitized component can't be loaded into mpirun's programs")
class BesideUcc(unittest.TestCase):
    """libucc beside the libraries that serve MPI, which Open MPI's coll/ucc leaves to them, and beside a job of libsharp_coll."""

    def passes(self, starter, *arguments, words=(), **environment):
        done = run([*starter, "timeout", "--kill-after=5", "100", "mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1",
                    *words, "-n", 3, BUILD / "tests" / "client-ucc_beside", *arguments], LD_LIBRARY_PATH=str(LIBRARIES), SUMAC_EXPLAIN="1", **environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("ucc-beside: passed", done.stdout)
        return done

    def test_nothing_else_serves_the_mpi(self):
        done = self.passes((), words=("--mca", "coll", "^hcoll"))
        self.assertIn("coll/ucc: serves", done.stdout)

    def test_the_interposed_library_serves_the_mpi(self):
        done = self.passes((), words=("-x", f"LD_PRELOAD={LIBRARIES / 'libsumac_mpi_openmpi.so'}"))
        self.assertIn("coll/ucc: stands aside", done.stdout)
        self.assertEqual(done.stderr.count("no team: the interposed library is loaded and serves all communicators"), 1, done.stderr)

    def test_three_jobs_of_the_tree(self):
        done = self.passes((BUILD / "bin/sumac", "run", "--tree"), "job")
        self.assertIn("coll/ucc: stands aside", done.stdout)
        self.assertEqual(done.stderr.count("no team: Open MPI's component is loaded and serves all communicators"), 1, done.stderr)
        self.assertEqual(len(re.findall(r"sumac: job \d+: tree [1-9]", done.stderr)), 2, "the component's and libucc's: " + done.stderr)


class Headers(unittest.TestCase):
    def compiles(self, compiler, language, standard, headers):
        source = "".join(f"#include <sharp/api/{header}>\n" for header in headers) + "int main(void) { return SHARP_COLL_SUCCESS; }\n"
        done = subprocess.run([compiler, "-x", language, f"-std={standard}", *WARNINGS, f"-I{INCLUDE}", "-fsyntax-only", "-"], input=source,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, f"{standard} {headers}: {done.stderr}")

    def test_each_language_and_year(self):
        for compiler, language, standards in (("cc", "c", ("c99", "c11", "c17", "gnu11")), ("c++", "c++", ("c++11", "c++17", "c++20"))):
            for standard in standards:
                # UCC's tl_sharp.h, Horovod and gloo forks include sharp.h alone and use the collective types.
                for headers in (["sharp.h"], ["sharp_coll.h"], ["sharp_coll.h", "version.h"], ["sharp.h", "sharp_coll.h", "version.h", "sumac_ext.h"]):
                    with self.subTest(standard=standard, headers=headers):
                        self.compiles(compiler, language, standard, headers)

    def test_both_of_our_own_interfaces_in_one_file(self):
        source = '#include <sharp/api/sumac_ext.h>\n#include "team/team.h"\nint main(void) { return (int)SUMAC_COLL_BARRIER + (int)SUMAC_STATS_BARRIER; }\n'
        done = subprocess.run(["cc", "-x", "c", "-std=c11", *WARNINGS[:2], f"-I{INCLUDE}", f"-I{INCLUDE.parent / 'src'}", "-fsyntax-only", "-"],
                              input=source, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)


class Configure(unittest.TestCase):
    """The checks that the configure scripts of UCC, the NCCL plugin, XCCL and libfabric forks make."""

    def builds(self, source, *words):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "conftest.c"
            path.write_text(source)
            return run(["cc", "-o", path.with_suffix(""), path, f"-I{INCLUDE}", *words]).returncode == 0

    @unittest.skipIf(IS_SANITIZED, "a sanitized library needs its runtime in the program")
    def test_libraries_by_a_symbol(self):
        for library, symbol in (("sharp_coll", "sharp_coll_init"), ("sharp", "sharp_init_session")):
            source = f"char {symbol}(void);\nint main(void) {{ return {symbol}(); }}\n"
            self.assertTrue(self.builds(source, f"-L{LIBRARIES}", f"-l{library}"), library)
        self.assertTrue(self.builds("char sharp_coll_init(void);\nint main(void) { return sharp_coll_init(); }\n", f"-L{LIBRARIES}", "-lsharp",
                                    "-lsharp_coll"))
        self.assertFalse(self.builds("char no_such(void);\nint main(void) { return no_such(); }\n", f"-L{LIBRARIES}", "-lsharp_coll"))

    def declared(self, name):
        return self.builds(f"#include <sharp/api/sharp_coll.h>\nint main(void) {{\n#ifndef {name}\n(void){name};\n#endif\nreturn 0; }}\n", "-c")

    def test_declarations(self):
        for name in ("SHARP_COLL_HIDE_ERRORS", "SHARP_COLL_DISABLE_LAZY_GROUP_RESOURCE_ALLOC", "sharp_coll_do_reduce_scatter",
                     "sharp_coll_do_allgather", "SHARP_DTYPE_BFLOAT16", "sharp_coll_reg_mr_v2"):
            self.assertTrue(self.declared(name), name)
        # This flag belongs to a later level: its value is not public, so the plugin must not find it.
        self.assertFalse(self.declared("SHARP_COLL_REG_FIELD_DMABUF_DATA_DIRECT"))

    def test_members(self):
        for struct, member in (("sharp_coll_init_spec", "oob_ctx"), ("sharp_coll_reduce_spec", "aggr_mode"), ("sharp_coll_data_desc", "mem_type")):
            source = f"#include <sharp/api/sharp_coll.h>\nint main(void) {{ static struct {struct} s; return !!sizeof s.{member}; }}\n"
            self.assertTrue(self.builds(source, "-c"), f"{struct}.{member}")

    def test_the_level(self):
        source = "#include <sharp/api/version.h>\n#if SHARP_API != 0x03060000 || SHARP_API <= SHARP_VERSION(3, 0)\n#error level\n#endif\n"
        self.assertTrue(self.builds(source + "int main(void) { return SHARP_VERNO_REV[0] != '0'; }\n"))

    def test_layouts(self):
        """Checks sizes and offsets of the public description (64-bit)."""
        sizes = {"config": 32, "out_of_band_colls": 24, "comm_init_spec": 32, "init_spec": 120, "caps": 112, "reg_params": 24, "data_desc": 40,
                 "reduce_spec": 136, "bcast_spec": 72, "bcast_spec_v2": 112, "gather_spec": 120}
        offsets = [("init_spec", "oob_ctx", 96), ("init_spec", "config", 32), ("init_spec", "world_local_rank", 88), ("caps", "support_mask", 24),
                   ("caps", "resources", 88), ("data_desc", "buffer", 16), ("data_desc", "iov", 16), ("reduce_spec", "dtype", 88),
                   ("reduce_spec", "length", 96), ("reduce_spec", "aggr_mode", 112), ("reduce_spec", "offset", 120), ("bcast_spec", "size", 48),
                   ("gather_spec", "dtype", 80), ("gather_spec", "offset", 96)]
        lines = [f"typedef char size_{name}[sizeof(struct sharp_coll_{name}) == {size} ? 1 : -1];" for name, size in sizes.items()]
        lines += [f"typedef char at_{name}_{field}[offsetof(struct sharp_coll_{name}, {field}) == {at} ? 1 : -1];" for name, field, at in offsets]
        source = "#include <sharp/api/sharp_coll.h>\n" + "\n".join(lines) + "\nint main(void) { return sizeof(struct sharp_data_iov) != 24; }\n"
        self.assertTrue(self.builds(source, "-c"))

    def test_the_older_soname(self):
        names = {path.name for path in LIBRARIES.glob("libsharp_coll.so*")}
        self.assertTrue({"libsharp_coll.so", "libsharp_coll.so.4", "libsharp_coll.so.5"} <= names, names)
        told = run(["readelf", "-d", LIBRARIES / "libsharp_coll.so"]).stdout
        self.assertRegex(told, re.compile(r"SONAME.*libsharp_coll\.so\.5"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
