import unittest

from core import verdict as V
from core.cells import Results
from host import cliffs, measuring, plan as P, report

CELLS = {cell.name: (cell, group) for group in P.groups(2) for cell in group.cells}


def table_of(name, mine, **peers):
    """A cell in which each peer met Sumac in three pairs."""
    cell, group = CELLS[name]
    table = Results()
    if mine is not None:
        table.cell(name, group.reference).values.append(mine)
    for peer, value in peers.items():
        peer = peer.replace("_", "-")
        table.cell(name, peer).values.append(value)
        for start in range(5 if mine else 0):
            table.pair(name, peer).add(start, value / mine)
    return cell, group, table


class Judging(unittest.TestCase):
    def verdict(self, *arguments, **peers):
        return report.judge(*table_of(*arguments, **peers))[:2]

    def test_both_sides_of_every_limit(self):
        rows = (
            ("allreduce-8B-2r", 1.0, {"ompi4": 1.8, "mpich5": 9.0}, V.PASS),
            ("allreduce-8B-2r", 1.0, {"ompi4": 9.0, "mpich5": 1.79}, V.FAIL),
            ("allreduce-8B-2r", 1.0, {}, V.OPEN),
            ("allreduce-8B-2r", None, {"ompi4": 1.8}, V.OPEN),
            ("barrier-2r", 1.1, {"ompi5_sm": 1.0, "ompi4": 2.75}, V.PASS),
            ("barrier-2r", 1.2, {"ompi5_sm": 1.0, "ompi4": 9.0}, V.FAIL),
            ("barrier-2r", 1.0, {"ompi5_sm": 1.0, "ompi4": 2.4}, V.FAIL),
            ("barrier-2r", 1.0, {"ompi4": 9.0}, V.OPEN),
            ("overlap-iallreduce-1MiB", 90.0, {"mpich5": 97.0}, V.PASS),
            ("overlap-iallreduce-1MiB", 89.9, {}, V.FAIL),
            ("overlap-iscatterv-1MiB", 90.0, {}, V.PASS),
            ("comm-create", 2.0, {"ompi4": 1.0}, V.PASS),
            ("comm-create", 2.1, {"ompi4": 1.0}, V.FAIL),
            ("comm-churn-2r", 1.15, {"ompi4": 1.0}, V.PASS),
            ("comm-churn-4r", 1.16, {"ompi4": 1.0}, V.FAIL),
            ("comm-new-allreduce-8B-2r", 10.5, {"ompi4": 20.0, "sumac_at_once": 10.0}, V.PASS),
            ("comm-new-allreduce-8B-2r", 10.6, {"ompi4": 20.0, "sumac_at_once": 10.0}, V.FAIL),
            ("comm-new-allreduce-8B-2r", 10.6, {"ompi4": 20.0}, V.OPEN),
            ("comm-new-allreduce-8B-2r", 10.6, {"ompi4": 10.0, "sumac_at_once": 10.0}, V.OPEN),
            ("team-make-2r", 0.06, {"ompi4": 0.001}, V.PASS),
            ("team-make-2r", 0.061, {"ompi4": 0.001}, V.FAIL),
            ("bcast-4KiB-2r-stream", 1.0, {"ompi4": 3.0, "mpich4": 1.0}, V.PASS),
            ("bcast-4KiB-2r-stream", 1.0, {"ompi4": 3.0, "mpich4": 0.99}, V.FAIL),
            ("wide-alltoallv-32KiB-2r", 1.0, {"ompi4": 1.0, "mpich4": 3.0}, V.PASS),
            ("wide-vector-alltoall-64KiB-4r", 1.0, {"ompi4": 0.99, "mpich4": 3.0}, V.FAIL),
            ("gather-8B-4r-late", 0.01, {"ompi4": 20.0, "mpich4": 0.0}, V.PASS),
            ("gather-8B-4r-late", 1.0, {"ompi4": 20.0, "mpich4": 0.0}, V.PASS),
            ("gather-8B-4r-late", 1.01, {"ompi4": 20.0, "mpich4": 0.0}, V.FAIL),
            ("gather-8B-4r-late", 20.5, {"ompi4": 20.0}, V.PASS),
            ("gather-8B-4r-late", 1.0, {}, V.OPEN),
            ("gather-8B-4r-late", None, {"ompi4": 20.0}, V.OPEN),
            ("first-collective", 1.0, {}, V.PASS),
            ("first-collective", 1.01, {}, V.FAIL),
        )
        for name, mine, peers, verdict in rows:
            self.assertEqual(self.verdict(name, mine, **peers)[0], verdict, (name, mine, peers))

    def test_a_failure_of_ours_is_no_missing_number(self):
        cell, group, table = table_of("barrier-2r", 1.0, ompi4=9.0, ompi5_sm=1.0)
        table.cell("barrier-2r", P.SUMAC).failures.append("3 of 400 results of barrier-2r were wrong")
        self.assertEqual(report.judge(cell, group, table)[:2], (V.FAIL, "3 of 400 results of barrier-2r were wrong"))


class Before(unittest.TestCase):
    def test_another_build_is_a_column_of_its_own_and_no_rival(self):
        for theirs, ok in ((0.98, True), (0.96, False)):
            cell, group, table = table_of("barrier-2r", 1.0, ompi5_sm=1.0, ompi4=2.75, before=theirs)
            (group,) = P.with_before([group])
            row = report.row(cell, group, table, {})
            self.assertEqual((row["best_peer"], row["verdict"], row["before"], row["before_ok"]), ("Open MPI 4.1", V.PASS, theirs, ok))
            self.assertNotIn("before", row["peers"])
            self.assertTrue(report.table([row])[0].endswith("| before | / before | 95 %       |"))

    def test_every_group_with_peers_has_the_build_that_goes_with_its_own(self):
        groups = {group.name: group for group in P.with_before(P.groups(2) + P.cliffs())}
        self.assertEqual([groups[name].before for name in ("2r", "overlap", "off-cost", "cliffs")], [P.BEFORE, P.BEFORE_THREAD, P.BEFORE_OFF, None])
        self.assertEqual(groups["2r"].rivals, P.PEERS)

    def test_of_what_runs_apart_the_turns_of_one_start_are_pairs(self):
        (group,) = [group for group in P.with_before(P.groups(2)) if group.name == "overlap"]
        results, cell = Results(), group.cells[0]
        measure = measuring.Measuring(results, {}, None)
        seen = {cell: {group.reference: 1, group.before: 0}}
        results.cell(cell.name, group.reference).values += [50.0, 90.0, 0.0]
        results.cell(cell.name, group.before).values += [100.0, 100.0]
        measure.pair_up(group, 2, seen)
        self.assertEqual(results.pair(cell.name, group.before).starts, {2: [0.9]})


class Cliffs(unittest.TestCase):
    def test_both_sides_of_the_tolerance_up_and_down(self):
        group = P.cliffs()[0]
        for size, ratio, ok in ((12 << 10, 0.84, True), (12 << 10, 0.82, False), (12 << 10, 3.0, True), (4160, 1.21, True),
                                (4160, 1.23, False), (4160, 0.82, False)):
            table, sizes = Results(), {cell.bytes: cell for cell in group.cells if cell.kind == "bcast"}
            table.pair(sizes[size].name, cliffs.SMALLER).add(0, ratio)
            row = next(row for row in cliffs.rows(group, table) if row["case"] == "cliffs-bcast")
            self.assertEqual(row["ok"], ok, (ratio, row["why"]))

    def test_ranks_that_share_cores_are_a_case_of_their_own(self):
        two, crowd = P.cliffs(2)
        self.assertEqual((two.ranks, crowd.ranks, crowd.pinned), (2, 8, False))
        self.assertEqual([row["case"] for row in report.rows([two, crowd], Results(), {})],
                         [f"cliffs-{kind}" for kind in P.CLIFF_KINDS] + ["cliffs-8r-allreduce"])
        sizes = {cell.bytes for cell in crowd.cells}
        self.assertTrue({8192, 8256, 64 * P.KIB, 64 * P.KIB + 64, 128 * P.KIB, 128 * P.KIB + 64} <= sizes, "where `pairs` begins, and its turns end")

    def test_a_pair_in_two_states_of_the_machine_does_not_count(self):
        group, table = P.cliffs()[0], Results()
        small, large = group.cells[0], group.cells[1]
        calm, other = {"ns": 100.0, "round_trip_ns": [80, 80]}, {"ns": 500.0, "round_trip_ns": [400, 400]}
        cliffs.note(table, group, 0, [(small, calm), (large, other)])
        cliffs.note(table, group, 0, [(small, calm), (large, {**calm, "ns": 120.0})])
        pairs = table.pair(large.name, cliffs.SMALLER)
        self.assertEqual((pairs.values, pairs.dropped), ([1.2], 1))


class Rows(unittest.TestCase):
    def test_the_first_seven_keys_are_the_interface(self):
        cell, group, table = table_of("allreduce-8B-2r", 1.0, ompi4=2.0)
        row = report.row(cell, group, table, {})
        self.assertEqual(list(row)[:7], ["case", "unit", "sumac", "peers", "limit", "wire_limit", "bare"])
        self.assertEqual((row["sumac"], row["peers"]["Open MPI 4.1"], row["ratio"], row["best_peer"]), (1.0, 2.0, 2.0, "Open MPI 4.1"))
        self.assertEqual(row["ratio_interval"], [2.0, 2.0])
        self.assertIn("**2.00**", report.table([row])[2])

    def test_large_moves_of_two_ranks_stand_beside_their_copies(self):
        for name, limit in (("alltoall-64KiB-2r", 5.0), ("allgather-1MiB-2r", 5.0), ("alltoall-1KiB-2r", None), ("bcast-64KiB-2r", None)):
            cell, group, table = table_of(name, 6.0, ompi4=7.0)
            asked = cell.copies(2)
            self.assertEqual(asked is not None, limit is not None, name)
            if asked:
                self.assertEqual((asked.kind, asked.bytes, cell.copies(3)), ("copies", cell.bytes, None))
                table.cell(asked.name, P.COPIES).values.append(5.0)
            self.assertEqual(report.row(cell, group, table, {})["limit"], limit, name)

    def test_off_cost_is_one_row_and_its_value_is_the_ratio(self):
        group = next(group for group in P.groups(2) if group.name == "off-cost")
        for ours, ok in ((1.0, True), (1.019, True), (1.03, False), (0.97, False)):
            table = Results()
            for start in range(3):
                table.pair("off-cost", P.OMPI4).add(start, 1 / ours)
            row = report.off_row(group, table)
            self.assertAlmostEqual(row["sumac"], ours)
            self.assertEqual((row["case"], row["unit"], row["ok"]), ("off-cost", "ratio", ok))
        self.assertEqual(report.off_row(group, Results())["verdict"], V.OPEN)


class Interrupted(unittest.TestCase):
    def test_what_was_not_reached_is_open_and_what_was_stands(self):
        _, _, table = table_of("barrier-2r", 1.0, ompi5_sm=1.0, ompi4=2.75)
        entries = report.rows(P.groups(2), table, {})
        verdicts = {entry["case"]: entry["verdict"] for entry in entries}
        self.assertEqual(verdicts.pop("barrier-2r"), V.PASS)
        self.assertEqual(set(verdicts.values()), {V.OPEN})
        self.assertEqual(len(report.table(entries)), 2 + len(entries))
        clock = type("Clock", (), {"elapsed": 90.0})
        stolen = type("Stolen", (), {"words": lambda self: "3 % of its time taken by others (steal)"})()
        table.interrupted = True
        notes = report.footnotes(table, clock, {}, stolen)
        self.assertIn("1.5 min, interrupted; 10 pairs", notes[0])
        self.assertIn("This machine had 3 % of its time taken by others (steal).", notes)


if __name__ == "__main__":
    unittest.main()
