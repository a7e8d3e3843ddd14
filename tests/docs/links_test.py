#!/usr/bin/env python3
"""No link of the documents is broken, and the checker finds those that are, in sources and in a built site."""
import importlib.util
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "packaging/site/links.py"
spec = importlib.util.spec_from_file_location("links", SCRIPT)
links = importlib.util.module_from_spec(spec)
spec.loader.exec_module(links)


class Links(unittest.TestCase):
    def test_documents(self):
        pages = links.documents()
        self.assertGreater(len(pages), 80)
        self.assertEqual(links.in_sources(links.ROOT, pages), [])

    def test_every_page_has_its_place_in_the_site(self):
        order = (SCRIPT.parent / "mkdocs.yml").read_text(encoding="utf-8")
        for page in sorted((links.ROOT / "docs").rglob("*.md")):
            name = str(page.relative_to(links.ROOT / "docs"))
            if not name.startswith("adr/") or name == "adr/README.md":
                self.assertIn(f" {name}\n", order, "give the page a line under `nav` of packaging/site/mkdocs.yml")

    def test_sources_with_faults(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            (root / "b.md").write_text("# Two words, `code`\n\n# Two words, `code`\n")
            page = root / "a.md"
            page.write_text("[1](b.md) [2](b.md#two-words-code) [3](b.md#two-words-code-1) [4](https://example.org) `[5](gone.md)`\n```\n[6](gone.md)\n```\n"
                            "[7](gone.md) [8](b.md#three) [9](../out.md) [10](#here)\n")
            found = links.in_sources(root, [page])
            self.assertEqual([line.split(": ")[1] for line in found], ["gone.md", "b.md#three", "../out.md", "#here"])

    def test_site_with_faults(self):
        with tempfile.TemporaryDirectory() as folder:
            site = pathlib.Path(folder).resolve()
            (site / "b.html").write_text('<h1 id="top">B</h1>')
            (site / "own.css").write_text("@import 'https://example.org/x.css'; a { background: url(data:image/png;base64,AA) }")
            (site / "a.html").write_text('<link rel="stylesheet" href="own.css"><link rel="stylesheet" href="//example.org/y.css"><script src="https://example.org/z.js"></script>'
                                         '<a href="https://example.org">far</a><a href="b.html#top">good</a><a href="b.html#none">x</a><a href="c.html">y</a><img src="d.svg">')
            found = links.in_site(site)
            self.assertEqual(len(found), 6, found)
            for piece in ("//example.org/y.css", "https://example.org/z.js", "b.html#none", "c.html", "d.svg", "https://example.org/x.css"):
                self.assertTrue(any(piece in line for line in found), piece)

    def test_an_empty_site_is_a_fault(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(len(links.in_site(pathlib.Path(folder))), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
