import unittest
from pathlib import Path

from core import verdict as V
from core.cells import Results
from demolib import report

from . import cases, table

ROOT = Path(__file__).resolve().parents[2]


def case(name):
    return next(one for one in cases.CASES if one.name == name)


class Bounds(unittest.TestCase):
    def test_the_method_s_own_numbers(self):
        self.assertAlmostEqual(case("allreduce-16MiB-8h").limit, 671.1, 1)
        self.assertEqual([case(f"{kind}-16h-{delay}").limit for kind in ("allreduce-8B", "barrier") for delay in ("5ms", "500us")],
                         [20.0, 2.0, 20.0, 2.0])
        self.assertEqual(case("allreduce-8B-64h-10ms").limit, 40.0)

    def test_a_method_s_bytes_come_from_the_tool(self):
        bounds = {"ring": {"fixed_s": 1.0, "per_byte_s": 2e-9}}
        found = cases.with_bounds(case("allreduce-16MiB-8h-onhosts"), bounds)
        self.assertAlmostEqual(found.limit, (16 << 20) * 2e-6)
        self.assertTrue(found.limit < found.wire_limit < 1.01 * found.limit)

    def test_headers_are_what_the_links_carry_beside_the_payload(self):
        # One message of 64 KiB: 64 bytes before it, and 8 frames of at most 8,948 bytes of TCP's payload.
        self.assertEqual(cases.wire_bytes(64 << 10), (64 << 10) + 64 + 8 * 66)
        for one in cases.CASES:
            if one.wire_limit:
                self.assertTrue(one.limit < one.wire_limit < 1.01 * one.limit, one.name)

    def test_the_closed_form_of_the_pipeline(self):
        self.assertEqual(cases.pipeline_ms(16, 2, 20.0), 160.0)
        self.assertEqual(cases.pipeline_ms(8, 8, 20.0), 20.0)
        self.assertEqual(cases.pipeline_ms(9, 8, 20.0), 40.0)
        self.assertEqual(case("pipeline-2KiB").limit, 8.0)


class Cases(unittest.TestCase):
    def test_each_has_its_fabric_and_the_hosts_it_counts_on(self):
        for one in cases.CASES:
            if one.fabric.root is not None:
                text = (ROOT / "lab" / "fabrics" / f"{one.fabric.name}.yaml").read_text()
                self.assertIn(f"{one.fabric.root}: {{", text)

    def test_a_name_stands_for_one_case(self):
        names = [one.name for one in cases.CASES]
        self.assertEqual(len(names), len(set(names)))


class Verdicts(unittest.TestCase):
    def judge(self, name, sumac, **columns):
        results = Results()
        results.rates = {one.name for one in cases.CASES if one.bare_share}
        for column, value in {"sumac": sumac, **columns}.items():
            results.cell(name, column).values.append(value)
        return report.verdict(case(name), results)[0]

    def test_a_rate_is_held_against_the_better_way_of_waiting(self):
        bare = {"bare spin": 100.0, "bare epoll": 200.0}
        self.assertEqual(self.judge("node-stream-8c", 169.0, **bare), V.FAIL)
        self.assertEqual(self.judge("node-stream-8c", 170.0, **bare), V.PASS)

    def test_processor_time_is_held_against_bare(self):
        self.assertEqual(self.judge("client-cpu-4MiB", 1.15, **{"bare epoll": 1.0}), V.PASS)
        self.assertEqual(self.judge("client-cpu-4MiB", 1.16, **{"bare epoll": 1.0}), V.FAIL)
        self.assertEqual(self.judge("client-cpu-4MiB", 1.0), V.OPEN)

    def test_where_the_two_take_turns_the_ratios_of_neighbours_count(self):
        """The machine slows down half way: medians apart would say 1.5."""
        results = Results()
        results.cell("client-cpu-4MiB", "bare epoll").values += [1.0, 1.0, 2.0]
        results.cell("client-cpu-4MiB", "sumac").values += [1.1, 2.2, 2.2]
        for ratio in (1.1, 1.1, 1.2):
            results.pair("client-cpu-4MiB", "bare").add(0, ratio)
        self.assertEqual(report.verdict(case("client-cpu-4MiB"), results)[0], V.PASS)
        self.assertIn("1.10 (1.10..1.20)", "".join(table.table([case("client-cpu-4MiB")], results)))
        (row,) = report.rows([case("client-cpu-4MiB")], results)
        self.assertEqual((row["over_bare"], row["over_bare_interval"]), (1.1, [1.1, 1.2]))

    def test_a_row_of_calls_is_held_against_the_best_of_open_mpi(self):
        peers = {"Open MPI default": 55.0, "Open MPI bcast 6": 50.0, "MPICH": 10.0}
        self.assertEqual(self.judge("bcast-64B-16h-500us-stream", 50.0, **peers), V.PASS)
        self.assertEqual(self.judge("bcast-64B-16h-500us-stream", 50.1, **peers), V.FAIL)
        self.assertEqual(self.judge("bcast-64B-16h-500us-stream", 50.0), V.OPEN)
        self.assertEqual(self.judge("reduce-64B-16h-500us-late", 5.2, **{"Open MPI default": 0.2}), V.PASS)
        self.assertEqual(self.judge("reduce-64B-16h-500us-late", 5.3, **{"Open MPI default": 0.2}), V.FAIL)

    def test_a_ratio_has_a_least_value(self):
        self.assertEqual(self.judge("pipeline-2KiB", 7.2), V.PASS)
        self.assertEqual(self.judge("pipeline-2KiB", 7.1), V.FAIL)

    def test_what_is_refused_beforehand_holds_where_the_case_says_so(self):
        for name, word in (("allreduce-16MiB-8h-onhosts", V.PASS), ("allreduce-16MiB-8h-8spare", V.FAIL)):
            results = Results()
            results.cell(name, "sumac").values.append(1e6)
            results.note(name, "refused", "a ring is faster")
            one = cases.with_bounds(case(name), {way: {"per_byte_s": 1e-7} for way in ("tree", "ring")})
            self.assertEqual(report.verdict(one, results)[0], word)


if __name__ == "__main__":
    unittest.main()
