#!/usr/bin/env python3
"""CITATION.cff keeps the rules of its format (1.2.0), and names the version of the project and of the newest entry of CHANGELOG.md."""
import pathlib
import re
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Citation(unittest.TestCase):
    def setUp(self):
        # The base loader leaves dates and versions as they are written.
        self.data = yaml.load((ROOT / "CITATION.cff").read_text(encoding="utf-8"), Loader=yaml.BaseLoader)

    def test_format(self):
        known = {"cff-version", "message", "type", "title", "abstract", "authors", "version", "date-released", "license", "keywords", "repository-code", "url", "doi"}
        self.assertLessEqual(set(self.data), known)
        self.assertEqual(self.data["cff-version"], "1.2.0")
        self.assertEqual(self.data["type"], "software")
        for key in ("message", "title"):
            self.assertTrue(self.data[key].strip(), key)
        self.assertRegex(self.data["date-released"], r"^\d{4}-(0[1-9]|1[0-2])-([0-2]\d|3[01])$")
        self.assertTrue(self.data["authors"])
        for author in self.data["authors"]:
            self.assertTrue({"name"} <= set(author) or {"family-names", "given-names"} <= set(author), author)
        self.assertEqual(len(set(self.data["keywords"])), len(self.data["keywords"]))

    def test_licence(self):
        self.assertEqual(self.data["license"], "BSD-3-Clause")
        self.assertIn("BSD 3-Clause", (ROOT / "LICENSE").read_text(encoding="utf-8"))

    def test_version(self):
        project = re.search(r"^project\(sumac VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE)[1]
        newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
        self.assertEqual(self.data["version"], newest)
        self.assertEqual(newest.partition("~")[0], project)


if __name__ == "__main__":
    unittest.main(verbosity=2)
