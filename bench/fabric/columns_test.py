import unittest
from unittest import mock

from demolib import cases as C
from demolib import running
from core.cells import Results
from demolib.ways import parse_results

from . import cases, columns, mpich, start
from .run import form_of

FORM = form_of("usual")


class Columns(unittest.TestCase):
    def test_every_case_has_sumac_and_somebody_to_compare_with(self):
        for fabric, own, steps in running.plan(cases.CASES, FORM, columns.columns):
            names = {step.way.column for step in steps}
            self.assertTrue(any(name.startswith("sumac") for name in names), own)
            if own[0].kind in ("calls", "parts", "striped"):
                self.assertIn(C.OMPI_DEFAULT, names)
                self.assertTrue(any(name.startswith("Open MPI ") and name != C.OMPI_DEFAULT for name in names), own)

    def test_sumac_has_every_run_and_peers_some(self):
        (_, _, steps), = running.plan([case for case in cases.CASES if case.name == "allreduce-16MiB-8h"], FORM, columns.columns)
        runs = {name: sum(step.way.column == name for step in steps) for name in ("sumac", "bare epoll", C.OMPI_DEFAULT, C.MPICH)}
        self.assertEqual(runs, {"sumac": 5, "bare epoll": 5, C.OMPI_DEFAULT: 2, C.MPICH: 1})

    def test_after_the_first_run_only_what_is_near_the_best_goes_on(self):
        name = "allreduce-16MiB-8h"
        (_, _, steps), = running.plan([case for case in cases.CASES if case.name == name], FORM, columns.columns)
        results = Results()
        for column, value in (("Open MPI allreduce 4", 1600.0), ("Open MPI allreduce 5", 1700.0), ("Open MPI allreduce 6", 3200.0)):
            results.cell(name, column).values.append(value)
        out = {step.way.column for step in steps if running.is_out_of_the_race(step, results)}
        self.assertEqual(out & {"Open MPI allreduce 4", "Open MPI allreduce 5", "Open MPI allreduce 6"}, {"Open MPI allreduce 6"})
        self.assertFalse({"sumac", C.OMPI_DEFAULT, "bare epoll"} & out)
        self.assertFalse(any(running.is_out_of_the_race(step, results) for step in steps if step.run == 0))

    def test_two_in_turns_give_a_number_and_a_ratio_for_each_pair(self):
        case = next(case for case in cases.CASES if case.name == "client-cpu-4MiB")
        asked = []

        class Counting:
            def __init__(self, column, step):
                self.column, self.cases, self.step = column, [case], step

            def run(self, *_):
                asked.append(self.column)
                return {(case.name, self.column): self.step * len(asked)}

        way = columns.InTurns(Counting("bare epoll", 1.0), Counting("sumac", 2.0), 2)
        self.assertEqual(way.run(None, None, 60), {(case.name, "bare epoll"): [1.0, 4.0], (case.name, "sumac"): [4.0, 6.0]})
        self.assertEqual((asked, way.ratios), (["bare epoll", "sumac", "sumac", "bare epoll"], {(case.name, "bare"): [4.0, 1.5]}))

    def test_starts_in_turns_give_a_ratio_or_a_difference_for_each_pair(self):
        near = next(case for case in cases.CASES if case.name == "start-16h-500us")
        over_hosts = start.Start(type(near)(**{**near.__dict__, "pairs": 2}))
        over_hosts.number = lambda lab, program, flags, seconds: 300.0 if flags else 200.0
        tools = mock.MagicMock()
        with mock.patch.object(start.Tools, "sumac_flags", lambda tools: ["--mca"]):
            self.assertEqual(over_hosts.run(None, tools, 60), {(near.name, C.OMPI_DEFAULT): [200.0, 200.0], (near.name, "sumac"): [300.0, 300.0]})
        self.assertEqual(over_hosts.ratios, {(near.name, "bare"): [1.5, 1.5]})
        here = next(case for case in cases.CASES if case.name == "start-run")
        by_run = start.RunStart(type(here)(**{**here.__dict__, "pairs": 1}))
        by_run.took_ms = lambda command, seconds: 150.0 if "run" in command else 90.0
        self.assertEqual(by_run.run(None, tools, 60), {(here.name, C.OMPI_DEFAULT): [90.0], (here.name, "sumac"): [60.0]})

    def test_a_line_that_has_come_in_part_is_none_yet(self):
        line = b'{"program":"collbench","case":"barrier","bytes":0,"median":1.5}\n'
        for cut in range(len(line)):
            self.assertEqual(parse_results(mpich.whole_lines(line + line[:cut]), "collbench").keys(), {("barrier", 0)})
            self.assertFalse(parse_results(mpich.whole_lines(line[:cut]), "collbench"))

    def test_what_the_library_grants_is_read_from_its_own_line(self):
        line = ("[h1:0:12 - comm.c:417] INFO [group#:0] group id: 1 tree idx:0 rail_idx:0 group size:8 quota: ( osts:2 "
                "user_data_per_ost:128 ) mgid: ( subnet prefix: 0x0 interface id: 0x0 ) mlid:0")
        self.assertEqual(columns.GROUP_QUOTA.search(line).groups(), ("2", "128"))


if __name__ == "__main__":
    unittest.main()
