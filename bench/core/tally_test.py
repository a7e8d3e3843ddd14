import unittest

from . import tally


class Line(unittest.TestCase):
    def test_a_job_with_a_tree(self):
        found = tally.read("[h1] sumac: job 123: tree 104 (barrier 52, allreduce 52); shared memory and leaders 2 (bcast 2); "
                           "next module 6 (barrier 2, reduce_scatter_block 4: 4 too large, 2 with a user's operation or type); "
                           "communicators without a group of the tree 1 (SHARP_COLL_JOB_QUOTA_MAX_GROUPS asks for more)\nmore")
        self.assertEqual((found.job, found.part("tree").count, found.part("tree").kinds), (123, 104, {"barrier": 52, "allreduce": 52}))
        self.assertEqual(found.part("next module").why, "4 too large, 2 with a user's operation or type")
        self.assertEqual(found.part("communicators without a group of the tree").count, 1)
        self.assertEqual((found.calls("barrier"), found.calls("barrier", "bcast")), (54, 56))
        self.assertEqual(found.part("shared memory").count, 0)
        self.assertTrue(found.text.startswith("sumac: job 123: ") and found.text.endswith("more)"))

    def test_a_tree_whose_nodes_have_kernels_that_answer(self):
        found = tally.read("sumac: job 9: tree 56 (barrier 52, allreduce 4: hop 53, barrier 50, allreduce 3); shared memory 1 (bcast 1)")
        self.assertEqual((found.part("tree").count, found.part("tree").kinds, found.hop()), (56, {"barrier": 52, "allreduce": 4}, 53))
        self.assertEqual(tally.read("sumac: job 9: tree 56 (barrier 56)").hop(), 0)

    def test_a_program_without_a_tree(self):
        found = tally.read("sumac: collectives: shared memory 3 (bcast 3)")
        self.assertEqual((found.job, list(found.parts), found.part("tree").count), (0, ["shared memory"], 0))
        self.assertEqual(tally.read("sumac: without a tree: no collective was called").parts, {})

    def test_a_tree_that_did_nothing(self):
        found = tally.read("sumac: job 9: tree 0; next module 6 (allreduce 6: 6 too large)")
        self.assertEqual((found.part("tree").count, found.calls("allreduce")), (0, 6))

    def test_what_the_interposed_library_left_to_the_mpi(self):
        found = tally.read("sumac: collectives: MPI 630 (allgatherv 126, alltoallv 504: 630 without a team)")
        self.assertEqual((found.part("MPI").count, found.part("MPI").why, found.calls("alltoallv")), (630, "630 without a team", 504))
        self.assertEqual(tally.read("sumac: collectives: shared memory 5 (allreduce 5); MPI 2 (allreduce 2: 2 without a team)").calls("allreduce"), 7)

    def test_other_lines_are_none(self):
        for text in ("", "sumac: job 9: begun", "sumac: communicator MPI_COMM_WORLD: 2 ranks"):
            self.assertIsNone(tally.read(text), text)
