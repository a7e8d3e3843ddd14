#!/usr/bin/env python3
"""Programs that bring a runtime of their own into the process, under every binding: a C++ program's own operator new and delete, and the
sanitizers of a compiler. `runtimes_test.py clang-14` takes another compiler than gcc for the sanitizers."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import mpis
from mpis import case

HERE = pathlib.Path(__file__).resolve().parent
COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "gcc"
TOOLS = (mpis.ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
OURS = re.compile(r"libsumac_mpi_|mca_coll_hcoll|libsharp|/bindings/|sumac::")

# Each binding has the MPI that its programs are compiled for, the words behind `sumac run` and the environment.
INTERPOSED = {"LD_PRELOAD": str(mpis.OPENMPI.library)}
BINDINGS = {
    "component": (mpis.OPENMPI, [], {}),
    "component, tree": (mpis.OPENMPI, ["--tree"], {}),
    "interposed, Open MPI": (mpis.OPENMPI, [], INTERPOSED),
    "interposed, MPICH": (mpis.MPICH, [], {}),
    "interposed, MPICH, tree": (mpis.MPICH, ["--tree"], {}),
}
UCX = (case.BUILD / "lib" / "libsumac_net_ucx.so").exists()
WITH_UCX = {"component, ucx": (mpis.OPENMPI, ["--transport", "ucx"], {}), "interposed, MPICH, ucx": (mpis.MPICH, ["--transport", "ucx"], {})}


def run(mpi, program, words, env, ranks=2):
    clean = {"SUMAC_TUNING_FILE": "none", "SUMAC_TEAM_AFTER": "0", **mpis.AS_ROOT, **env}
    return case.start([case.SUMAC, "run", *words, *mpi.start, "-n", ranks, program], clean)


def runtime(name):
    return pathlib.Path(subprocess.run([COMPILER, f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip())


class Runtimes(unittest.TestCase):
    def each(self, bindings, check):
        for name, (mpi, words, env) in bindings.items():
            if mpi in mpis.ALL:
                with self.subTest(binding=name):
                    check(name, mpi, words, env)

    def right(self, done, words, name):
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(words, done.out, done.text)
        by = "tree" if "tree" in name or "ucx" in name else "shared"
        self.assertGreater(done.tally[by], 40, done.text)


@unittest.skipUnless(COMPILER == "gcc", "the compiler is that of the MPI's wrapper")
class Allocators(Runtimes):
    def test_a_program_with_its_own_operator_new(self):
        def check(name, mpi, words, env):
            program = mpi.compile("allocator", "mpicxx", HERE / "allocator.cpp", flags=["-std=c++17"])
            self.right(run(mpi, program, words, env), "allocator: right on 2 ranks\n", name)

        self.each({**BINDINGS, **(WITH_UCX if UCX else {})}, check)


class Sanitizers(Runtimes):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def built(self, mpi, sanitizer, *more):
        name = f"checked-{COMPILER}-{sanitizer}{'-more' if more else ''}"
        return mpi.compile(name, "mpicc", HERE / "checked.c", flags=["-g", f"-fsanitize={sanitizer}", "-pthread", *more], compiler=COMPILER)

    def reports(self, options):
        """Returns the environment in which reports go to files, and a function that reads them."""
        variable, value = options
        path = self.folder / "report"
        for old in self.folder.glob("report*"):
            old.unlink()
        return {variable: f"{value}:log_path={path}"}, lambda: "\n".join(each.read_text(errors="replace") for each in self.folder.glob("report*"))

    def check(self, sanitizer, options, bindings):
        def check(name, mpi, words, env):
            settings, read = self.reports(options)
            done = run(mpi, self.built(mpi, sanitizer), words, {**env, **settings})
            self.right(done, "checked: right on 2 ranks\n", name)
            # A thread sanitizer puts lines between its reports, a leak checker an empty line between its leaks.
            for report in re.split(r"={18,}" if sanitizer == "thread" else r"\n\n", read()):
                if OURS.search(report):
                    self.fail(f"a report names us: {report}\n{done.text}")

        self.each(bindings, check)

    def test_address(self):
        # The MPIs leak, and that is reported; any other report ends the program.
        self.check("address", ("LSAN_OPTIONS", "exitcode=0"), BINDINGS)

    def test_address_with_words_of_the_launcher(self):
        mpi = mpis.MPICH
        if mpi not in mpis.ALL:
            case.skip_one_or_fail("mpich is not installed")
        done = case.start([case.SUMAC, "run", *mpi.start, "-genv", "ASAN_OPTIONS", "detect_leaks=0", "-n", 2, self.built(mpi, "address")], {"SUMAC_TEAM_AFTER": "0"})
        self.right(done, "checked: right on 2 ranks\n", "")

    @unittest.skipIf(COMPILER == "gcc", "gcc's runtime is a library in any case")
    def test_address_with_the_runtime_in_a_library(self):
        mpi = mpis.MPICH
        if mpi not in mpis.ALL:
            case.skip_one_or_fail("mpich is not installed")
        folder = runtime("libclang_rt.asan-x86_64.so").parent
        done = run(mpi, self.built(mpi, "address", "-shared-libsan", f"-Wl,-rpath,{folder}"), [], {"ASAN_OPTIONS": "detect_leaks=0"})
        self.right(done, "checked: right on 2 ranks\n", "")

    @unittest.skipUnless(COMPILER == "gcc", "clang's runtime is in the program")
    def test_a_runtime_that_is_preloaded(self):
        mpi = mpis.MPICH
        if mpi not in mpis.ALL:
            case.skip_one_or_fail("mpich is not installed")
        program = mpi.compile("checked-plain", "mpicc", HERE / "checked.c", flags=["-pthread"])
        done = run(mpi, program, [], {"LD_PRELOAD": str(runtime("libasan.so")), "ASAN_OPTIONS": "detect_leaks=0"})
        self.right(done, "checked: right on 2 ranks\n", "")

    def test_undefined(self):
        self.check("undefined", ("UBSAN_OPTIONS", "halt_on_error=1"), BINDINGS)

    def test_thread_with_the_suppressions_that_the_manual_has(self):
        suppressions = self.folder / "suppressions"
        suppressions.write_text("".join(f"{line.strip()}\n" for line in re.findall(r"^    (?:race|deadlock|mutex):\S+$", TOOLS, re.MULTILINE)))
        self.assertIn("race:mca_coll_hcoll", suppressions.read_text())
        # A program of gcc's with MPICH 4.0 ends by a signal in MPI_Init, without Sumac too.
        bindings = {name: each for name, each in BINDINGS.items() if COMPILER != "gcc" or each[0] is not mpis.MPICH}
        self.check("thread", ("TSAN_OPTIONS", f"exitcode=0:suppressions={suppressions}"), bindings)


if __name__ == "__main__":
    if not shutil.which(COMPILER):
        case.skip_or_fail(f"{COMPILER} is not installed (packaging/apt-fuzz.txt)")
    if COMPILER != "gcc" and not runtime("libclang_rt.asan-x86_64.a").is_absolute():
        print(f"skipped: {COMPILER} has no sanitizers here (libclang-rt-dev of its version)")
        sys.exit(77)
    unittest.main(verbosity=2)
