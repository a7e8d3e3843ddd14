import unittest

from host import plan as H
from mpi import plan as P

ALL = {cell.name: (cell, group) for group in P.groups(P.MPIS) for cell in group.cells}


class Cells(unittest.TestCase):
    def test_every_mpi_has_the_same_cells_and_limits_with_two_ranks(self):
        for mpi in P.MPIS:
            found = {cell.name: cell.faster for cell, group in ALL.values() if cell.mpi == mpi and group.ranks == 2 and cell.sort == P.TIMED}
            expected = {f"barrier-2r-{mpi}": 1.5, f"allreduce-8B-2r-{mpi}": 1.5, f"allreduce-1KiB-2r-{mpi}": 1.5,
                        f"allreduce-64KiB-2r-{mpi}": 1.3, f"allreduce-1MiB-2r-{mpi}": 1.3}
            expected.update({f"{kind}-{size}-2r-{mpi}": 1.0 for kind in ("bcast", "reduce", "allgather", "alltoall")
                             for size in ("8B", "1KiB", "64KiB", "1MiB")})
            expected[f"comm-churn-2r-{mpi}"] = 1 / 1.15
            expected.update({f"{kind}-{size}-2r-stream-{mpi}": 1.0 for kind in H.ROOTED for size in ("8B", "1KiB", "4KiB", "32KiB")})
            late = {f"{kind}-{size}-2r-late-{mpi}": None for kind in H.ROOTED for size in ("8B", "1KiB", "4KiB")}
            self.assertTrue(all((ALL[name][0].above_at_most, ALL[name][0].unit, ALL[name][0].skipped) == (1.0, "ms", 1) for name in late))
            expected.update(late)
            self.assertEqual(found, expected)

    def test_the_library_of_another_build_takes_turns_where_a_library_is_on(self):
        groups = {group.name: group for group in P.with_before(P.groups(P.MPIS))}
        self.assertEqual([groups[name].before for name in ("2r-impi", "osu-openmpi4", "comm-churn-4r-openmpi5", "off-cost-abi")],
                         ["impi+before", "openmpi4+before", "openmpi5+before", None])
        self.assertEqual(groups["2r-impi"].rivals, ("impi",))

    def test_only_mpis_that_yield_have_a_limit_with_more_ranks_than_cores(self):
        limits = {cell.name: cell.faster for cell, group in ALL.values() if group.ranks == 8}
        for mpi in P.MPIS:
            expected = 2.5 if mpi in ("openmpi4", "openmpi5") else None
            self.assertEqual((limits[f"barrier-8r-{mpi}"], limits[f"allreduce-8B-8r-{mpi}"]), (expected, expected))
        self.assertTrue(all(group.options == {"yield": True} and not group.pinned for _, group in ALL.values() if group.ranks == 8))

    def test_the_loop_of_osu_has_its_sizes_and_its_numbers_of_calls(self):
        for kind, first in (("allreduce", 4), ("reduce", 4), ("bcast", 1), ("allgather", 1), ("alltoall", 1), ("gather", 1), ("scatter", 1)):
            cells = [cell for cell, _ in ALL.values() if cell.case == f"osu-{kind}-openmpi4"]
            self.assertEqual([cell.bytes for cell in cells], [first, 8, 1 << 10, 8 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20])
            self.assertEqual({cell.kind for cell in cells}, {f"osu-{kind}"})
            self.assertTrue(all(cell.is_mean for cell in cells))
            self.assertEqual([(cell.turns, cell.warmup(cell.turns)) for cell in cells], [(1000, 200)] * 4 + [(100, 10)] * 6)
        self.assertFalse([cell.name for cell, _ in ALL.values() if cell.sort == P.OSU and cell.mpi != "openmpi4"])

    def test_a_number_of_calls_fits_into_what_hostbench_notes(self):
        for cell, _ in ALL.values():
            self.assertLessEqual(cell.turns + cell.warmup(cell.turns), 4096)

    def test_names_are_used_once_and_bench_hosts_cells_are_not_means(self):
        names = [cell.name for group in P.groups(P.MPIS) for cell in group.cells]
        self.assertEqual(len(names), len(set(names)))
        self.assertFalse([cell.name for group in H.groups(2) for cell in group.cells if cell.is_mean or (cell.skipped is not None and not cell.name.endswith("-late"))])


class Choice(unittest.TestCase):
    def names(self, words):
        every = P.groups(P.MPIS)
        return [cell.name for group in P.choose(every, P.names_of(words, every, ["suite-abi"])) for cell in group.cells]

    def test_a_case_of_several_cells_is_chosen_whole(self):
        self.assertEqual(self.names("off-cost-abi"), ["off-cost-abi-barrier", "off-cost-abi-allreduce"])
        self.assertEqual(len(self.names("osu-gather-openmpi4")), 10)
        self.assertEqual(self.names("barrier-2r-impi"), ["barrier-2r-impi"])

    def test_the_median_of_an_mpi_needs_all_cells_that_move_data(self):
        chosen = self.names("median-2r-mpich4")
        self.assertEqual(len(chosen), 16)
        self.assertTrue(all(name.endswith("-2r-mpich4") for name in chosen))

    def test_a_case_without_cells_chooses_none_and_an_unknown_one_is_an_error_that_names_the_likest(self):
        self.assertEqual(self.names("suite-abi"), [])
        for wrong, near in (("off-cost-openmpi", "off-cost-openmpi4"), ("suite-ab", "suite-abi")):
            with self.assertRaisesRegex(ValueError, rf"no case '{wrong}': .*{near}\b.* and \d+ others$"):
                self.names(f"barrier-2r-abi,{wrong}")

    def test_without_some_mpis_their_cases_are_gone(self):
        names = P.cases(P.groups([P.OPENMPI4, P.IMPI]))
        self.assertEqual({name.rpartition("-")[2] for name in names}, {"openmpi4", "impi"})


if __name__ == "__main__":
    unittest.main()
