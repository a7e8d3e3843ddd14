import unittest
from pathlib import Path

from core import verdict as V
from core.cells import Results
from demolib import cases as C
from demolib import report, running
from demolib.ways import WayFailed
from fabric.run import form_of

from . import between, mpis, plan as P

ROOT = Path(__file__).resolve().parents[2]
FORM = form_of("usual")


def line(tree):
    return f"sumac: job 7: {tree}; next module 3 (bcast 3: 3 too large)\n"


class Rows(unittest.TestCase):
    def test_two_collectives_of_both_open_mpis_must_be_near_the_bare_tree(self):
        self.assertEqual(between.cases(P.MPIS), [f"{kind}-4h-500us-{mpi}" for mpi in ("openmpi4", "openmpi5") for kind in ("allreduce-8B", "barrier")])
        self.assertEqual({(one.must, one.limit, one.fabric.hosts) for one in between.rows(P.MPIS)}, {("<= 1.15 x bare", 2.0, 4)})
        self.assertEqual(between.cases([P.MPICH5]), [])

    def test_the_fabric_has_the_nodes_and_hosts_that_the_bare_tree_is_started_on(self):
        text = (ROOT / "lab" / "fabrics" / f"{between.FABRIC.name}.yaml").read_text()
        for leaf, hosts in between.FABRIC.leaves:
            self.assertIn(f"{leaf}: {{switch: ", text)
            self.assertIn(f"h[{hosts[0][1:]}-{hosts[-1][1:]}]: ", text)
        self.assertIn("{delay: 500us, ", text)

    def test_sumac_and_bare_take_part_in_every_run_and_the_mpi_in_some(self):
        own = between.rows([P.OPENMPI5])

        def columns(cases, form):
            return [between.Bare("epoll", cases, form), between.OnHosts(C.OMPI_DEFAULT, cases, form, None),
                    between.OnHosts("sumac", cases, form, None, mpis.HERE)]
        (_, _, steps), = running.plan(own, FORM, columns)
        runs = {name: sum(step.way.column == name for step in steps) for name in ("bare epoll", C.OMPI_DEFAULT, "sumac")}
        self.assertEqual(runs, {"bare epoll": 5, C.OMPI_DEFAULT: 2, "sumac": 5})

    def test_both_sides_of_the_limit(self):
        for sumac, verdict in ((2.30, V.PASS), (2.31, V.FAIL)):
            results, (case, _) = Results(), between.rows([P.OPENMPI4])
            results.cell(case.name, "bare spin").values.append(2.0)
            results.cell(case.name, "sumac").values.append(sumac)
            (entry,) = report.rows([case], results)
            self.assertEqual((entry["verdict"], entry["bare"]), (verdict, 2.0))


class TheTree(unittest.TestCase):
    def test_a_program_that_the_tree_served_alone_is_measured(self):
        between.must_use_the_tree(line("tree 9 (barrier 4, allreduce 5)"), between.rows([P.OPENMPI4]))

    def test_any_other_program_is_a_failure(self):
        for err in ("", line("tree 5 (allreduce 5)"), line("tree 9 (barrier 4, allreduce 5); shared memory and leaders 1 (barrier 1)")):
            with self.assertRaises(WayFailed, msg=err):
                between.must_use_the_tree(err, between.rows([P.OPENMPI4]))


if __name__ == "__main__":
    unittest.main()
