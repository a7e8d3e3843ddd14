import re
import unittest
from pathlib import Path

from demolib import running

from . import columns, grid
from .run import CrossForm, C

FORM = CrossForm(**{**C.SHORT.__dict__, "runs": 1})
LINES = {"tree": {"fixed_s": 1e-4, "per_byte_s": 1.34e-7}, "ring": {"fixed_s": 7e-4, "per_byte_s": 2.3e-7},
         "halving": {"fixed_s": 3e-4, "per_byte_s": 2.3e-7}, "doubling": {"fixed_s": 1.5e-4, "per_byte_s": 4e-7},
         "linear": {"fixed_s": 2e-3, "per_byte_s": 8e-7}}


def spot(hosts, us, place):
    return grid.spot(hosts, us, place, Path("/nowhere"))


class Grid(unittest.TestCase):
    def test_names_stand_for_one_fabric_and_one_cell(self):
        spots = grid.spots(Path("/nowhere"))
        self.assertEqual(len({one.short for one in spots}), len(spots))
        self.assertEqual(len(spots), len(grid.HOSTS) * (1 + len(grid.ROUND_TRIPS_US) * len(grid.PLACES)))
        names = [cell.name for one in spots for cell in grid.cells(one, LINES)]
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("8h-5ms-n-spare-64KiB", names)

    def test_a_round_trip_is_four_links(self):
        for us in grid.ROUND_TRIPS_US:
            delay = int(re.search(r"delay: (\d+)ns", grid.yaml(spot(4, us, "switch"))).group(1))
            self.assertEqual(4 * delay, us * 1000)

    def test_the_nodes_are_where_the_place_says(self):
        for place, nodes, hosts in (("switch", "{switch: s1}", 0), ("1 spare", "{host: x1}", 1), ("n spare", "{host: x8}", 8),
                                    ("hosts", "{host: h8}", 0)):
            text = grid.yaml(spot(8, 500, place))
            self.assertIn(nodes, text)
            self.assertEqual("compute: false" in text, hosts > 0)
            self.assertIn(f"trees: {8 if place in ('n spare', 'hosts') else 1}\n", text)

    def test_the_floor_has_no_delay_and_no_rate(self):
        self.assertNotIn("rate", grid.yaml(spot(4, grid.FLOOR_US, "switch")))
        self.assertTrue(all(cell.limit is None for cell in grid.cells(spot(4, grid.FLOOR_US, "switch"), LINES)))

    def test_what_is_left_out_says_why(self):
        why = {cell.size: cell.left_out for cell in grid.cells(spot(8, 5000, "switch"), LINES)}
        self.assertEqual(why[1 << 20], "")
        self.assertEqual(why[16 << 20], "delay is no matter: see 500us")
        slow = {**LINES, "tree": {"fixed_s": 0, "per_byte_s": 1e-6}}
        self.assertEqual([cell.left_out for cell in grid.cells(spot(8, 500, "1 spare"), slow)][-1], "a call takes 17 s")

    def test_bounds_are_the_pure_function_s(self):
        cell = grid.cells(spot(8, 500, "switch"), LINES)[2]
        self.assertAlmostEqual(cell.limit, 0.1 + 65536 * 1.34e-4)
        self.assertAlmostEqual(cell.hosts_limit, 0.3 + 65536 * 2.3e-4)
        self.assertAlmostEqual(cell.ring_limit, 0.7 + 65536 * 2.3e-4)

    def test_long_calls_are_few(self):
        self.assertEqual(grid.calls(0.1, 1.0, 100), (100, 10))
        self.assertEqual(grid.calls(100.0, 1.0, 100), (5, 1))
        self.assertEqual(grid.calls(2237.0, 1.0, 100), (1, 1))


class Ways(unittest.TestCase):
    def test_open_mpi_runs_once_for_all_places(self):
        cells = [cell for place in grid.PLACES for cell in grid.cells(spot(8, 500, place), LINES)]
        ways = {own[0].fabric.place: [step.way.column for step in steps]
                for _, own, steps in running.plan(cells, FORM, columns.columns)}
        self.assertIn("Open MPI allreduce 4", ways["switch"])
        for place in grid.PLACES[1:]:
            self.assertEqual(ways[place], ["sumac", "selection"])

    def test_an_algorithm_runs_at_the_sizes_it_is_for(self):
        served = {way.column: {case.size for case in way.cases} for way in columns.peers(grid.cells(spot(8, 500, "switch"), LINES), FORM)}
        self.assertEqual(served["Open MPI allreduce 1"], {8, 4 << 10})
        self.assertEqual(served[columns.RING], {4 << 10, 64 << 10, 1 << 20, 16 << 20})

    def test_the_component_s_words(self):
        say = "[h1:1:0] SHArP: communicator MPI_COMM_WORLD: for the tree: "
        self.assertEqual(columns.tree_limit(say + "allreduce up to 1024 bytes, reduce of any size (allreduce: 16 MiB: ...)"), 1024)
        self.assertEqual(columns.tree_limit(say + "allreduce of any size, reduce up to 8 bytes (allreduce: 16 MiB: ...)"), 1 << 62)
        self.assertIsNone(columns.tree_limit(say + "reduce of any size, bcast up to 8 bytes (allreduce: 16 MiB: ...)"))
        self.assertIsNone(columns.tree_limit("nothing of it"))


if __name__ == "__main__":
    unittest.main()
