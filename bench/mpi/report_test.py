import unittest

from core import verdict as V
from core.cells import Results
from mpi import plan as P, report

GROUPS = {group.name: group for group in P.groups(P.MPIS)}


def pick(case):
    """Returns (the group, its cells of this case)."""
    for group in GROUPS.values():
        cells = [cell for cell in group.cells if cell.case == case]
        if cells:
            return P.with_cells(group, cells), cells
    raise KeyError(case)


def measured(cells, ratios, results=None):
    """Results in which each cell met its MPI in one pair a ratio, each in a start of its own."""
    results = results or Results()
    for cell in cells:
        for start, ratio in enumerate(ratios):
            results.cell(cell.name, report.column(cell)).values.append(1.0)
            results.cell(cell.name, cell.mpi).values.append(ratio)
            results.pair(cell.name, cell.mpi).add(start, ratio)
    return results


def entry(case, ratios):
    group, cells = pick(case)
    (found,) = report.rows([group], measured(cells, ratios), [case])
    return found


class Judging(unittest.TestCase):
    def test_both_sides_of_every_limit(self):
        rows = (
            ("barrier-2r-impi", [1.5] * 5, V.PASS),
            ("barrier-2r-impi", [1.49] * 5, V.FAIL),
            ("allreduce-1MiB-2r-abi", [1.3] * 5, V.PASS),
            ("allreduce-1MiB-2r-abi", [1.29] * 5, V.FAIL),
            ("bcast-8B-2r-mpich4", [1.0] * 5, V.PASS),
            ("bcast-8B-2r-mpich4", [0.99] * 5, V.FAIL),
            ("comm-churn-2r-mpich4", [0.87] * 5, V.PASS),
            ("comm-churn-4r-openmpi4", [0.869] * 5, V.FAIL),
            ("reduce-1KiB-2r-stream-abi", [1.0] * 5, V.PASS),
            ("reduce-1KiB-2r-stream-abi", [0.99] * 5, V.FAIL),
            ("barrier-8r-openmpi5", [2.49] * 5, V.FAIL),
            ("barrier-8r-mpich5", [0.5] * 5, V.REPORTED),
            ("barrier-2r-impi", [9.0] * 4, V.OPEN),
            ("off-cost-openmpi4", [1 / 1.02] * 5, V.PASS),
            ("off-cost-openmpi4", [1 / 1.021] * 5, V.FAIL),
            ("off-cost-openmpi4", [1 / 0.979] * 5, V.FAIL),
            ("osu-bcast-openmpi4", [0.97] * 5, V.PASS),
            ("osu-bcast-openmpi4", [0.969] * 5, V.FAIL),
        )
        for case, ratios, verdict in rows:
            self.assertEqual(entry(case, ratios)["verdict"], verdict, (case, ratios))

    def test_a_partner_who_comes_late_is_judged_by_the_difference(self):
        case = "gather-8B-2r-late-impi"
        group, cells = pick(case)
        for ours, verdict in ((1.0, V.PASS), (1.01, V.FAIL)):
            results = measured(cells, [0.01] * 5)
            for name, value in ((report.column(cells[0]), ours), ("impi", 0.0)):
                results.cell(case, name).values[:] = [value] * 5
            (found,) = report.rows([group], results, [case])
            self.assertEqual((found["verdict"], found["unit"], found["must"]), (verdict, "ms", "<= the MPI's + 1 ms"))
            self.assertEqual(report.undecided([group], results), [], "no ratio to hold a limit")

    def test_another_build_is_compared_and_judged_apart(self):
        for theirs, ok in ((0.98, True), (0.96, False)):
            group, cells = pick("barrier-2r-impi")
            (group,) = P.with_before([group])
            results = measured(cells, [1.5] * 5)
            results.cell(cells[0].name, group.before).values.append(theirs)
            for start in range(5):
                results.pair(cells[0].name, group.before).add(start, theirs)
            (found,) = report.rows([group], results, ["barrier-2r-impi"])
            self.assertEqual((found["verdict"], found["before"], found["before_ok"]), (V.PASS, theirs, ok))
            self.assertIn("| before | / before |", report.table([found])[0])

    def test_an_interval_of_osus_loop_that_reaches_the_limit_is_not_wholly_below_it(self):
        self.assertEqual(entry("osu-bcast-openmpi4", [0.8, 0.8, 0.8, 0.98, 0.99])["verdict"], V.PASS)

    def test_one_size_of_osus_loop_decides_and_is_named(self):
        group, cells = pick("osu-alltoall-openmpi4")
        slow = [cell for cell in cells if cell.bytes == 128 << 10]
        results = measured(slow, [0.9] * 5, measured([cell for cell in cells if cell not in slow], [1.2] * 5))
        (found,) = report.rows([group], results, ["osu-alltoall-openmpi4"])
        self.assertEqual((found["verdict"], found["ratio"], found["why"]), (V.FAIL, 0.9, "128KiB: 0.90 (0.90..0.90)"))
        self.assertEqual([one["size"] for one in found["sizes"]][:2], ["1B", "8B"])

    def test_a_failure_of_ours_decides_and_one_of_the_mpi_leaves_it_open(self):
        group, cells = pick("off-cost-abi")
        for column, verdict in ((P.off("abi"), V.FAIL), ("abi", V.OPEN)):
            results = Results()
            results.cell(cells[1].name, column).failures.append("no answer in 6 s")
            (found,) = report.rows([group], results, ["off-cost-abi"])
            self.assertEqual(found["verdict"], verdict)
            self.assertIn("no answer in 6 s", str(found["failures"]))

    def test_the_median_of_an_mpi_takes_all_sixteen_cells(self):
        group = GROUPS["2r-mpich5"]
        moving = [cell for cell in group.cells if cell.kind in P.MOVING]
        for fast, verdict in ((9, V.PASS), (7, V.FAIL)):
            results = measured(moving[fast:], [1.1] * 5, measured(moving[:fast], [1.5] * 5))
            (found,) = report.rows([group], results, ["median-2r-mpich5"])
            self.assertEqual(found["verdict"], verdict)
        (found,) = report.rows([group], measured(moving[1:], [2.0] * 5), ["median-2r-mpich5"])
        self.assertEqual(found["verdict"], V.OPEN)

    def test_the_tables_have_every_case_and_every_size(self):
        entries = [entry("barrier-2r-impi", [2.0] * 5), entry("osu-gather-openmpi4", [1.5] * 5)]
        text = "\n".join(report.table(entries))
        self.assertIn("| barrier-2r-impi ", text)
        self.assertIn("| osu-gather-openmpi4 512KiB | 1.50 ", text)


class Again(unittest.TestCase):
    def undecided(self, case, ratios):
        group, cells = pick(case)
        return [cell.name for one in report.undecided([group], measured(cells, ratios)) for cell in one.cells]

    def test_a_cell_whose_interval_holds_its_limit_is_measured_again(self):
        self.assertEqual(self.undecided("barrier-2r-impi", [1.4, 1.45, 1.5, 1.55, 1.6]), ["barrier-2r-impi"])
        self.assertEqual(self.undecided("barrier-2r-impi", [1.3] * 5), [])
        self.assertEqual(self.undecided("barrier-2r-impi", [1.6] * 5), [])

    def test_so_is_one_with_few_pairs_but_not_one_that_failed(self):
        self.assertEqual(self.undecided("barrier-8r-impi", [1.3] * 4), ["barrier-8r-impi"])
        group, cells = pick("barrier-8r-impi")
        results = Results()
        results.cell(cells[0].name, "impi").failures.append("no answer in 6 s")
        self.assertEqual(report.undecided([group], results), [])

    def test_the_cells_of_off_cost_stay_together(self):
        self.assertEqual(self.undecided("off-cost-abi", [0.97, 0.98, 0.99, 1.0, 1.03]), ["off-cost-abi-barrier", "off-cost-abi-allreduce"])
        self.assertEqual(self.undecided("off-cost-abi", [1.0] * 5), [])


class OneRowACase(unittest.TestCase):
    def test_a_case_of_all_mpis_is_a_row_and_no_other(self):
        entries = [{"case": f"{case}-{mpi}", "ratio": ratio} for mpi in P.MPIS
                   for case, ratio in (("barrier-8r", 1234.5), ("off-cost", 1.0049), ("bcast-8B-2r", 2.0))]
        entries += [{"case": "osu-bcast-openmpi4", "ratio": 1.9}, {"case": "profile"}]
        lines = [[cell.strip() for cell in line.strip("| ").split("|")] for line in report.by_mpi(entries)]
        self.assertEqual(lines[0], ["case", *(P.LABELS[mpi] for mpi in P.MPIS)])
        self.assertEqual(lines[2:], [["barrier-8r", *["1234"] * 6], ["off-cost", *["1.005"] * 6], ["bcast-8B-2r", *["2.00"] * 6]])


if __name__ == "__main__":
    unittest.main()
