#!/usr/bin/env python3
"""What pages say about speed is what the tables of docs/results say, and each table of measurements has its date."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PERFORMANCE = (ROOT / "docs/performance.md").read_text()
RESULTS = sorted((ROOT / "docs/results").glob("*.md"))
TABLES = "\n".join(page.read_text() for page in RESULTS)
DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")


def table(name):
    """Returns {case: {column: text}} of a pasted table."""
    text = re.search(rf"<!-- {name}:begin -->\n(.*?)<!-- {name}:end -->", TABLES, re.DOTALL).group(1)
    lines = [[cell.strip().strip("*") for cell in line.strip("|\n ").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {line[0]: dict(zip(lines[0], line)) for line in lines[2:]}


HOSTS = [table("host-2"), table("host-2-xeon")]


def ratios(ranks):
    """Returns the ratios to the best peer, of collectives among so many ranks, in all tables."""
    return [float(row["best peer / Sumac"]) for rows in HOSTS for case, row in rows.items() if re.search(rf"-({ranks})r$", case)]


class Claims(unittest.TestCase):
    def test_the_range_of_the_ratios_is_that_of_the_tables(self):
        one_a_core = sorted(ratios("2"))
        as_fast = [ratio for ratio in one_a_core if ratio < 1.05]
        self.assertEqual([case for case, row in HOSTS[0].items() if float(row["best peer / Sumac"].replace("-", "9")) in as_fast and case.endswith("-2r")],
                         ["scatter-64KiB-2r"], "the pages say which case is as fast, no faster")
        self.assertEqual(len(as_fast), 1)
        crowded = sorted(ratios("8|16"))
        for page in ("README.md", "docs/start/mpi.md", "docs/performance.md"):
            text = " ".join((ROOT / page).read_text().split())
            self.assertIn(f"{one_a_core[1]:.1f} to {one_a_core[-1]:.0f} times as fast as the fastest of", text, page)
            self.assertIn(f"{crowded[0]:.1f} to {crowded[-1]:.1f} times", text, page)

    def test_the_first_table_has_the_numbers_of_the_others(self):
        fabric = table("fabric")
        first = [[cell.strip() for cell in line.strip("|").split("|")] for line in PERFORMANCE.splitlines() if re.match(r"\| (one host|\d+ hosts), ", line)]
        cases = ["allreduce-8B-2r", "allreduce-1MiB-2r", "barrier-8r", "allreduce-8B-16h-500us", "allreduce-8B-64h-10ms", "allreduce-16MiB-8h"]
        self.assertEqual(len(first), len(cases))
        for line, case in zip(first, cases):
            row = HOSTS[0].get(case) or fabric[case]
            wanted = [row["Sumac"], row.get("Open MPI 4.1") or row["Open MPI default"]]
            self.assertEqual([cell.split()[0] for cell in line[2:4]], [cell.split()[0] for cell in wanted], case)
            if case in fabric:
                self.assertEqual(line[4].split()[0], row["best tuned"].split()[0], case)
                self.assertIn(line[5].split()[0], (row["payload limit"], row["wire limit"]), case)

    def test_each_table_of_measurements_has_its_date(self):
        self.assertGreater(len(RESULTS), 5)
        for page in (ROOT / "README.md", *RESULTS):
            text = page.read_text()
            for begin in re.finditer(r"<!-- ([\w-]+):begin -->\n(\S)", text):
                if begin.group(2) != "|":
                    continue  # no table: not measured yet, or the output of a command
                section = text[max(0, text.rfind("\n## ", 0, begin.start())):begin.start()]
                self.assertRegex(section, DATE, f"{page}: the table {begin.group(1)}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
