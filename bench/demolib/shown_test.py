import unittest

from demolib import cases as C
from demolib import shown
from core.cells import Results

CASE = C.DEMO[0]


def results(**columns):
    out = Results()
    for column, value in columns.items():
        out.cell(CASE.name, column.replace("_", " ")).values.append(value)
    return out


class Table(unittest.TestCase):
    def test_the_demo_has_five_cases_and_no_application(self):
        self.assertEqual([case.name for case in C.DEMO], ["allreduce-8B-16h-5ms", "barrier-16h-5ms", "allreduce-8B-16h-500us",
                                                          "barrier-16h-500us", "allreduce-16MiB-8h"])

    def test_six_columns_and_how_many_times_faster(self):
        lines = shown.table([CASE], results(Open_MPI_default=60.0, Open_MPI_allreduce_1=40.0, sumac=20.0, bare_epoll=20.0))
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        self.assertEqual(cells[0], ["case", "Open MPI", "Open MPI best tuned", "Sumac", "times faster", "the wire's limit"])
        self.assertEqual(cells[2], [CASE.name, "60.0", "40.0 [allreduce 1]", "20.0", "3.0 (2.0)", "20.0"])

    def test_without_a_number_there_is_no_ratio(self):
        for given, expected in ((results(sumac=20.0), "-"), (results(Open_MPI_default=60.0), "-"),
                                (results(Open_MPI_default=10.0, sumac=20.0), "0.5")):
            self.assertEqual(shown.faster(given, CASE), expected)


class Busy(unittest.TestCase):
    def test_each_fabric_that_had_company_is_named_and_the_rest_is_silent(self):
        given = Results()
        self.assertEqual(shown.busy(C.DEMO, given), [])
        words = "other programs used 40 % of its processors"
        given.busy = {"demo-16h-5ms": "", "demo-16h-500us": words, "demo-8h-stream": words}
        said = shown.busy(C.DEMO, given)
        self.assertEqual(said, [f"The machine was busy during demo-16h-500us, demo-8h-stream: {words}.",
                                "The numbers are worse than they could be: run it again when the machine is idle."])


if __name__ == "__main__":
    unittest.main()
