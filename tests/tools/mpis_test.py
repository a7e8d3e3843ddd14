"""`sumac run` looks at the program: which MPI it needs, how Sumac gets into it, and a clear line where it can't. With Debian's Open MPI and
MPICH, their compilers and launchers by name, so that it does not matter which of them `mpirun` is."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import case  # noqa: E402

SUMAC = case.SUMAC
OPENMPI = ["mpirun.openmpi", "--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
MPICH = ["mpiexec.mpich"]
COMPONENT = "that of Open MPI 4.1: its component serves it"
LIBRARIES = {"openmpi": "libsumac_mpi_openmpi.so", "mpich": "libsumac_mpi_mpich.so", "abi": "libsumac_mpi_abi.so"}
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="sumac-mpis-"))
EXPLAIN = {"SUMAC_EXPLAIN": "1"}

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words) {
  int rank = 0, ranks = 0, sum = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const char *preload = getenv("LD_PRELOAD"), *component = getenv("OMPI_MCA_coll_hcoll_enable");
  printf("rank %d of %d, sum %d, preload %s, component %s\n", rank, ranks, sum, preload ? preload : "none", component ? component : "none");
  return MPI_Finalize();
}
"""
LIBRARY = "#include <mpi.h>\nint ranks_of(void) { int n = 0; MPI_Comm_size(MPI_COMM_WORLD, &n); return n; }\n"
USER = r"""
#include <stdio.h>
int ranks_of(void);
int main(int count, char **words) {
  printf("%s: %d\n", words[0], count > 1 ? ranks_of() : 0);
  return 0;
}
"""
# Starts without a C library: a machine for 64 bits has none for 32.
NARROW = 'void _start(void) { __asm__ volatile("mov $1, %eax; xor %ebx, %ebx; int $0x80"); }\n'


def compile_with(compiler, name, text, *flags):
    source, program = SCRATCH / f"{name}.c", SCRATCH / name
    source.write_text(text)
    subprocess.run([compiler, "-o", program, source, *flags], check=True)
    return program


def script(name, text):
    path = SCRATCH / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def setUpModule():
    for needed in ("mpicc.openmpi", "mpicc.mpich", "mpirun.openmpi", "mpiexec.mpich"):
        if not shutil.which(needed):
            case.skip_one_or_fail(f"{needed} is not there: install packaging/apt-dev.txt")
    compile_with("mpicc.openmpi", "open", PROGRAM)
    compile_with("mpicc.mpich", "mpich", PROGRAM)


def tearDownModule():
    shutil.rmtree(SCRATCH)


def said_in(text):
    """Returns the lines of `sumac run` itself, without its name."""
    return [line.removeprefix("sumac run: ") for line in text.splitlines() if line.startswith("sumac run: ")]


def run(*words, env=None, sumac=SUMAC):
    done = case.start([sumac, "run", *words], env)
    done.said = said_in(done.err)
    return done


class Prefix:
    """An installation of its own, from which a test may take a library away."""

    def __init__(self):
        self.root = SCRATCH / "prefix"
        (self.root / "bin").mkdir(parents=True)
        (self.root / "lib").mkdir()
        self.sumac = self.root / "bin" / "sumac"
        shutil.copy2(SUMAC, self.sumac)
        for program in ("sharp_am", "sharp_an", "sharpd"):
            (self.root / "bin" / program).symlink_to(case.BUILD / "bin" / program)
        (self.root / "lib" / "openmpi").symlink_to(case.BUILD / "lib" / "openmpi")
        for name in LIBRARIES.values():
            (self.root / "lib" / name).symlink_to(case.BUILD / "lib" / name)

    def library(self, abi):
        return str(self.root / "lib" / LIBRARIES[abi])


class OnePrefix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = Prefix()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.prefix.root)

    def run_here(self, *words, env=None):
        return run(*words, env=env, sumac=self.prefix.sumac)


class Choice(OnePrefix):
    def test_open_mpi_of_the_distribution_has_its_component_and_a_5_the_interposed_library(self):
        done = self.run_here(*OPENMPI, "-n", 2, SCRATCH / "open", env=EXPLAIN)
        self.assertEqual(done.code, 0, done.text)
        if case.openmpi_series() == "4.1":
            why, how = f"libmpi.so.40, {COMPONENT}", "preload none, component 1"
        else:
            why = f"libmpi.so.40 (Open MPI): the interposed library {LIBRARIES['openmpi']} serves it"
            how = f"preload {self.prefix.library('openmpi')}, component none"
        self.assertEqual(done.said, [f"{SCRATCH}/open needs {why}"])
        for rank in range(2):
            self.assertIn(f"rank {rank} of 2, sum 1, {how}\n", done.out)

    def test_mpich_has_the_interposed_library(self):
        for launcher in ("mpiexec.mpich", "mpiexec.hydra", "mpirun.mpich"):
            done = self.run_here(launcher, "-n", 2, SCRATCH / "mpich", env=EXPLAIN)
            self.assertEqual(done.code, 0, done.text)
            self.assertEqual(done.said, [f"{SCRATCH}/mpich needs libmpich.so.12 (MPICH's ABI): the interposed library libsumac_mpi_mpich.so serves it"])
            for rank in range(2):
                self.assertIn(f"rank {rank} of 2, sum 1, preload {self.prefix.library('mpich')}, component none\n", done.out)
            self.assertEqual((done.tally["allreduces"], done.tally["shared"]), (1, 1), done.text)

    def test_open_mpi_has_the_library_where_the_component_is_missing(self):
        component = self.prefix.root / "lib" / "openmpi"
        component.rename(component.with_name("away"))
        self.addCleanup(component.with_name("away").rename, component)
        done = self.run_here(*OPENMPI, "-n", 2, SCRATCH / "open", env=EXPLAIN)
        self.assertEqual((done.code, done.tally["shared"]), (0, 1), done.text)
        self.assertEqual(done.said, [f"{SCRATCH}/open needs libmpi.so.40 (Open MPI): the interposed library libsumac_mpi_openmpi.so serves it"])
        self.assertIn(f"rank 1 of 2, sum 1, preload {self.prefix.library('openmpi')}, component none\n", done.out)

    def test_it_is_silent_unless_asked(self):
        done = self.run_here(*MPICH, "-n", 2, SCRATCH / "mpich")
        self.assertEqual((done.code, done.said), (0, []), done.text)

    def test_a_program_without_a_launcher(self):
        done = self.run_here(SCRATCH / "mpich", env=EXPLAIN)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("the interposed library libsumac_mpi_mpich.so serves it", done.said[0])
        self.assertIn(f"rank 0 of 1, sum 0, preload {self.prefix.library('mpich')}", done.out)

    def test_a_library_that_was_preloaded_stays_behind_ours(self):
        other = compile_with("cc", "other.so", "", "-shared", "-fPIC")
        ours = self.prefix.library("mpich")
        for words, env in (([], {"LD_PRELOAD": str(other)}), (["-genv", "LD_PRELOAD", other], {}), (["-env", "LD_PRELOAD", other], {})):
            done = self.run_here(*MPICH, *words, "-n", 2, SCRATCH / "mpich", env=env)
            self.assertEqual((done.code, done.tally["shared"]), (0, 1), done.text)
            self.assertIn(f"preload {ours}:{other}, ", done.out, words)

    def test_through_wrappers_and_scripts(self):
        binder = script("bind.sh", '#!/bin/sh\n# pins a rank\nexport WHERE=here\nexec nice -n 1 "$@"\n')
        job = script("job.sh", f"#!/bin/bash\ncd {SCRATCH}\nmpiexec.mpich -n 2 \\\n  ./mpich\n")
        plain = "the interposed library libsumac_mpi_mpich.so serves it"
        for words in (["env", "A=1", *MPICH, "-n", 2, SCRATCH / "mpich"], ["nice", "-n", 1, *MPICH, "-n", 2, "env", "-u", "B", SCRATCH / "mpich"],
                      [*MPICH, "-n", 2, binder, SCRATCH / "mpich"], [*MPICH, "-wdir", SCRATCH, "-n", 2, "./mpich"],
                      [*MPICH, "-n", 2, "sh", "-c", f"cd / && exec {SCRATCH}/mpich"], ["timeout", "60", *MPICH, "-n", 2, "stdbuf", "-oL", SCRATCH / "mpich"],
                      [job], ["bash", job], [*MPICH, "-n", 1, SCRATCH / "mpich", ":", "-n", 1, SCRATCH / "mpich", "x"]):
            with self.subTest(words=words):
                done = self.run_here(*words, env=EXPLAIN)
                self.assertEqual(done.code, 0, done.text)
                self.assertEqual(len([line for line in done.said if line.endswith(plain)]), 1, done.text)
                self.assertEqual(done.out.count(f"of 2, sum 1, preload {self.prefix.library('mpich')}"), 2, done.text)
                self.assertEqual(done.tally["shared"], 1, done.text)

    def test_a_script_that_nobody_can_read_falls_back_to_the_launcher(self):
        loop = script("loop.sh", f"#!/bin/sh\nfor i in 1; do {SCRATCH}/mpich; done\n")
        done = self.run_here(*MPICH, "-n", 2, loop, env=EXPLAIN)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("loop.sh is a script: its last command is not simple, and mpiexec.mpich is hydra", done.said[0])
        self.assertIn(f"preload {self.prefix.library('mpich')}, ", done.out)

    def test_mpi_behind_an_applications_own_library(self):
        compile_with("mpicc.mpich", "libranks.so", LIBRARY, "-shared", "-fPIC")
        user = compile_with("cc", "user", USER, f"-L{SCRATCH}", "-lranks", "-Wl,-rpath,$ORIGIN", "-Wl,--unresolved-symbols=ignore-in-shared-libs")
        done = self.run_here(*MPICH, "-n", 2, user, env=EXPLAIN)
        # MPICH's own mpiexec now and then ends by SIGPIPE where a program ends at once: 16 of 240 starts without Sumac.
        self.assertIn(done.code, (0, 128 + signal.SIGPIPE), done.text)
        self.assertEqual(done.said, [f"{user} needs libmpich.so.12 (MPICH's ABI): the interposed library libsumac_mpi_mpich.so serves it"])

    def test_python_is_asked_for_its_mpi4py(self):
        package = SCRATCH / "site" / "mpi4py"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        # Nobody imports it here: its needs are what counts, as in mpi4py's extension.
        compile_with("mpicc.mpich", "site/mpi4py/MPI.abi3.so", LIBRARY, "-shared", "-fPIC")
        show = script("show.py", "#!/usr/bin/env python3\nimport os\nprint('preload', os.environ.get('LD_PRELOAD'))\n")
        env = {**EXPLAIN, "PYTHONPATH": str(SCRATCH / "site")}
        for words, name in (([sys.executable, show], sys.executable), ([show], show)):
            done = self.run_here(*MPICH, "-n", 1, *words, env=env)
            self.assertEqual(done.code, 0, done.text)
            self.assertEqual(done.said, [f"{name} needs libmpich.so.12 (MPICH's ABI): the interposed library libsumac_mpi_mpich.so serves it"])
            self.assertEqual(done.out, f"preload {self.prefix.library('mpich')}\n")
        done = self.run_here(*MPICH, "-n", 1, sys.executable, "-S", show, env={**EXPLAIN, "PYTHONPATH": str(SCRATCH / "nothing")})
        self.assertEqual(done.code, 0, done.text)

    def test_hosts_get_the_library_too(self):
        show = {name: script(name, '#!/bin/sh\nprintf "%s\\n" "$*"\n') for name in ("mpirun.openmpi", "mpiexec.hydra")}
        here = script("here", '#!/bin/sh\nshift; exec "$@"\n')
        mpi5 = SCRATCH / "mpi5"
        mpi5.mkdir()
        # An Open MPI of another place: the name of its library is that of the distribution's.
        compile_with("cc", "mpi5/libmpi.so.40", "int MPI_Init(void) { return 0; }\n", "-shared", "-fPIC", "-Wl,-soname,libmpi.so.40")
        far = compile_with("cc", "far", "int MPI_Init(void);\nint main(void) { return MPI_Init(); }\n", mpi5 / "libmpi.so.40", f"-Wl,-rpath,{mpi5}")
        done = self.run_here(show["mpirun.openmpi"], "-H", "a,b", "-n", 2, far, env=EXPLAIN)
        self.assertEqual((done.code, done.out), (0, f"-x LD_PRELOAD -H a,b -n 2 {far}\n"), done.text)
        self.assertEqual(done.said, [f"{far} needs libmpi.so.40 (Open MPI): the interposed library libsumac_mpi_openmpi.so serves it"])
        done = self.run_here(show["mpirun.openmpi"], "-n", 2, far)
        self.assertEqual(done.out, f"-n 2 {far}\n", done.text)
        done = self.run_here(show["mpirun.openmpi"], "-x", "LD_PRELOAD=x.so", "-n", 2, far)
        self.assertEqual(done.out, f"-x LD_PRELOAD={self.prefix.library('openmpi')}:x.so -n 2 {far}\n", done.text)
        hosts = ["--hosts", "a:2", "--address", "127.0.0.1", "--launcher", here]
        done = self.run_here(*hosts, show["mpiexec.hydra"], "-n", 2, SCRATCH / "mpich")
        self.assertEqual((done.code, done.out), (0, f"-hosts a:2 -n 2 {SCRATCH}/mpich\n"), done.text)
        done = self.run_here(*hosts, show["mpirun.openmpi"], "-n", 2, far)
        self.assertRegex(done.out, rf"^--host a:2 --mca plm_rsh_agent {here} .*-x LD_PRELOAD .*-n 2 {far}\n", done.text)


class Settings(unittest.TestCase):
    def test_words_of_the_launcher_start_the_tree(self):
        """As HCOLL_ENABLE_SHARP=3 in the environment does."""
        for words in ([*OPENMPI, "-x", "HCOLL_ENABLE_SHARP=3", "-n", 2, SCRATCH / "open"],
                      ["env", "HCOLL_ENABLE_SHARP=3", *OPENMPI, "-n", 2, SCRATCH / "open"]):
            done = run(*words)
            self.assertEqual(done.code, 0, done.text)
            self.assertIn("HCOLL_SHARP_NP=1", done.said[0])
            self.assertGreater(done.tally["tree"], 0, done.text)

    def test_words_of_the_launcher_win_over_the_environment(self):
        done = run(*OPENMPI, "-x", "HCOLL_ENABLE_SHARP=0", "-n", 2, SCRATCH / "open", env={"HCOLL_ENABLE_SHARP": "3"})
        self.assertEqual((done.code, done.said, done.tally["tree"]), (0, [], 0), done.text)
        self.assertGreater(done.tally["shared"], 0, done.text)

    def test_a_wrapped_launcher_needs_no_daemon(self):
        done = run("env", "A=1", *OPENMPI, "-n", 2, SCRATCH / "open")
        self.assertEqual((done.code, done.said), (0, []), done.text)
        self.assertGreater(done.tally["shared"], 0, done.text)

    def test_off_loads_nothing(self):
        for words, env in (([*OPENMPI, "-x", "SUMAC_ENABLE=0", "-x", "HCOLL_ENABLE_SHARP=3"], {}), (OPENMPI, {"SUMAC_ENABLE": "0", "HCOLL_ENABLE_SHARP": "3"})):
            done = run(*words, "-n", 2, SCRATCH / "open", env={**EXPLAIN, **env})
            self.assertEqual(done.code, 0, done.text)
            self.assertEqual(done.said, ["SUMAC_ENABLE=0: nothing of Sumac is loaded"])
            self.assertIn("rank 1 of 2, sum 1, preload none, component none", done.out)
            self.assertIsNone(done.tally, done.text)


class BadInput(OnePrefix):
    """The program gets less than its user may expect: one clear line, and it runs all the same."""

    def check(self, done, *lines):
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.said, list(lines), done.text)

    def test_a_program_of_one_mpi_started_by_the_other(self):
        rows = ((MPICH, "open", "libmpi.so.40 (Open MPI), and mpiexec.mpich is hydra, the launcher of MPICH and Intel MPI", "Open MPI"),
                (OPENMPI, "mpich", "libmpich.so.12 (MPICH's ABI), and mpirun.openmpi is Open MPI's", "MPICH or Intel MPI"))
        for launcher, program, names, right in rows:
            # Each rank is a job of its own, with a last line of its own.
            done = subprocess.run([str(word) for word in (self.prefix.sumac, "run", *launcher, "-n", 2, SCRATCH / program)], capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL, timeout=120, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            line = f"{SCRATCH}/{program} needs {names}: each process would be a job of one rank; start it with the launcher of {right}"
            self.assertEqual(said_in(done.stderr), [line], done.stderr)
            self.assertEqual(done.stdout.count("rank 0 of 1, sum 0"), 2, done.stderr)

    def test_a_program_linked_statically_with_its_mpi(self):
        static = compile_with("mpicc.mpich", "static", PROGRAM, "-nodefaultlibs", "-Wl,-Bstatic", "-lmpich", "-Wl,-Bdynamic", "-lucp", "-lucs", "-lhwloc",
                              "-lm", "-lpthread", "-lgcc_s", "-lgcc", "-lc")
        for words in ([*MPICH, "-n", 2, static], [*MPICH, "-n", 2, "env", static]):
            done = self.run_here(*words)
            self.check(done, f"{static} is linked statically with its MPI: nothing can be interposed; it runs without Sumac")
            self.assertIn("rank 1 of 2, sum 1, preload none, component none", done.out)

    def test_a_static_program_for_32_bits(self):
        narrow = compile_with("cc", "narrow", NARROW, "-m32", "-nostdlib", "-static", "-ffreestanding", "-fno-pie", "-no-pie", "-fno-stack-protector")
        try:
            alone = subprocess.run([narrow], check=False).returncode
        except OSError as no_32_bits:
            raise unittest.SkipTest(f"this kernel runs no 32-bit program: {no_32_bits}") from no_32_bits
        self.assertEqual(alone, 0)
        self.check(self.run_here(*MPICH, "-n", 2, narrow), f"{narrow} is a 32-bit program, and Sumac's libraries are not: it runs without Sumac")
        done = run(narrow)
        self.assertEqual(done.code, 0, done.text)
        self.assertNotIn("32-bit", done.err, "it is no MPI program, so nobody expects Sumac in it")

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a program to somebody else")
    def test_a_setuid_program(self):
        other = SCRATCH / "setuid"
        shutil.copy2(SCRATCH / "mpich", other)
        os.chown(other, 65534, 65534)
        other.chmod(0o4755)
        SCRATCH.chmod(0o755)
        self.addCleanup(SCRATCH.chmod, 0o700)
        done = self.run_here(*MPICH, "-n", 1, other)
        self.check(done, f"{other} is setuid, setgid or has capabilities, so the dynamic loader ignores LD_PRELOAD for it: it runs without Sumac")
        self.assertIn("rank 0 of 1", done.out)

    def test_the_library_is_not_installed(self):
        library = pathlib.Path(self.prefix.library("mpich"))
        library.rename(library.with_suffix(".away"))
        self.addCleanup(library.with_suffix(".away").rename, library)
        done = self.run_here(*MPICH, "-n", 2, SCRATCH / "mpich")
        self.check(done, f"{SCRATCH}/mpich needs libmpich.so.12 (MPICH's ABI), and {library} is not there: it runs without Sumac; "
                         "build or install that library")
        self.assertIn("rank 1 of 2, sum 1, preload none, component none", done.out)

    def test_an_option_that_keeps_the_environment_away(self):
        done = self.run_here(*MPICH, "-n", 1, "env", "-i", SCRATCH / "mpich")
        self.check(done, f"env -i keeps LD_PRELOAD from {SCRATCH}/mpich: it runs without Sumac unless it gets LD_PRELOAD={self.prefix.library('mpich')}")
        self.assertIn("rank 0 of 1, sum 0, preload none", done.out)

    def test_a_file_cut_short_is_said_to_be_unreadable(self):
        cut = SCRATCH / "cut"
        cut.write_bytes((SCRATCH / "mpich").read_bytes()[:100])
        cut.chmod(0o755)
        # A real launcher would hand such a file to a shell, which would run its bytes as commands.
        done = self.run_here(script("mpiexec.hydra", "#!/bin/sh\n"), "-n", 1, cut, env=EXPLAIN)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("cut is an ELF file that can't be read: program headers beyond the file's end, and ", done.said[0])

    def test_a_program_that_is_not_there_is_the_launchers_own_complaint(self):
        done = self.run_here(*MPICH, "-n", 1, SCRATCH / "nowhere", env=EXPLAIN)
        self.assertNotEqual(done.code, 0)
        self.assertIn("nowhere is not found", done.said[0])


if __name__ == "__main__":
    case.main()
