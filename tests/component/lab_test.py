"""Unmodified MPI programs on the hosts of a small emulated fabric: right results through a tree of several nodes, every failure named,
nothing left. Each level of HCOLL_ENABLE_SHARP must keep its promise, with and without a manager that answers."""

import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position

lab = case.Lab("component")

OWN_NETWORK = {"HCOLL_ENABLE_SHARP": "0", "SUMAC_ACROSS": "p2p"}

# Ranks that wait yield their processor and yet use it, so eight on two processors take far longer than six. Two hosts have two ranks each,
# which are no neighbours in MPI_COMM_WORLD.
SIX_RANKS = {"ranks": 6, "mpirun": ["--oversubscribe", "-H", "h1:2,h2:2,h3:1,h4:1", "--map-by", "node"]}

ON = {
    "HCOLL_ENABLE_SHARP": "3",
    "SHARP_COLL_ENABLE_SAT": "1",
    "SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST": "1024",
    "SHARP_COLL_JOB_QUOTA_OSTS": "128",
    "SHARP_COLL_JOB_QUOTA_MAX_GROUPS": "8",
    "SUMAC_TEAM_AFTER": "0",
}


def command(program, *args, ranks=4, settings=None, mpirun=(), network=case.TCP):
    settings = {**ON, **(settings or {})}
    exported = [word for name in settings for word in ("-x", name)]
    words = ["mpirun", "-n", str(ranks), *network, *case.YIELD, *mpirun, *case.component_flags(), *exported, str(case.PROGRAMS / program), *args]
    return words, settings


def run(program, *args, seconds=180, **kwargs):
    words, settings = command(program, *args, **kwargs)
    return lab(*words, env=settings, seconds=seconds)


def run_away(part, *args, settings=None, **kwargs):
    """A rank that is away from MPI, with a thread that moves what it has posted."""
    with tempfile.TemporaryDirectory(dir=case.BUILD) as folder:  # The hosts of a lab have a /tmp of their own.
        return run("away", folder, part, *args, settings={"SUMAC_PROGRESS_THREAD": "1", **(settings or {})}, **kwargs)


class WithTree(case.OnLab):
    lab = lab

    def test_every_type_and_operation_is_right_between_hosts(self):
        done = run("matrix", "quick", seconds=300)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("reductions right on 4 ranks", done.out)
        self.assertGreater(done.tally["tree"], 0.9 * done.tally["all"], done.text)

    def test_nonblocking_collectives_make_a_team_behind_them(self):
        """Communicators on which nothing blocking is ever called, or only later; no rank waits for another one's next call."""
        parts = ("together", "crossing", "kinds", "blocks", "frees", "away", "left")
        for after in ("0", "2"):
            with self.subTest(after=after):
                done = run("behind", *parts, settings={"HCOLL_ENABLE_SHARP": "1", "SHARP_COLL_JOB_QUOTA_MAX_GROUPS": "64", "SUMAC_TEAM_AFTER": after})
                self.assertEqual((done.code, done.out), (0, "".join(f"behind: {part} right on 4 ranks\n" for part in parts)), done.text)
                self.assertGreaterEqual(done.tally["tree"], 99, done.text)

    def test_where_the_tree_has_no_group_nonblocking_collectives_go_on_without(self):
        done = run("behind", "together", "blocks", settings={"HCOLL_ENABLE_SHARP": "1", "SHARP_COLL_JOB_QUOTA_MAX_GROUPS": "2"})
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("behind: blocks right on 4 ranks", done.out)
        self.assertNotIn("ERROR", done.err)

    def test_several_ranks_on_a_host(self):
        done = run("matrix", "quick", **SIX_RANKS, seconds=500)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("reductions right on 6 ranks", done.out)

    def test_nine_collectives_in_three_forms_with_leaders_between_hosts(self):
        """The tree does the calls whose type it knows, the leaders the rest, Open MPI alltoall(v) of large blocks."""
        done = run("forms", "quick,same", **SIX_RANKS, seconds=400)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("right on 6 ranks", done.out)
        self.assertEqual(done.tally["barrier"], done.tally["barriers"], done.text)
        self.assertGreater(done.tally["tree"], 200, done.text)
        self.assertGreater(done.tally["leaders"], 500, done.text)
        for kind in ("reduce", "bcast", "allgather", "allgatherv", "reduce_scatter_block"):
            self.assertRegex(done.err, rf": tree [^;]*\b{kind} [1-9]", done.text)

    def test_hosts_of_unequal_numbers_of_ranks(self):
        """One host has two ranks, three have one, with the leaders and with the tree; then three, one and one."""
        for hosts, ranks in (("h1:2,h2:1,h3:1,h4:1", 5), ("h1:1,h2:3,h3:1", 5)):
            for level in ("0", "1"):
                with self.subTest(hosts=hosts, level=level):
                    done = run("defects", "uneven", ranks=ranks, settings={"HCOLL_ENABLE_SHARP": level}, mpirun=["--oversubscribe", "-H", hosts])
                    self.assertEqual(done.code, 0, done.text)
                    self.assertGreater(done.tally["leaders"] + done.tally["tree"], 15, done.text)

    def test_communicators_that_finalize_frees_in_the_order_of_their_ids(self):
        for level in ("0", "1"):
            done = run("defects", "holes", ranks=8, settings={"HCOLL_ENABLE_SHARP": level}, mpirun=["--oversubscribe", "--map-by", "ppr:2:node"])
            self.assertEqual(done.code, 0, done.text)
            self.assertGreaterEqual(done.tally["tree"] + done.tally["leaders"], 16, done.text)

    def test_corners_of_mpis_rules(self):
        for level in ("0", "1"):
            done = run("corners", ranks=7, settings={"HCOLL_ENABLE_SHARP": level}, mpirun=["--oversubscribe", "-H", "h1:2,h2:1,h3:3,h4:1"])
            self.assertEqual(done.code, 0, done.text)
            self.assertIn("corners: 11 passed on 7 ranks", done.out)

    def test_own_operations_that_commute_go_by_the_leaders(self):
        for level in ("0", "1"):
            done = run("own", "tame", ranks=7, settings={"HCOLL_ENABLE_SHARP": level}, mpirun=["--oversubscribe", "-H", "h1:2,h2:1,h3:3,h4:1"])
            self.assertEqual(done.code, 0, done.text)
            self.assertIn("own: 396 right on 7 ranks", done.out)
            # 140 of the 205 that commute are not persistent ones, which the next module makes.
            self.assertGreater(done.tally["leaders"], 100, done.text)

    def test_persistent_collectives_start_in_another_order_at_each_rank(self):
        for level in ("0", "1"):
            done = run("defects", "orders", ranks=6, settings={"HCOLL_ENABLE_SHARP": level}, mpirun=["--oversubscribe", "-H", "h1:2,h2:1,h3:1,h4:2"])
            self.assertEqual(done.code, 0, done.text)
            self.assertIn("; persistent ones made by the next module 21", done.err)

    def test_a_barrier_that_waits_drives_mpi(self):
        done = run("isend_barrier")
        self.assertEqual(done.code, 0, done.text)
        self.assertGreaterEqual(done.tally["barrier"], 3, done.text)

    def test_communicators_come_and_go(self):
        done = run("churn", "12")
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.tally["next"], 0, done.text)

    def test_several_threads_add_up_at_the_same_time(self):
        done = run("threads")
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.tally["next"], 0, done.text)

    def test_connections_of_our_own_carry_what_mpi_would(self):
        done = run("matrix", "quick", **SIX_RANKS, settings=OWN_NETWORK, seconds=500)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("reductions right on 6 ranks", done.out)
        self.assertGreater(done.tally["leaders"], 0.9 * done.tally["all"], done.text)

    def test_a_thread_moves_operations_while_a_rank_is_away_from_mpi(self):
        for (way, settings), (ranks, mpirun) in itertools.product((("tree", {}), ("leaders", OWN_NETWORK)),
                                                                  ((4, ()), (7, ("--oversubscribe", "-H", "h1:2,h2:1,h3:3,h4:1")))):
            with self.subTest(way=way, ranks=ranks):
                done = run_away("tree", ranks=ranks, mpirun=mpirun, settings=settings)
                self.assertEqual(done.code, 0, done.text)
                self.assertEqual(done.out, f"away: right on {ranks} ranks\n", done.text)
                self.assertEqual(done.tally[way], done.tally["all"], done.text)

    def test_without_the_thread_a_rank_that_is_away_delays_all_others(self):
        """So the test above can fail. A small allreduce and the barrier behind it go up as they are posted, and need the rank no more."""
        done = run_away("tree", "1", settings={"SUMAC_PROGRESS_THREAD": "0"})
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.out.count("nobody has the result"), 2, done.text)

    def test_a_thread_stops_in_front_of_an_operation_by_mpi(self):
        done = run_away("mixed", ranks=8, mpirun=("--oversubscribe", "--map-by", "node"))
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.out, "away: right on 8 ranks\n", done.text)
        self.assertEqual(done.tally["leaders"], 3, done.text)

    def test_a_thread_and_blocking_collectives_share_a_connection(self):
        done = run_away("busy")
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.out, "away: right on 4 ranks\n", done.text)
        self.assertEqual(done.tally["tree"], done.tally["all"], done.text)

    def test_ranks_that_disagree_get_a_verdict_that_names_them(self):
        done = run("disagree")
        self.assertEqual(done.out.count("first ok second MPI_ERR_OTHER"), 4, done.text)
        self.assertEqual(len(re.findall(r"reads: allreduce failed: .*rank 1 \(host h2\)", done.out)), 4, done.text)
        self.assertRegex(done.err, r"rank 1\b.*count|count.*rank 1\b", done.text)

    def test_fewer_hosts_than_asked_for_are_left_alone(self):
        done = run("churn", "3", settings={"HCOLL_SHARP_NP": "5", "SUMAC_EXPLAIN": "1"})
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.tally["tree"], 0, done.text)
        self.assertIn("\n  no tree between hosts: fewer hosts than HCOLL_SHARP_NP asks for\n", done.err)

    def test_explain_says_why_the_tree_is_not_taken(self):
        done = run("isend_barrier", ranks=8, mpirun=["--oversubscribe", "--map-by", "node"],
                   settings={"HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX": "2048", "SUMAC_EXPLAIN": "1"})
        self.assertEqual(done.code, 0, done.text)
        leaders = "leaders: shared memory inside the hosts, the MPI's own collective among their leaders; not by the tree: "
        for line in (r"barrier +any size +tree: .*",
                     r"allreduce +1 to 2048 B +tree: .*",
                     rf"allreduce +2049 to \d+ B +{leaders}of this it carries up to 2048 bytes; .*",
                     r"bcast +1 to 8192 B +tree: .*",
                     r"reduce +1 to 8192 B +tree: .*",
                     r"allgather +1 to 8192 B +tree: .*",
                     rf"alltoall +1 to \d+ B +leaders: small blocks: .*; not by the tree: it does no alltoall; .*",
                     rf"reduce_scatter_block +25001 to \d+ B +{leaders}of this it carries up to 200000 bytes of all blocks together; .*",
                     rf"allreduce, others +1 to \d+ B +{leaders}it has no form of this type and operation; .*"):
            self.assertEqual(len(re.findall(rf"^  {line}$", done.err, re.MULTILINE)), 1, f"{line}\n{done.text}")

    def test_explain_says_that_nobody_asked_for_the_tree(self):
        done = run("isend_barrier", settings={"HCOLL_ENABLE_SHARP": "0", "SUMAC_EXPLAIN": "1"})
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.err.count("\n  no tree between hosts: HCOLL_ENABLE_SHARP=0\n"), 1, done.text)

    def test_more_communicators_than_groups_at_level_2(self):
        done = run("churn", "3", settings={"HCOLL_ENABLE_SHARP": "2", "SHARP_COLL_JOB_QUOTA_MAX_GROUPS": "1", "SUMAC_EXPLAIN": "1"})
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("\n  no tree between hosts: it has no group for this communicator\n", done.err)
        self.assertEqual(done.err.count("SHArP: sharp group create failed:SHArP Group alloc error(-4)"), 1, done.text)
        self.assertEqual(done.err.count("SHArP: continuing without sharp on this communicator.."), 1, done.text)
        self.assertEqual(done.err.count("No available groups"), 1, done.text)
        self.assertRegex(done.err, r"; communicators without a group of the tree \d+", done.text)
        self.assertGreater(done.tally["next"], 0, done.text)

    def test_more_communicators_than_groups_at_level_3(self):
        done = run("churn", "3", settings={"SHARP_COLL_JOB_QUOTA_MAX_GROUPS": "1"})
        self.assertNotEqual(done.code, 0, done.text)
        self.assertIn("SHArP: Fallback disabled, exiting..", done.err)

    def test_a_rank_with_other_settings_is_named(self):
        words, settings = command("churn", "3", ranks=3)
        settings["HCOLL_ENABLE_SHARP"] = "1"
        # The last rank gets an application context of its own (after the colon), in which the variable differs.
        words += [":", "-n", "1", "-x", "HCOLL_SHARP_NP=3", str(case.PROGRAMS / "churn"), "3"]
        done = lab(*words, env=settings)
        self.assertEqual(done.code, 0, done.text)
        self.assertRegex(done.err, r"SHArP: rank 3 has other HCOLL settings", done.text)


class WithoutManager(case.OnLab):
    lab = lab
    up_words = ("--bare",)

    def test_level_1_goes_on_and_says_so_once(self):
        done = run("churn", "3", settings={"HCOLL_ENABLE_SHARP": "1"})
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.err.count("Failed to initialize SHArP collectives"), 1, done.text)
        self.assertIn("SHArP: continuing without sharp", done.err)
        self.assertIn("sumac: without a tree: ", done.err)

    def test_level_2_ends_the_job(self):
        done = run("churn", "3", settings={"HCOLL_ENABLE_SHARP": "2"})
        self.assertNotEqual(done.code, 0, done.text)
        self.assertIn("Failed to initialize SHArP collectives", done.err)
        self.assertIn("SHArP: Fallback disabled, exiting..", done.err)


class NodeDies(unittest.TestCase):
    def setUp(self):
        lab.up()
        self.addCleanup(lab.down)

    @staticmethod
    def kill(role):
        daemons = json.loads(lab("status", "--json").out)["daemons"]
        victim = next(daemon for daemon in daemons if role in json.dumps(daemon))
        os.kill(victim["pid"], signal.SIGKILL)

    def test_before_the_job_it_is_refused_by_name(self):
        self.kill("an-leaf1")
        done = run("churn", "2", settings={"HCOLL_ENABLE_SHARP": "1"})
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("an-leaf1", done.err, done.text)

    def test_in_the_middle_every_rank_fails_with_the_reason(self):
        words, settings = command("killed", settings={"SUMAC_RECOVERY": "0"})
        job = case.processes.start(lab.command(*words), env={**os.environ, **settings}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            line = job.stdout.readline()
            while line and "killed: ready" not in line:
                line = job.stdout.readline()
            self.kill("an-root")
            out, err = job.communicate(timeout=120)
        finally:
            if job.poll() is None:
                job.kill()
                job.communicate()
        self.assertEqual(out.count("MPI_ERR_OTHER"), 4, f"{out}\n{err}")
        self.assertIn("allreduce failed", err)
        self.assertEqual(len(re.findall(r"reads: allreduce failed: SHArP error.*(node|link)", out)), 4, out)


if __name__ == "__main__":
    case.main()
