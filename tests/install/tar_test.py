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
# RHEL 9 has these; Ubuntu 22.04 and Debian 12 have newer ones (docs/install.md).
MOST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13)}


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

    def test_no_file_asks_for_a_newer_c_or_cxx_library_than_the_oldest_machine_has(self):
        read, newer = 0, []
        for path in sorted(self.top.rglob("*")):
            if path.is_symlink() or not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
                continue
            read += 1
            for version, symbol in re.findall(r"\*UND\*\s+[0-9a-f]+\s+\(?(\w+_[0-9.]+)\)?\s+(\S+)", run("objdump", "-T", path).stdout):
                library, number = version.rsplit("_", 1)
                if library in MOST and tuple(map(int, number.split("."))) > MOST[library]:
                    newer.append(f"{path.relative_to(self.top)}: {symbol} {version}")
        self.assertGreater(read, 20)
        self.assertEqual(newer, [])

    def test_it_says_itself_what_it_needs(self):
        self.assertEqual((self.top / "share/sumac/needs").read_text(), "glibc 2.34\nGLIBCXX 3.4.29\n")

    def test_its_programs_find_its_libraries(self):
        done = run(self.top / "bin/sumac", "run", self.top / "lib/sumac/examples/example-allreduce")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
