"""The same programs run over the ucx backend: nodes offer it, clients follow, results are right, and no peer speaks tcp by mistake. UCX has
tcp alone here: in the lab by UCX_TLS=tcp and its one device, under `sumac run` on loopback. Then with Open MPI's `pml ucx`."""

import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position
import lab_test as fabric
import one_host_test as one_host

if not (case.BUILD / "lib" / "libsumac_net_ucx.so").exists():
    case.skip_or_fail("built without UCX (libucx-dev)")


class InTheLab(case.OnLab):
    lab = fabric.lab
    up_words = ("--transport", "ucx")

    def test_every_type_and_operation_is_right(self):
        done = fabric.run("matrix", "quick", seconds=300)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("reductions right on 4 ranks", done.out)
        self.assertGreater(done.tally["tree"], 0.9 * done.tally["all"], done.text)

    def test_communicators_come_and_go(self):
        done = fabric.run("churn", "12", settings={"SUMAC_TRANSPORT": "ucx"})
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.tally["next"], 0, done.text)

    def test_a_barrier_that_waits_drives_mpi(self):
        done = fabric.run("isend_barrier")
        self.assertEqual(done.code, 0, done.text)

    def test_a_thread_moves_operations_while_a_rank_is_away_from_mpi(self):
        for part in ("tree", "busy"):
            done = fabric.run_away(part)
            self.assertEqual(done.code, 0, done.text)
            self.assertEqual(done.out, "away: right on 4 ranks\n", done.text)

    def test_connections_of_our_own_carry_what_mpi_would(self):
        done = fabric.run("churn", "3", settings={**fabric.OWN_NETWORK, "SUMAC_TRANSPORT": "ucx"})
        self.assertEqual(done.code, 0, done.text)
        self.assertGreater(done.tally["leaders"], 0, done.text)
        self.assertNotIn("SUMAC_ACROSS", done.err)

    def test_a_program_that_asks_for_tcp_is_told_what_the_node_offers(self):
        done = fabric.run("churn", "3", settings={"HCOLL_ENABLE_SHARP": "1", "SUMAC_TRANSPORT": "tcp"})
        self.assertEqual(done.code, 0, done.text)
        self.assertRegex(done.err, r"SUMAC_TRANSPORT=tcp, but node an-leaf\d offers ucx")


class ByPmlUcx(case.OnLab):
    """Open MPI's own messages go by UCX too (`mpirun --mca pml ucx`), beside the tree over tcp: a program of each kind."""

    lab = fabric.lab

    def right(self, *words, **more):
        done = fabric.run(*words, network=case.PML_UCX, **more)
        self.assertEqual(done.code, 0, done.text)
        return done

    def test_collectives_by_the_tree_in_communicators_that_come_and_go(self):
        self.assertEqual(self.right("churn", "3").tally["next"], 0)

    def test_leaders_exchange_what_no_tree_carries(self):
        done = self.right("churn", "3", ranks=8, settings={"HCOLL_ENABLE_SHARP": "0"}, mpirun=["--oversubscribe", "--map-by", "ppr:2:node"])
        self.assertGreater(done.tally["leaders"], 0, done.text)

    def test_nonblocking_collectives_and_a_thread_that_moves_them(self):
        self.assertIn("behind: together right on 4 ranks", self.right("behind", "together").out)
        done = fabric.run_away("tree", network=case.PML_UCX)
        self.assertEqual((done.code, done.out), (0, "away: right on 4 ranks\n"), done.text)

    def test_persistent_ones_and_operations_of_the_program_itself(self):
        self.assertIn("own: ", self.right("own", "tame").out)

    def test_a_barrier_that_waits_drives_mpi(self):
        self.right("isend_barrier")


class OnOneHost(unittest.TestCase):
    def test_churn_by_the_switch(self):
        done = one_host.run_with(["--transport", "ucx"], 4, "churn")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("churn: 40 rounds passed", done.out)
        self.assertEqual(done.tally["next"], 0, done.text)

    def test_churn_by_the_variable(self):
        done = one_host.run_tree(2, "churn", "3", env={"SUMAC_TRANSPORT": "ucx"})
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.tally["next"], 0, done.text)

    def test_a_transport_that_is_none_is_refused_before_anything_starts(self):
        for words in (["run", "--transport", "rdma", "true"], ["run", "--transport"], ["lab", "up", case.Lab.FABRIC, "--transport", "rdma"]):
            done = case.start([case.SUMAC, *words])
            self.assertEqual(done.code, 2, done.text)
            self.assertRegex(done.err, r"^sumac: .*--transport.*tcp or ucx\n$")


if __name__ == "__main__":
    case.main()
