"""`make component MPI=/prefix`: each wrong prefix ends with one sentence that names what is missing and the remedy; nothing is built or installed."""

import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = re.search(r"set\(SUMAC_OMPI_HEADERS ([^)]*)\)", (ROOT / "cmake" / "OpenMpi.cmake").read_text(encoding="utf-8"))[1].split()


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
        for version in ("3.1.6", "4.0.7", "5.0.8"):
            self.mpi_of(version)
            self.refused(f"Open MPI {version}: the component is for 4.1 alone")

    def test_without_internal_headers(self):
        self.mpi_of("4.1.6")
        self.refused(f"Open MPI 4.1.6 without internal headers ({len(HEADERS)} missing, the first is include/openmpi/ompi_config.h): "
                     "configure Open MPI --with-devel-headers and install it again")
        for header in HEADERS[:-1]:
            self.put(f"include/openmpi/{header}")
        self.refused(f"Open MPI 4.1.6 without internal headers (1 missing, the first is include/openmpi/{HEADERS[-1]})")

    def test_without_a_shared_library(self):
        self.mpi_of("4.1.6")
        for header in HEADERS:
            self.put(f"include/openmpi/{header}")
        self.refused("Open MPI 4.1.6 without lib/libmpi.so: build Open MPI with shared libraries")


class Distribution(unittest.TestCase):
    def test_the_distributions_open_mpi_is_one_that_a_component_can_be_built_for(self):
        prefix = next(pathlib.Path("/usr/lib").glob("*/openmpi/include/openmpi"), None)
        if prefix is None:
            self.skipTest("no Open MPI with development headers (install libopenmpi-dev)")
        done = subprocess.run(["cmake", f"-DPREFIX={prefix.parents[1]}", "-P", ROOT / "cmake" / "OpenMpi.cmake"], capture_output=True, text=True, check=False)
        self.assertRegex(done.stdout, r"^4\.1\.\d+\n$", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
