import json
import tempfile
import unittest
from pathlib import Path

from core import verdict as V
from core.cells import Results
from core.table import write
from demolib import cases as C
from demolib import report

FAST = next(case for case in C.CASES if case.name == "allreduce-8B-16h-500us")  # <= 1.5 x limit (2 ms), <= 1.15 x bare
FREE = next(case for case in C.CASES if case.name.endswith("hostnodes"))
SHARE = next(case for case in C.CASES if case.unit == "share")


def results(case, **columns):
    out = Results()
    for column, value in columns.items():
        out.cell(case.name, column.replace("_", " ")).values.append(value)
    return out


class Limits(unittest.TestCase):
    def test_the_limits_are_those_of_the_fabrics(self):
        limits = {case.name: case.limit for case in C.CASES}
        self.assertEqual(limits["allreduce-8B-16h-5ms"], 20)
        self.assertEqual(limits["barrier-16h-500us"], 2)
        self.assertAlmostEqual(limits["allreduce-16MiB-8h"], 671.1, places=1)
        self.assertAlmostEqual(limits["allreduce-16MiB-8h-hostnodes"], 3355.4, places=1)

    def test_every_fabric_has_its_file_and_its_hosts(self):
        fabrics = Path(__file__).resolve().parents[2] / "lab" / "fabrics"
        for case in C.CASES:
            text = (fabrics / f"{case.fabric.name}.yaml").read_text()
            for node, _ in case.fabric.leaves:
                self.assertIn(f"{node}:", text)
            self.assertEqual(case.fabric.hosts, 16 if "16h" in case.name else 8)


class Verdict(unittest.TestCase):
    def test_both_sides_of_every_boundary(self):
        for name, case, given, expected in (
            ("just inside both", FAST, {"sumac": 2.98, "bare_spin": 2.60}, V.PASS),
            ("above the limit", FAST, {"sumac": 3.01, "bare_spin": 2.90}, V.FAIL),
            ("above bare", FAST, {"sumac": 2.9, "bare_spin": 2.5}, V.FAIL),
            ("above the faster bare counts", FAST, {"sumac": 2.9, "bare_spin": 2.6, "bare_epoll": 2.5}, V.FAIL),
            ("no bare to compare with", FAST, {"sumac": 2.1}, V.OPEN),
            ("no number", FAST, {"bare_spin": 2.6}, V.OPEN),
            ("no target", FREE, {"sumac": 9999}, V.REPORTED),
            ("share at its target", SHARE, {"sumac": 0.9}, V.PASS),
            ("share below", SHARE, {"sumac": 0.899}, V.FAIL),
        ):
            with self.subTest(name):
                self.assertEqual(report.verdict(case, results(case, **given))[0], expected)

    def test_a_failed_run_is_a_failure_whatever_the_others_gave(self):
        given = results(FAST, sumac=2.1, bare_spin=2.0)
        given.cell(FAST.name, "sumac").failures.append("2 wrong results")
        self.assertEqual(report.verdict(FAST, given), (V.FAIL, "2 wrong results"))


class BestTuned(unittest.TestCase):
    def test_is_the_fastest_of_them_and_never_the_default(self):
        given = results(FAST, Open_MPI_default=1.0)
        self.assertIsNone(report.best_tuned(given, FAST.name))
        for column, value in (("Open MPI allreduce 1", 5.0), ("Open MPI allreduce 4", 4.0), ("MPICH", 3.0)):
            given.cell(FAST.name, column).values.append(value)
        self.assertEqual(report.best_tuned(given, FAST.name), "Open MPI allreduce 4")


class Output(unittest.TestCase):
    def test_json_has_the_seven_keys_and_numbers_or_null(self):
        given = results(FAST, sumac=2.2, bare_spin=2.1, Open_MPI_default=7.0, Open_MPI_allreduce_1=5.0)
        given.cell(FAST.name, "cacheline_ns").values.append(103.0)
        entry = report.rows([FAST], given)[0]
        self.assertEqual({k: entry[k] for k in ("case", "unit", "sumac", "peers", "limit", "wire_limit", "bare")},
                         {"case": FAST.name, "unit": "ms", "sumac": 2.2, "limit": 2.0, "wire_limit": None, "bare": 2.1,
                          "peers": {"Open MPI default": 7.0, "Open MPI allreduce 1": 5.0}})
        self.assertEqual((entry["ok"], entry["cacheline_ns"], "cacheline_ns" in entry["runs"]), (True, 103.0, False))
        self.assertEqual([key for key in ("must", "ok", "verdict", "why") if key in report.rows([FAST], given, judges=False)[0]], [])
        empty = report.rows([FAST], Results())[0]
        self.assertEqual((empty["sumac"], empty["bare"], empty["ok"], empty["peers"]), (None, None, None, {}))

    def test_the_table_shows_spread_void_notes_and_the_algorithms_number(self):
        given = results(FAST, bare_spin=2.1, Open_MPI_allreduce_1=5.0)
        cell = given.cell(FAST.name, "Open MPI default")
        cell.values += [7.0, 6.5, 9.0]
        cell.void = 1
        given.note(FAST.name, "sumac", "not built yet")
        lines = report.table([FAST], given)
        self.assertEqual({line.count("|") for line in lines}, {12})
        self.assertEqual(len({len(line) for line in lines}), 1, "columns are padded")
        for text in ("7.00 (6.50..9.00) [1 void]", "5.00 [allreduce 1]", "not built yet", "open"):
            self.assertIn(text, lines[2])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "deep" / "demo.json"
            write(path, report.rows([FAST], Results()), ["| a |"])
            self.assertEqual(json.loads(path.read_text())[0]["case"], FAST.name)
            self.assertEqual(path.with_suffix(".txt").read_text(), "| a |\n")


if __name__ == "__main__":
    unittest.main()
