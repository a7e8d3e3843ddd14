"""The component that `make component` builds for an Open MPI 5.0, in programs of that Open MPI. SUMAC_OMPI5_PREFIX names its prefix; it was
configured --with-devel-headers. Nothing is downloaded for it."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position
from demolib import profile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pmpi"))
import mpis  # noqa: E402  pylint: disable=wrong-import-position

NAMED = os.environ.get("SUMAC_OMPI5_PREFIX", "")
PREFIX = pathlib.Path(NAMED).resolve()
LEADERS = {"HWLOC_SYNTHETIC": "package:4 core:2 pu:1", "HCOLL_SBGP": "basesmsocket,p2p", "HCOLL_BCOL": "basesmuma,ucx_p2p"}
PROGRESS_THREAD = {"SUMAC_PROGRESS_THREAD": "1"}

# Each row has: program, its words, numbers of ranks, what it prints, and what none of its calls may be: left to the next module.
BY_SHARED_MEMORY = [
    ("forms", [], (2, 3, 4), r"forms: \d+ right on {ranks} ranks"),
    ("own", [], (2, 3, 4), r"own: 696 right on {ranks} ranks"),
    ("corners", [], (2, 4), r"corners: 11 passed on {ranks} ranks"),
    ("defects", ["orders"], (2, 4), r"defects: orders passed on {ranks} ranks"),
    ("defects", ["idup"], (2, 3), r"defects: idup passed on {ranks} ranks"),
    ("churn", [], (4,), "churn: 40 rounds passed"),
    ("lives", ["7"], (4,), r"lives: seed 7: \d+ collectives right"),
    ("threads", [], (2,), "threads: passed"),
    ("isend_barrier", [], (3,), "isend_barrier: passed"),
    ("hygiene", ["many", "50"], (3,), "hygiene: many passed"),
    ("hygiene", ["free"], (3,), "hygiene: free passed"),
    ("hygiene", ["fork"], (3,), "hygiene: fork passed"),
]
BY_LEADERS = [
    ("forms", ["quick,same"], (4,), r"forms: \d+ right on {ranks} ranks"),
    ("own", ["tame"], (4,), r"own: 396 right on {ranks} ranks"),
    ("corners", [], (3,), r"corners: 11 passed on {ranks} ranks"),
    ("defects", ["uneven"], (3,), r"defects: uneven passed on {ranks} ranks"),
    ("defects", ["holes"], (3,), r"defects: holes passed on {ranks} ranks"),
]


class OpenMpi5(mpis.Mpi):
    def compiler(self, language):
        return str(PREFIX / "bin" / language)


def make_component():
    """Returns the version and the Open MPI of the prefix, which starts programs with the component that was built for it."""
    done = case.start(["make", "-C", mpis.ROOT, "component", f"MPI={PREFIX}"], seconds=1500)
    made = re.search(r"^component: (\S+)/mca_coll_hcoll\.so;", done.out, re.MULTILINE)
    if done.code != 0 or made is None:
        raise AssertionError(done.text)
    version = case.start(["cmake", f"-DPREFIX={PREFIX}", "-P", mpis.ROOT / "cmake" / "OpenMpi.cmake"]).out.strip()
    theirs = case.start([PREFIX / "bin" / "ompi_info", "--path", "pkglibdir", "--parsable"]).out.strip().split(":")[-1]
    return version, OpenMpi5(f"openmpi-{version}", "", pathlib.Path(made[1]) / "mca_coll_hcoll.so",
                             (PREFIX / "bin" / "mpirun", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1",
                              "--mca", "mca_base_component_path", f"{made[1]}:{theirs}"))


def setUpModule():  # pylint: disable=invalid-name
    Component.version, Component.mpi = make_component()


class Component(unittest.TestCase):
    version = ""
    mpi: OpenMpi5

    def program(self, name):
        return self.mpi.compile(name, "mpicc", mpis.ROOT / "tests" / "mpi" / f"{name}.c", flags=["-Wl,--no-as-needed", "-lm", "-pthread"])

    def run_component(self, ranks, program, *args, env=None, preload=""):
        # A function that the component misses would be found only by the call of it.
        return self.mpi.run(ranks, program, *args, env={"LD_BIND_NOW": "1", **(env or {})}, preload=preload)

    def passes(self, row, ranks, env=None):
        program, words, _, prints = row
        done = self.run_component(ranks, self.program(program), *words, env=env)
        self.assertEqual(done.code, 0, done.text)
        self.assertRegex(done.out, prints.format(ranks=ranks))
        return done

    def test_programs_by_shared_memory(self):
        for row in BY_SHARED_MEMORY:
            for ranks in row[2]:
                with self.subTest(program=row[0], words=row[1], ranks=ranks):
                    done = self.passes(row, ranks)
                    self.assertGreater(done.tally["shared"], 0, done.text)
                    self.assertEqual(done.tally["next"], 0, done.text)

    def test_programs_by_leaders(self):
        for row in BY_LEADERS:
            for ranks in row[2]:
                with self.subTest(program=row[0], words=row[1], ranks=ranks):
                    self.assertGreater(self.passes(row, ranks, LEADERS).tally["leaders"], 0)

    def test_programs_beside_a_thread_that_moves_what_is_posted(self):
        for row in [row for row in BY_SHARED_MEMORY if row[0] in ("forms", "own", "threads")]:
            with self.subTest(program=row[0]):
                self.assertEqual(self.passes(row, row[2][0], PROGRESS_THREAD).tally["next"], 0)

    def test_random_cases(self):
        for ranks, env, part in ((2, {}, "shared"), (3, {}, "shared"), (4, {}, "shared"), (4, LEADERS, "leaders")):
            with self.subTest(ranks=ranks, part=part):
                tame = ["--tame"] if env else []
                done = self.run_component(ranks, self.mpi.host_cases(), "--cases", 150, "--seed", 1, *tame, env=env)
                self.assertEqual(done.code, 0, done.text)
                self.assertIn(f"150 cases on {ranks} ranks right", done.out)
                self.assertGreater(done.tally[part], 50, done.text)

    def test_every_type_and_operation(self):
        if "bindings:mpif.h:yes" not in case.start([PREFIX / "bin" / "ompi_info", "--parsable"]).out:
            self.skipTest(f"{PREFIX} was configured without Fortran, whose types are among them")
        done = self.run_component(4, self.program("matrix"), "quick")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("reductions right on 4 ranks", done.out)
        self.assertGreater(done.tally["shared"], 1000, done.text)
        self.assertEqual(done.tally["next"], 0, done.text)

    def test_a_profile_is_the_programs_own_count(self):
        # Open MPI's own calls of a module are told from the program's by their caller, which differs between releases.
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_component(3, self.program("counted"), 1, 0, "full", env={"SUMAC_PROFILE": "2", "SUMAC_TRACE": folder})
            self.assertEqual(done.code, 0, done.text)
            self.assertEqual(profile.compare(done.out, done.err, pathlib.Path(folder), 3), [], done.text)
            self.assertEqual({row.way for row in profile.read(done.err).rows}, {"shared memory", "next module"}, done.text)

    def test_the_tree(self):
        # `sumac run` takes the interposed library for a program of Open MPI 5, so the launcher is hidden from it.
        hidden = case.BUILD / "tests" / "pmpi" / self.mpi.name / "hidden.sh"
        hidden.parent.mkdir(parents=True, exist_ok=True)
        hidden.write_text('#!/bin/sh\nunset LD_PRELOAD\n"$@"\nexit $?\n', encoding="utf-8")
        hidden.chmod(0o755)
        command = [case.SUMAC, "run", "--tree", hidden, *self.mpi.start, "-n", 4, self.program("churn")]
        done = case.start(command, {**mpis.AS_ROOT, "LD_BIND_NOW": "1"})
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("churn: 40 rounds passed", done.out)
        self.assertGreater(done.tally["tree"], 100, done.text)
        self.assertEqual(done.tally["next"], 0, done.text)

    def test_switched_off(self):
        for env in ({"OMPI_MCA_coll_hcoll_enable": "0"}, {"SUMAC_ENABLE": "0"}):
            done = self.run_component(3, self.program("isend_barrier"), env=env)
            self.assertEqual(done.code, 0, done.text)
            self.assertIn("isend_barrier: passed", done.out)
            self.assertNotIn("sumac", done.err.lower())

    def test_abort_ends_everybody(self):
        self.assertEqual(self.run_component(3, self.program("hygiene"), "abort").code, 5)

    def test_another_release_gets_one_line_and_its_own_collectives(self):
        folder = case.BUILD / "tests" / "pmpi" / self.mpi.name
        folder.mkdir(parents=True, exist_ok=True)
        source, claims = folder / "release.c", folder / "release.so"
        source.write_text('#include <string.h>\nint PMPI_Get_library_version(char* text, int* length) {\n'
                          '  *length = (int)strlen(strcpy(text, "Open MPI v5.0.99, package: another"));\n  return 0;\n}\n', encoding="utf-8")
        subprocess.run([self.mpi.compiler("mpicc"), "-shared", "-fPIC", "-o", claims, source], check=True)
        done = self.run_component(3, self.program("isend_barrier"), preload=str(claims))
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("isend_barrier: passed", done.out)
        self.assertIsNone(done.tally, done.text)
        line = f'built for Open MPI {self.version} and does nothing in "Open MPI v5.0.99": build it for that one (make component MPI=/prefix)'
        self.assertEqual(done.err.count(line), 1, done.text)


if __name__ == "__main__":
    if not NAMED:
        print("skipped: SUMAC_OMPI5_PREFIX names no Open MPI 5.0 (configured --with-devel-headers, and installed)")
        sys.exit(77)
    case.main()
