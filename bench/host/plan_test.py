import pathlib
import re
import unittest

from host import plan as P

ALL = {cell.name: cell for group in P.groups(2) for cell in group.cells}


class Cells(unittest.TestCase):
    def test_two_cores_have_every_case_with_a_target(self):
        sizes = ("8B", "1KiB", "64KiB", "1MiB")
        expected = {f"allreduce-{size}-2r": faster for size, faster in
                    (("8B", 1.8), ("64B", 1.8), ("1KiB", 1.8), ("8KiB", 1.3), ("64KiB", 1.3), ("1MiB", 2.0), ("4MiB", 1.6))}
        expected.update({f"{kind}-{size}-2r": 1.2 for kind in ("bcast", "reduce", "allgather", "alltoall") for size in sizes})
        expected.update({f"{kind}-{size}-2r": 1.0 for kind in ("gather", "scatter") for size in ("8B", "64KiB")})
        expected.update({f"alltoall-{size}-2r": 1.0 for size in ("64KiB", "1MiB")})
        expected.update({f"{kind}-{ranks}r": 2.5 for kind in ("barrier", "allreduce-8B") for ranks in (8, 16)})
        expected.update({"barrier-2r": 2.5, "allreduce-1MiB-8r": 1.5})
        expected.update({f"{kind}-{size}-{ranks}r-stream": 1.0 for kind in P.ROOTED for size in ("8B", "1KiB", "4KiB", "32KiB") for ranks in (2, 4)})
        expected.update({f"wide-{kind}-{ranks}r": 1.0 for ranks in (2, 4) for kind in (
            "allgatherv-64KiB", "alltoallv-32KiB", "osu-allgatherv-64KiB", "osu-alltoallv-32KiB", "cold-allreduce-8B", "cold-allreduce-64KiB", "cold-bcast-64KiB", "vector-bcast-64KiB",
            "vector-allgather-64KiB", "vector-alltoall-64KiB", "fresh-allreduce-64KiB", "maxloc-allreduce-16B", "maxloc-allreduce-64KiB",
            "own-allreduce-8B", "own-allreduce-64KiB", "scan-8B", "scan-64KiB", "exscan-8B", "exscan-64KiB", "reduce_scatter-8B",
            "reduce_scatter-64KiB")})
        self.assertEqual({name: cell.faster for name, cell in ALL.items() if cell.faster}, expected)
        self.assertEqual(ALL["barrier-2r"].over_sm, 1.1)
        self.assertEqual((ALL["overlap-iallreduce-1MiB"].at_least, ALL["overlap-ialltoall-1MiB"].at_least,
                          ALL["overlap-iscatterv-1MiB"].at_least), (90, 90, 90))
        self.assertEqual((ALL["comm-create"].times_at_most, ALL["first-collective"].limit, ALL["first-collective"].unit), (2, 1, "ms"))
        self.assertEqual(ALL["off-cost"].band, (0.98, 1.02))
        self.assertEqual({name: cell.above_at_most for name, cell in ALL.items() if cell.above_at_most},
                         {f"{kind}-{size}-{ranks}r-late": 1.0 for kind in P.ROOTED for size in ("8B", "1KiB", "4KiB") for ranks in (2, 4)})

    def test_sixteen_cores_have_the_table_at_4_8_and_16_ranks_and_nothing_oversubscribed(self):
        groups = {group.name: group for group in P.groups(16)}
        for name in ("4r", "8r", "16r"):
            self.assertTrue(groups[name].pinned)
            self.assertEqual(len(groups[name].cells), len(groups["2r"].cells))
            self.assertTrue(all(cell.faster is None for cell in groups[name].cells), "no target was set there")

    def test_a_name_is_used_once_but_for_parts_of_one_case(self):
        names = [cell.name for group in P.groups(2) for cell in group.cells if cell.band is None]
        self.assertEqual(len(names), len(set(names)))

    def test_neighbouring_sizes_are_close_and_hit_both_sides_of_powers_of_two(self):
        sizes = P.CLIFF_SIZES
        self.assertEqual((sizes[0], sizes[-1]), (8, 4 << 20))
        self.assertTrue(all(large <= 2 * small and small % 8 == 0 for small, large in zip(sizes, sizes[1:])))
        for power in (512, 4096, 8192, 65536, 1 << 20):
            self.assertTrue({power, power + 64} <= set(sizes), power)
        self.assertEqual([P.size_name(size) for size in (8, 1024, 1536, 1088, 3 << 19)], ["8B", "1KiB", "1.5KiB", "1088B", "1.5MiB"])

    def test_both_sides_of_every_size_at_which_shared_memory_changes_its_algorithm(self):
        source = pathlib.Path(__file__).resolve().parents[2] / "src" / "shm" / "algorithms.cpp"
        limits = {name: int(kib) * P.KIB for name, kib in re.findall(r"constexpr std::size_t (k\w+Max) = (\d+) \* 1024;", source.read_text(encoding="utf-8"))}
        self.assertEqual(set(limits), {"kReduceStreamMax", "kExchangeMax", "kBcastStreamMax", "kScatterStreamMax", "kBlocksMax"}, "another name, or another way to write it")
        for name, size in limits.items():
            self.assertTrue({size, size + 64} <= set(P.CLIFF_SIZES), name)

    def test_ten_percent_warm_up_and_at_least_five(self):
        self.assertEqual([P.warmup(count) for count in (2, 4, 10, 100, 1000)], [2, 4, 5, 10, 100])


class Choice(unittest.TestCase):
    def test_one_case_all_of_a_kind_or_an_error_that_lists_them(self):
        self.assertEqual([c.name for g in P.choose(P.groups(2), "barrier-2r") for c in g.cells], ["barrier-2r"])
        self.assertEqual({c.name for g in P.choose(P.groups(2), "bcast*,comm-create") for c in g.cells},
                         {"bcast-8B-2r", "bcast-1KiB-2r", "bcast-64KiB-2r", "bcast-1MiB-2r", "comm-create"} |
                         {f"bcast-{size}-{ranks}r-{how}" for ranks in (2, 4) for how, sizes in (("stream", P.IN_A_ROW), ("late", P.LATE))
                          for size in map(P.size_name, sizes)})
        with self.assertRaisesRegex(ValueError, r"no case 'allreduce-8b-2r': .*allreduce-8B-2r.* and \d+ others$"):
            P.choose(P.groups(2), "barrier-2r,allreduce-8b-2r")


if __name__ == "__main__":
    unittest.main()
