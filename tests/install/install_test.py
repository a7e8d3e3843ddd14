#!/usr/bin/env python3
"""Installs a build folder into a prefix of its own and uses it from there, as a person does who never saw the build folder.
usage: install_test.py BUILD
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()

WANTED = """
bin/sumac bin/sharp_am bin/sharp_an bin/sharpd bin/sharp_cmd share/man/man8/sharp_am.8 share/man/man1/sumac.1
lib/libsharp_coll.so lib/libsharp_coll.so.4 lib/libsharp_coll.so.5 lib/libsharp_coll.so.5.0.0 lib/libsharp.so lib/libsharp.so.5
lib/pkgconfig/sharp.pc lib/pkgconfig/ucc.pc lib/libucc.so lib/libucc.so.1 bin/ucc_info share/man/man1/ucc_info.1
lib/pkgconfig/hcoll.pc lib/libhcoll.so lib/libhcoll.so.1 lib/libocoms.so.0 bin/hcoll_info share/man/man1/hcoll_info.1
include/hcoll/api/hcoll_api.h include/hcoll/api/hcoll_constants.h include/hcoll/api/hcoll_dte.h include/hcoll/api/hcoll_runtime_api.h
include/hcoll/api/hcoll_version.h include/sumac/team.h lib/pkgconfig/sumac_team.pc lib/libsumac_team.so lib/libsumac_team.so.0
lib/sumac/examples/example-team share/sumac/examples/team.c
include/ucc/api/ucc.h include/ucc/api/ucc_def.h include/ucc/api/ucc_status.h include/ucc/api/ucc_version.h
lib/cmake/ucc/ucc-config.cmake lib/cmake/ucc/ucc-config-version.cmake lib/cmake/ucc/ucc-targets.cmake lib/sumac/examples/example-allreduce
lib/sumac/bench/sumac-bench lib/sumac/bench/compare/__main__.py lib/sumac/bench/compare/results.py lib/sumac/bench/core/pairs.py
lib/sumac/bench/core/tally.py
include/sharp/api/sharp.h include/sharp/api/sharp_coll.h include/sharp/api/version.h include/sharp/api/sumac_ext.h include/api/sharp.h include/api/sharp_coll.h
share/sumac/fabrics/test-4h.yaml share/sumac/examples/allreduce.c
share/sumac/monitoring/alerts.yml share/sumac/monitoring/dashboard.json share/sumac/monitoring/prometheus.yml
share/doc/sumac/README.md share/doc/sumac/LICENSE share/doc/sumac/docs/config.md share/doc/sumac/docs/reference.md share/doc/sumac/docs/wire.md
share/doc/sumac/docs/types.md share/doc/sumac/docs/pasted.md
""".split()
# A program that is built without the sanitizer cannot load a library that is built with it.
SANITIZED = not re.search(r"^SUMAC_SANITIZE:\w+=$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
IF_BUILT = ["lib/sumac/bench/sumac-bench-mpich", "lib/libsumac_net_ucx.so", "lib/libxccl.so", "lib/libxccl.so.1", "lib/openmpi/mca_coll_hcoll.so"] + [f"lib/libsumac_mpi_{abi}.so" for abi in ("openmpi", "mpich", "abi")]


def clean_environment():
    """Returns an environment in which no variable leads a program to the build folder, or to another installation."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith(("SUMAC_", "SHARP_", "HCOLL_", "OMPI_", "PMIX_", "LD_", "PKG_CONFIG"))}


def run(*command, env=None, seconds=120):
    return subprocess.run([str(word) for word in command], env=env or clean_environment(), capture_output=True, text=True, timeout=seconds,
                          stdin=subprocess.DEVNULL, check=False)


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="sumac-install-"))
        first = cls.scratch / "first"
        done = run(os.environ.get("CMAKE", "cmake"), "--install", BUILD, "--prefix", first)
        if done.returncode != 0:
            shutil.rmtree(cls.scratch)
            raise AssertionError(done.stdout + done.stderr)
        # The prefix is moved, so that a path from the time of installation would fail.
        cls.prefix = cls.scratch / "opt"
        first.rename(cls.prefix)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch)

    def test_everything_is_there(self):
        wanted = WANTED + [path for path in IF_BUILT if (BUILD / path).exists()]
        missing = [path for path in wanted if not (self.prefix / path).exists()]
        self.assertEqual(missing, [])
        self.assertFalse(any((self.prefix / "lib").glob("*.a")), "static libraries are our own affair")

    def test_nothing_points_into_the_build_folder(self):
        for path in self.prefix.rglob("*"):
            if path.is_symlink():
                self.assertFalse(os.readlink(path).startswith("/"), path)
            elif path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
                dynamic = run("readelf", "-d", path).stdout
                for line in dynamic.splitlines():
                    if "RUNPATH" in line or "RPATH" in line:
                        self.assertRegex(line, r"\[(\$ORIGIN[^:]*:?)+\]", path)

    def test_the_benchmark_compares_from_there(self):
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = run(self.prefix / "bin/sumac", "bench", "--compare", "--no-plot", "-n", "2", "--pairs", "2", "osu_barrier", "-i", "5", "-x", "1",
                   env=clean_environment() | root)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("# barrier, 2 ranks", done.stdout)

    def test_a_program_runs_from_there(self):
        done = run(self.prefix / "bin/sumac", "run", self.prefix / "lib/sumac/examples/example-allreduce")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_tools_find_the_library_without_a_variable(self):
        done = run(self.prefix / "bin/sharp_coll_dump_config")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = run(self.prefix / "bin/sharp_mpi_test", "-h")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_program_runs_from_there_over_ucx(self):
        if not (self.prefix / IF_BUILT[0]).exists():
            self.skipTest("built without UCX")
        done = run(self.prefix / "bin/sumac", "run", "--transport", "ucx", self.prefix / "lib/sumac/examples/example-allreduce")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipIf(SANITIZED, "a sanitizer's runtime would have to be loaded first")
    def test_a_program_is_compiled_with_pkg_config_alone(self):
        environment = clean_environment() | {"PKG_CONFIG_PATH": str(self.prefix / "lib/pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "sharp", env=environment)
        self.assertEqual(flags.returncode, 0, flags.stderr)
        self.assertNotIn(str(BUILD), flags.stdout)
        program = self.scratch / "own"
        done = run(os.environ.get("CC", "cc"), self.prefix / "share/sumac/examples/allreduce.c", "-o", program, *flags.stdout.split())
        self.assertEqual(done.returncode, 0, done.stderr)
        # `sumac run` puts its own lib folder on the path of the program.
        done = run(self.prefix / "bin/sumac", "run", program, "2", "1000")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipIf(SANITIZED, "a sanitizer's runtime would have to be loaded first")
    def test_a_program_of_ucc_is_built_by_cmake_and_by_pkg_config(self):
        """The package is found twice in a project, as projects of several parts do."""
        project = self.scratch / "of-ucc"
        project.mkdir()
        (project / "main.c").write_text(
            "#include <stdio.h>\n#include <ucc/api/ucc.h>\n"
            "int main(void) {\n  ucc_lib_params_t params = {0};\n  ucc_lib_h lib;\n"
            "  if (ucc_init(&params, NULL, &lib) != UCC_OK) return 1;\n  puts(ucc_get_version_string());\n  return ucc_finalize(lib) != UCC_OK;\n}\n")
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.18)\nproject(of_ucc C)\nfind_package(ucc 1.3 REQUIRED CONFIG)\nfind_package(ucc REQUIRED)\n"
            "if(NOT IS_DIRECTORY ${UCC_LIBRARIES} OR NOT EXISTS ${UCC_INCLUDE_DIRS}/ucc/api/ucc.h)\n  message(FATAL_ERROR wrong)\nendif()\n"
            "add_executable(main main.c)\ntarget_link_libraries(main ucc::ucc)\n")
        cmake = os.environ.get("CMAKE", "cmake")
        for command in ((cmake, "-S", project, "-B", project / "build", f"-Ducc_ROOT={self.prefix}"), (cmake, "--build", project / "build")):
            done = run(*command)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        version = run(project / "build" / "main")
        self.assertEqual((version.returncode, version.stdout), (0, "1.8.0\n"), version.stderr)
        environment = clean_environment() | {"PKG_CONFIG_PATH": str(self.prefix / "lib/pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "ucc", env=environment)
        self.assertEqual(flags.returncode, 0, flags.stderr)
        done = run(os.environ.get("CC", "cc"), project / "main.c", *flags.stdout.split(), f"-Wl,-rpath,{self.prefix / 'lib'}", "-o", project / "main")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(run(project / "main").stdout, "1.8.0\n")

    @unittest.skipIf(SANITIZED, "a sanitizer's runtime would have to be loaded first")
    def test_a_client_of_hcoll_is_configured_as_mpis_are(self):
        """By the prefix in hcoll.pc, the header's name and a function that links."""
        environment = clean_environment() | {"PKG_CONFIG_PATH": str(self.prefix / "lib/pkgconfig")}
        prefix = pathlib.Path(run("pkg-config", "--variable=prefix", "hcoll", env=environment).stdout.strip())
        self.assertEqual(prefix.resolve(), self.prefix.resolve())
        source = self.scratch / "client.c"
        source.write_text("#include <hcoll/api/hcoll_api.h>\n#include <stdio.h>\nint main(void) { return puts(hcoll_get_version()) < 0 || hcoll_context_free(0, 0) == 0; }\n")
        done = run(os.environ.get("CC", "cc"), f"-I{prefix}/include", source, f"-L{prefix}/lib", "-lhcoll", "-Wl,--no-as-needed", "-locoms",
                   f"-Wl,-rpath,{self.prefix / 'lib'}", "-o", self.scratch / "client")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run(self.scratch / "client")
        self.assertEqual((done.returncode, done.stdout), (0, "4.8.0\n"), done.stderr)

    @unittest.skipIf(SANITIZED, "a sanitizer's runtime would have to be loaded first")
    def test_a_program_of_teams_is_built_by_pkg_config(self):
        """The installed example, as its first lines say it, in C and, as far as its header, in C++."""
        environment = clean_environment() | {"PKG_CONFIG_PATH": str(self.prefix / "lib/pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "sumac_team", env=environment).stdout.split()
        done = run(os.environ.get("CC", "cc"), "-std=gnu99", "-Wall", "-Wextra", "-pedantic", "-Werror", self.prefix / "share/sumac/examples/team.c", *flags,
                   "-pthread", "-lm", f"-Wl,-rpath,{self.prefix / 'lib'}", "-o", self.scratch / "team")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run(self.scratch / "team", "2")
        self.assertEqual((done.returncode, done.stdout), (0, "2 ranks: the sum was 16986.000 and is 16986.000\n"), done.stderr)
        for compiler, language in ((os.environ.get("CC", "cc"), "-std=c99"), (os.environ.get("CXX", "c++"), "-std=c++98")):
            done = run(compiler, "-x", "c" if language == "-std=c99" else "c++", language, "-Wall", "-Wextra", "-pedantic", "-Wno-long-long", "-Werror",
                       "-fsyntax-only", self.prefix / "include/sumac/team.h")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_mpi_program_uses_the_component_from_there(self):
        if not (self.prefix / IF_BUILT[1]).exists():
            self.skipTest("built without Open MPI")
        mpirun = ["mpirun", "--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
        done = run(self.prefix / "bin/sumac", "run", *mpirun, "-n", "2", BUILD / "tests/mpi/churn", "3",
                   env=clean_environment() | {"SUMAC_TEAM_AFTER": "0"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"sumac: collectives: shared memory [1-9]\d* \(")


if __name__ == "__main__":
    unittest.main(verbosity=2)
