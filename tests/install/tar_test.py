#!/usr/bin/env python3
"""Makes the tar of a build folder, which passes its own last check, and reads what its files ask of a machine. `make toolkit` installs it in
fresh roots (tests/toolkit).
usage: tar_test.py BUILD
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SANITIZED = not re.search(r"^SUMAC_SANITIZE:\w+=$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
# RHEL 8 has these; Ubuntu 20.04 and Debian 11 have newer ones (docs/install.md).
MOST = {"GLIBC": (2, 28), "GCC": (7, 0, 0)}


def run(*command, **more):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SUMAC_", "SHARP_", "HCOLL_", "LD_"))}
    return subprocess.run([str(word) for word in command], env={**env, **more}, capture_output=True, text=True, timeout=280, check=False)


@unittest.skipIf(SANITIZED, "a build with a sanitizer is not for people")
class Tar(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="sumac-tar-")
        cls.addClassCleanup(scratch.cleanup)
        # The least compression, because the archive is unpacked again at once.
        done = run(ROOT / "packaging/tar", BUILD, scratch.name, XZ_OPT="-0")
        assert done.returncode == 0, done.stdout + done.stderr
        archive = pathlib.Path(done.stdout.split()[-1])
        subprocess.run(["tar", "-C", scratch.name, "-xf", archive], check=True)
        cls.top = archive.with_name(archive.name.removesuffix(".tar.xz"))

    def objects(self):
        return [path for path in sorted(self.top.rglob("*")) if not path.is_symlink() and path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]

    def test_no_file_asks_for_a_newer_c_library_than_the_oldest_machine_has(self):
        read, newer = 0, []
        for path in self.objects():
            read += 1
            for version, symbol in re.findall(r"\*UND\*\s+[0-9a-f]+\s+\(?(\w+_[0-9.]+)\)?\s+(\S+)", run("objdump", "-T", path).stdout):
                library, number = version.rsplit("_", 1)
                if library in MOST and tuple(map(int, number.split("."))) > MOST[library]:
                    newer.append(f"{path.relative_to(self.top)}: {symbol} {version}")
            # A version that no symbol has any more would be looked for all the same.
            for number in re.findall(r"Name: GLIBC_([0-9.]+)", run("readelf", "-VW", path).stdout):
                if tuple(map(int, number.split("."))) > MOST["GLIBC"]:
                    newer.append(f"{path.relative_to(self.top)}: GLIBC_{number}")
        self.assertGreater(read, 20)
        self.assertEqual(newer, [])

    def test_what_other_peoples_programs_load_needs_no_cxx_library(self):
        # The one in lib/bundled is for our programs: a program of the machine may have loaded an older one already.
        libraries = [path for path in self.objects() if ".so" in path.name and "bundled" not in path.parts]
        self.assertGreater(len(libraries), 10)
        self.assertEqual([str(path) for path in libraries if "libstdc++" in run("readelf", "-dW", path).stdout], [])

    def test_nothing_of_glibc_is_bundled(self):
        self.assertEqual([path.name for path in (self.top / "lib/bundled").iterdir() if re.match(r"(ld-linux|libc|libm|libdl|libpthread|librt)[.-]", path.name)], [])

    def test_it_says_itself_what_it_needs(self):
        self.assertEqual((self.top / "share/sumac/needs").read_text(), "glibc 2.28\n")

    def test_its_programs_find_its_libraries(self):
        done = run(self.top / "bin/sumac", "run", self.top / "lib/sumac/examples/example-allreduce")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
