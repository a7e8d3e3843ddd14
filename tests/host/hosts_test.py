#!/usr/bin/env python3
"""Runs the differential test over several hosts of an emulated fabric, with two ranks and more on each: shared memory inside, MPI's own
collectives or the tree between them."""

import common
from common import case


BLOCKS = ("--only", "alltoall,alltoallv,reduce_scatter_block,gather,gatherv,scatter,scatterv,scan,exscan,reduce_scatter")


class Hosts(case.OnLab):
    lab = case.Lab("host-cases")

    def right(self, ranks, cases, settings, *mpirun, seed=1, which=("--tame",)):
        words = common.command(ranks, "host-cases", *which, "--seed", str(seed), "--cases", str(cases), env=settings, mpirun=[*case.TCP, *mpirun])
        # The lab adds these flags itself, and must put them first
        words = [word for word in words if word not in common.ROOT]
        done = self.lab(*words, env={**settings, "SUMAC_TUNING_FILE": "none", "SUMAC_TEAM_AFTER": "0"}, seconds=300)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(f"{cases} cases on {ranks} ranks right", done.out, done.text)
        return done

    def test_leaders_by_mpi(self):
        done = self.right(8, 100, {}, "--map-by", "node")
        self.assertGreater(done.tally["leaders"], 100, done.text)

    def test_ranks_in_order_and_hosts_of_different_counts(self):
        done = self.right(7, 60, {}, "--map-by", "ppr:2:node", seed=2)
        self.assertGreater(done.tally["leaders"], 50, done.text)

    def test_a_leader_for_each_socket(self):
        settings = {"HWLOC_SYNTHETIC": "package:2 core:1 pu:1", "HCOLL_SBGP": "basesmsocket,p2p", "HCOLL_BCOL": "basesmuma,ucx_p2p"}
        done = self.right(8, 40, settings, "--map-by", "ppr:4:node", seed=3)
        self.assertGreater(done.tally["leaders"], 20, done.text)

    def test_the_tree_between_hosts(self):
        settings = {"HCOLL_ENABLE_SHARP": "2", "SHARP_COLL_ENABLE_SAT": "1"}
        done = self.right(8, 60, settings, "--map-by", "node", seed=4)
        self.assertGreater(done.tally["tree"], 10, done.text)

    def test_blocks_for_all_on_hosts_of_all_kinds(self):
        """alltoall(v), reduce_scatter(_block) and scans run in all their forms, with sizes on both sides of the limit of a block, and vectors of
        many chunks."""
        settings = {"SUMAC_TEAM_ALLTOALL_MAX": "512", "SUMAC_TEAM_CHUNK": "2k", "SUMAC_TEAM_DEPTH": "3"}
        for name, ranks, by in (("dealt out in turn", 8, "node"), ("in order, one host with one rank", 7, "ppr:2:node"),
                                ("four, four and one", 9, "ppr:4:node")):
            with self.subTest(name):
                done = self.right(ranks, 50, settings, "--map-by", by, seed=5, which=BLOCKS)
                self.assertGreater(done.tally["leaders"], 25, done.text)

    def test_parts_of_a_sum_by_the_tree(self):
        settings = {"HCOLL_ENABLE_SHARP": "2", "SHARP_COLL_ENABLE_SAT": "1", "SUMAC_TEAM_CHUNK": "4k"}
        done = self.right(7, 60, settings, "--map-by", "ppr:2:node", seed=6, which=("--only", "reduce_scatter_block"))
        self.assertGreater(done.tally["tree_others"], 0, done.text)


if __name__ == "__main__":
    common.skip_if_sanitized()
    case.main()
