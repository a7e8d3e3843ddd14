#!/usr/bin/env python3
"""Every shared object of the build obeys the rule of allocators.py, which knows one that breaks it, with its symbols and without.
usage: allocators_test.py BUILD
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import allocators

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = '#include <fmt/format.h>\nextern "C" int length(int value) { return static_cast<int>(fmt::format("{}", value).size()); }\n'
INSIDE = ("-static-libstdc++", "-static-libgcc", "-Wl,--version-script,map")


class Allocators(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "a.cpp").write_text(SOURCE)
        (self.folder / "map").write_text("{ global: length; local: *; };\n")

    def library(self, *words):
        subprocess.run(["c++", "-shared", "-fPIC", "-o", "a.so", "a.cpp", *words], cwd=self.folder, check=True)
        return allocators.breaches([self.folder])

    def test_a_runtime_inside_beside_a_library_that_needs_the_shared_one(self):
        for strip in ((), ("-Wl,--strip-all",)):
            with self.subTest(strip=strip):
                objects, hiding, wrong = self.library(*INSIDE, *strip, "-lfmt")
                self.assertEqual((objects, hiding), (1, 1))
                self.assertRegex(wrong[0], r"a\.so has its own operator delete inside, and loads \S*libfmt\.so\.\d+, \S*libstdc\+\+\.so\.6$")

    def test_what_needs_the_shared_runtime_alone_or_none_is_right(self):
        self.assertEqual(self.library("-lfmt"), (1, 0, []))
        for strip in ((), ("-Wl,--strip-all",)):
            with self.subTest(strip=strip):
                self.assertEqual(self.library("-DFMT_HEADER_ONLY", *INSIDE, *strip), (1, 1, []))

    def test_the_libraries_of_this_build(self):
        objects, hiding, wrong = allocators.breaches([BUILD / "lib", BUILD / "python"])
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(objects, 4)
        self.assertGreaterEqual(hiding, 1, "an interposed library has the runtime inside")


if __name__ == "__main__":
    unittest.main(verbosity=2)
