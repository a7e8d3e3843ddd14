import json
import tempfile
import unittest
from pathlib import Path

from core import table as T


class Numbers(unittest.TestCase):
    def test_as_many_digits_as_a_person_reads(self):
        for value, unit, expected in ((None, "ms", "-"), (671.1, "ms", "671"), (20.04, "ms", "20.0"), (2.345, "us", "2.35"),
                                      (0.0664, "us", "0.066"), (0.9, "share", "0.900"), (7.5, "ratio", "7.500"),
                                      (2 << 20, "bytes", "2.10M"), (12345, "1/s", "12.3k"), (999, "bytes", "999")):
            self.assertEqual(T.number(value, unit), expected)


class Output(unittest.TestCase):
    def test_columns_are_padded(self):
        lines = T.markdown(("case", "x"), [("a", "1.00"), ("longer", "-")])
        self.assertEqual(lines, ["| case   | x    |", "| ------ | ---- |", "| a      | 1.00 |", "| longer | -    |"])

    def test_the_keys_of_an_entry_come_first_and_in_this_order(self):
        one = T.entry("a", "ms", 1.5, {"MPICH": 2.0}, 1 / 3, None, ok=True)
        self.assertEqual(list(one), ["case", "unit", "sumac", "peers", "limit", "wire_limit", "bare", "ok"])
        self.assertEqual((one["limit"], one["wire_limit"]), (0.3333, None))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "deep" / "x.json"
            T.write(path, [T.entry("a", "ms", None, {}, None, None)], ["| a |"], "<svg/>")
            self.assertEqual(json.loads(path.read_text())[0]["case"], "a")
            self.assertEqual((path.with_suffix(".txt").read_text(), path.with_suffix(".svg").read_text()), ("| a |\n", "<svg/>"))


if __name__ == "__main__":
    unittest.main()
