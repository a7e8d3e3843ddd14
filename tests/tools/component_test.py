"""`make component MPI=/prefix`: each wrong prefix ends with one sentence that names what is missing and the remedy; nothing is built or installed."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FINDER = ROOT / "cmake" / "OpenMpi.cmake"


def headers(series):
    """Returns the headers that a prefix of the series must have, in the order in which OpenMpi.cmake looks for them."""
    text = FINDER.read_text(encoding="utf-8")
    return [word for name in ("SUMAC_OMPI_HEADERS", f"SUMAC_OMPI_HEADERS_{series}") for word in re.search(rf"set\({name} ([^)]*)\)", text)[1].split()]


PTHREADS = '#define MCA_threads_base_include_HEADER "opal/mca/threads/pthreads/threads_pthreads_threads.h"\n'


def make_component(*words):
    done = subprocess.run(["make", "-C", ROOT, "component", *words], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


class Prefixes(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.prefix = pathlib.Path(temporary.name)

    def put(self, name, text=""):
        path = self.prefix / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def mpi_of(self, version):
        names = ("MAJOR", "MINOR", "RELEASE")
        self.put("include/mpi.h", "".join(f"#define OMPI_{name}_VERSION {number}\n" for name, number in zip(names, version.split("."))))

    def refused(self, words):
        code, text = make_component(f"MPI={self.prefix}")
        self.assertNotEqual(code, 0, text)
        self.assertIn(f"{self.prefix}: {words}", text)
        self.assertNotIn("mca_coll_hcoll", text)

    def test_no_prefix(self):
        code, text = make_component("MPI=")
        self.assertNotEqual(code, 0)
        self.assertIn("component: name the prefix of an Open MPI: make component MPI=/opt/openmpi", text)

    def test_an_empty_folder(self):
        self.refused("there is no include/mpi.h: name the prefix that Open MPI was installed with")

    def test_another_mpi(self):
        self.put("include/mpi.h", "#define MPICH_VERSION \"4.0.2\"\n")
        self.refused("include/mpi.h belongs to another MPI than Open MPI")

    def test_another_series(self):
        for version in ("3.1.6", "4.0.7", "4.2.0", "5.1.0", "6.0.0", "15.0.1", "4.10.0"):
            self.mpi_of(version)
            self.refused(f"Open MPI {version}: the component is for 4.1 and 5.0; programs of others take the interposed library (sumac run)")

    def test_without_internal_headers(self):
        for version in ("4.1.6", "5.0.8"):
            with self.subTest(version=version):
                shutil.rmtree(self.prefix / "include", ignore_errors=True)
                self.mpi_of(version)
                needed = headers(version[:3])
                self.refused(f"Open MPI {version} without internal headers ({len(needed)} missing, the first is include/openmpi/ompi_config.h): "
                             "configure Open MPI --with-devel-headers and install it again")
                for header in needed[:-1]:
                    self.put(f"include/openmpi/{header}")
                self.refused(f"Open MPI {version} without internal headers (1 missing, the first is include/openmpi/{needed[-1]})")

    def whole(self, version, config=PTHREADS):
        """Puts all headers of a version into the prefix, and a libmpi.so."""
        shutil.rmtree(self.prefix / "include", ignore_errors=True)
        self.mpi_of(version)
        for header in headers(version[:3]):
            self.put(f"include/openmpi/{header}")
        self.put("include/openmpi/opal_config.h", config)
        self.put("include/pmix.h")
        self.put("lib/libmpi.so")

    def test_without_a_shared_library(self):
        for version in ("4.1.6", "5.0.8"):
            self.whole(version)
            (self.prefix / "lib" / "libmpi.so").unlink()
            self.refused(f"Open MPI {version} without lib/libmpi.so: build Open MPI with shared libraries")

    def test_with_other_threads(self):
        self.whole("5.0.8", PTHREADS.replace("pthreads", "argobots"))
        self.refused("Open MPI 5.0.8 with other threads than POSIX's: configure Open MPI --with-threads=pthreads and install it again")

    def test_that_loads_no_plug_in(self):
        for version in ("4.1.6", "5.0.11"):
            self.whole(version, PTHREADS + "#define OPAL_HAVE_DL_SUPPORT 0\n")
            self.refused(f"Open MPI {version} that loads no plug-in: configure it without --disable-dlopen, or take the interposed library")

    def found(self):
        """Returns what OpenMpi.cmake prints for the prefix; make component would now compile."""
        return subprocess.run(["cmake", f"-DPREFIX={self.prefix}", "-P", FINDER], capture_output=True, text=True, check=False)

    def test_both_series_are_found(self):
        for version in ("4.1.0", "4.1.6", "5.0.0", "5.0.10"):
            self.whole(version)
            done = self.found()
            self.assertEqual((done.stdout, done.returncode), (f"{version}\n", 0), done.stderr)

    def test_headers_of_the_other_series_do_not_count(self):
        self.whole("4.1.6")
        self.mpi_of("5.0.8")
        self.assertIn(f"(2 missing, the first is include/openmpi/{headers('5.0')[-2]})", self.found().stderr)


class Distribution(unittest.TestCase):
    def test_the_distributions_open_mpi_is_one_that_a_component_can_be_built_for(self):
        prefix = next(pathlib.Path("/usr/lib").glob("*/openmpi/include/openmpi"), None)
        if prefix is None:
            self.skipTest("no Open MPI with development headers (install libopenmpi-dev)")
        done = subprocess.run(["cmake", f"-DPREFIX={prefix.parents[1]}", "-P", FINDER], capture_output=True, text=True, check=False)
        self.assertRegex(done.stdout, r"^(4\.1|5\.0)\.\d+\n$", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
