#!/usr/bin/env python3
"""The text of a page of the site, from the document of the repository."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "packaging/site"))
import pages  # noqa: E402


class Pages(unittest.TestCase):
    def test_lists(self):
        rows = (
            ("a list after a paragraph gets a blank line", "words:\n- one\n- two\n", "words:\n\n- one\n- two\n"),
            ("one that has it gets no other", "words:\n\n- one\n", "words:\n\n- one\n"),
            ("an inner list is indented by four", "1. one\n   - inner\n2. two\n", "1. one\n    - inner\n2. two\n"),
            ("a longer item stays one", "- one\n  goes on\n- two\n", "- one\n  goes on\n- two\n"),
            ("code is left alone", "```\nwords\n- one\n```\n", "```\nwords\n- one\n```\n"),
            ("a second list, after a paragraph again", "- one\n\nwords\n- two\n", "- one\n\nwords\n\n- two\n"),
        )
        for name, text, found in rows:
            with self.subTest(name):
                self.assertEqual(pages.lists(text), found)

    def test_links(self):
        rows = (
            ("between pages", "docs/start/mpi.md", "[x](../tools.md#a)", "[x](../tools.md#a)"),
            ("a page that is made from the code", "docs/start/mpi.md", "[x](../reference.md#options)", "[x](../config.md)"),
            ("the list of those pages", "docs/index.md", "[x](reference.md)", "[x](reference.md)"),
            ("out of docs/", "docs/security.md", "[x](../SECURITY.md)", "[x](repository/SECURITY.md)"),
            ("a file that is no page", "docs/start/client.md", "[x](../../examples/allreduce.c)", "[x](../repository/examples/allreduce.c.md)"),
            ("a folder", "docs/fabric.md", "[x](../lab/fabrics)", "[x](repository/lab/fabrics/index.md)"),
            ("from a copy back into docs/", "README.md", "![x](docs/pieces.svg) [y](docs/reference.md#wire)", "![x](../pieces.svg) [y](../wire.md)"),
            ("elsewhere, and on the page itself", "docs/index.md", "[x](https://example.org) [y](#here)", "[x](https://example.org) [y](#here)"),
        )
        for name, path, text, found in rows:
            with self.subTest(name):
                self.assertEqual(pages.relink(path, text), found + "\n")

    def test_copies(self):
        self.assertIn("````c\n", pages.copied("examples/allreduce.c"))
        self.assertIn("- [test-4h.yaml](test-4h.yaml.md)\n", pages.copied("lab/fabrics"))
        self.assertEqual([str(t) for t in pages.targets("docs/index.md", "[a](../LICENSE) `[b]` [c](tools.md)\n```\n[d](gone)\n```\n")], ["LICENSE", "docs/tools.md"])

    def test_every_decision_is_listed_by_number_and_title(self):
        listed = pages.decisions().split("\n- ")[1:]
        self.assertEqual(len(listed), len(list((pages.ROOT / "docs/adr").glob("0*.md"))))
        for line in listed:
            self.assertRegex(line, r"^\[(\d{4}): \w[^\]]+\]\(\1-[a-z0-9-]+\.md\)\n?$")


if __name__ == "__main__":
    unittest.main(verbosity=2)
