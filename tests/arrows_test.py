#!/usr/bin/env python3
"""Tests docs/arrows.py: the picture is the least set of arrows with the same reach, and a circle is reported, not drawn."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "docs"))
sys.dont_write_bytecode = True
import arrows  # noqa: E402


class Arrows(unittest.TestCase):
    def draw(self, dot: str) -> list[tuple[str, str]]:
        return arrows.reduce_transitively(arrows.parse(dot))

    def test_what_follows_from_others_is_left_out(self):
        self.assertEqual(self.draw("digraph x {\n  rankdir=LR;\n  c -> b\n  c -> a\n  b -> a\n}\n"), [("b", "a"), ("c", "b")])

    def test_a_diamond_keeps_both_sides(self):
        self.assertEqual(self.draw("  d -> b\n  d -> c\n  b -> a\n  c -> a\n  d -> a\n"),
                         [("b", "a"), ("c", "a"), ("d", "b"), ("d", "c")])

    def test_a_circle_is_an_error_that_names_it(self):
        with self.assertRaisesRegex(ValueError, "a -> b -> a"):
            self.draw("  a -> b\n  b -> a\n")

    def test_nothing_is_an_empty_picture(self):
        self.assertIn("flowchart", arrows.mermaid(self.draw("digraph x {\n}\n")))


if __name__ == "__main__":
    unittest.main()
