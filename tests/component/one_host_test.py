"""`sumac run mpirun ...` on one machine: unmodified programs, right results, by shared memory alone and with the tree, nothing left behind."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import case, folders  # noqa: E402  pylint: disable=wrong-import-position

MPIRUN = ["mpirun", "--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])


# The first collective of a communicator makes its team: most tests are about teams.
AT_ONCE = {"SUMAC_TEAM_AFTER": "0"}


def run_with(options, ranks, program, *args, env=None, seconds=120):
    env = {**AT_ONCE, **(env or {})}
    return case.start([case.SUMAC, "run", *options, *MPIRUN, "-n", ranks, case.PROGRAMS / program, *args], env, seconds)


def run(ranks, program, *args, env=None, seconds=120):
    return run_with([], ranks, program, *args, env=env, seconds=seconds)


def run_tree(ranks, program, *args, env=None, seconds=120):
    return run_with(["--tree"], ranks, program, *args, env=env, seconds=seconds)


# Names that were there before belong to somebody else: a fuzzer that was killed has failed four tests of this file.
LAY_IN_DEV_SHM = set(os.listdir("/dev/shm"))


def left_in_dev_shm():
    return sorted(folders.left_in_dev_shm(LAY_IN_DEV_SHM))


class WithTheTree(unittest.TestCase):
    def test_every_type_and_operation_is_right(self):
        done = run_tree(4, "matrix", "quick")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("reductions right on 4 ranks", done.out)
        self.assertIsNotNone(done.tally, done.text)
        self.assertGreater(done.tally["tree"], 1000, done.text)
        # Only few calls are not for the tree (those with Fortran's and C's other types).
        self.assertGreater(done.tally["tree"], 0.9 * done.tally["all"], done.text)

    def test_no_pair_of_c_or_fortran_is_left_to_the_next_module(self):
        done = run_tree(4, "pairs")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("pairs: 48 right on 4 ranks", done.out)
        self.assertEqual(done.tally["tree"], 48, done.text)
        self.assertEqual(done.tally["next"], 0, done.text)

    def test_what_is_left_has_its_reason_in_the_last_line_and_its_size_and_type_in_the_explanation(self):
        done = run_tree(4, "pairs", "long", env={"SUMAC_EXPLAIN": "1"})
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("; next module 6 (allreduce 6: 6 of a type or operation that the tree lacks)", done.err, done.text)
        for op in ("MPI_MAXLOC", "MPI_MINLOC"):
            line = f"sumac: left to the next module: allreduce 3 of 32 to 1312 B (MPI_LONG_DOUBLE_INT with {op}): of a type or operation that the tree lacks\n"
            self.assertEqual(done.err.count(line), 1, done.text)

    def test_a_barrier_that_waits_drives_mpi(self):
        done = run_tree(3, "isend_barrier")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("isend_barrier: passed", done.out)

    def test_more_communicators_than_groups_come_and_go(self):
        done = run_tree(4, "churn")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("churn: 40 rounds passed", done.out)
        self.assertEqual(done.tally["next"], 0, done.text)

    def test_many_communicators_at_once_have_a_group_each(self):
        done = run_tree(2, "churn", "1", "60")
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.tally["next"], 0, done.text)
        self.assertTrue(done.tally["begins"].startswith("tree "), done.text)
        self.assertNotIn("group", done.err, "nothing to say")

    def test_communicators_without_a_group_are_said_once_and_counted(self):
        done = run_tree(2, "churn", "1", "60", env={"SHARP_COLL_JOB_QUOTA_MAX_GROUPS": "2"})
        self.assertEqual(done.code, 0, done.text)
        for line in ("No available groups", "SHArP: sharp group create failed", "SHArP: continuing without sharp"):
            self.assertEqual(done.err.count(line), 1, done.text)
        self.assertRegex(done.err, r"; communicators without a group of the tree [56]\d \(SHARP_COLL_JOB_QUOTA_MAX_GROUPS asks for more\)")

    def test_a_level_asks_for_the_tree_as_well(self):
        done = run(2, "churn", "3", env={"HCOLL_ENABLE_SHARP": "3"})
        self.assertEqual(done.code, 0, done.text)
        self.assertGreater(done.tally["tree"], 0, done.text)


class SharedMemory(unittest.TestCase):
    def test_every_type_and_operation_is_right(self):
        done = run(4, "matrix", "quick")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("reductions right on 4 ranks", done.out)
        self.assertNotIn("sharp", done.err.lower(), "no daemon, no job")
        self.assertEqual((done.tally["tree"], done.tally["next"]), (0, 0), done.text)
        self.assertGreater(done.tally["shared"], 1000, done.text)
        self.assertTrue(done.tally["begins"].startswith("shared memory "), done.text)
        self.assertNotIn("tree", done.err, "nobody asked for one")

    def test_nine_collectives_in_three_forms_with_types_that_differ(self):
        for ranks in (2, 5):
            done = run(ranks, "forms", "quick")
            self.assertEqual(done.code, 0, done.text)
            self.assertRegex(done.out, rf"forms: \d+ right on {ranks} ranks")
            self.assertGreater(done.tally["shared"], 900, done.text)
            self.assertEqual(done.tally["others"], 0, done.text)

    def test_without_the_component_the_same_programs_pass(self):
        env = {"OMPI_MCA_coll_hcoll_enable": "0", "HCOLL_ENABLE_SHRAP": "3", "SUMAC_SHM_BACKING": "nonsense"}
        done = run(3, "forms", "quick,same", env=env)
        self.assertEqual(done.code, 0, done.text)
        self.assertIsNone(done.tally, done.text)
        self.assertNotIn("HCOLL", done.err)

    def test_switched_off_for_every_binding_the_same_programs_pass(self):
        env = {"SUMAC_ENABLE": "0", "HCOLL_ENABLE_SHRAP": "3", "SUMAC_SHM_BACKING": "nonsense"}
        done = run(3, "forms", "quick,same", env=env)
        self.assertEqual(done.code, 0, done.text)
        self.assertRegex(done.out, r"forms: \d+ right on 3 ranks")
        self.assertIsNone(done.tally, done.text)
        self.assertNotIn("HCOLL", done.err)
        self.assertNotIn("sumac", done.err.lower())

    def test_a_switch_that_is_neither_on_nor_off_is_an_error_that_names_it(self):
        done = run(2, "churn", "1", env={"SUMAC_ENABLE": "off"})
        self.assertEqual(done.err.count("SUMAC_ENABLE=off: expected 0 or 1"), 1, done.text)
        self.assertIsNone(done.tally, done.text)

    def test_a_barrier_that_waits_drives_mpi(self):
        done = run(3, "isend_barrier")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("isend_barrier: passed", done.out)

    def test_a_communicator_has_no_team_before_it_is_worth_one(self):
        for after, shared, spared in (("600", 0, 36), ("7", 15, 21), ("12", 0, 36), ("0", 36, 0)):
            with self.subTest(after=after):
                done = run(2, "worth", "12", "3", env={"SUMAC_TEAM_AFTER": after, "SUMAC_EXPLAIN": "1"})
                self.assertEqual(done.code, 0, done.text)
                self.assertIn("worth: 12 calls on each of 3 communicators right", done.out)
                self.assertEqual(done.tally["shared"], shared, done.text)
                if spared > 0:
                    self.assertIn(f": {spared} before their communicator was worth a team)", done.err, done.text)
                why = f"a team costs more than a few calls gain, so it is made after {after} collectives: "
                for said in (f"2 ranks: no team: {why}", f"sumac: no team for 2 more communicators: {why}"):
                    self.assertEqual(done.err.count(said), 1 if spared > 0 else 0, done.text)

    def test_by_default_few_collectives_are_not_worth_a_team_and_ranks_agree_on_the_number(self):
        done = run(2, "worth", "12", "3", env={"SUMAC_TEAM_AFTER": ""})
        self.assertEqual((done.code, done.tally["shared"]), (0, 0), done.text)
        done = run(3, "lives", "3", env={"SUMAC_TEAM_AFTER": "5"})
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("before their communicator was worth a team", done.err)

    def test_a_group_that_must_be_there_is_made_at_once(self):
        done = run(2, "churn", "3", env={"SUMAC_TEAM_AFTER": "600", "HCOLL_ENABLE_SHARP": "3"})
        self.assertEqual(done.code, 0, done.text)
        self.assertNotIn("worth a team", done.err)

    def test_teams_end_with_their_communicators_though_another_module_holds_ours(self):
        command = [case.SUMAC, "run", *MPIRUN, "--mca", "coll_adapt_priority", "95", "-n", "2", case.PROGRAMS / "freed_maps", "150"]
        done = case.start(command, AT_ONCE)
        self.assertEqual(done.code, 0, done.text)
        self.assertRegex(done.out, r"freed_maps: 0 more maps after the last 100 of 150 communicators")
        self.assertGreaterEqual(done.tally["shared"], 300, done.text)

    def test_a_rank_that_others_may_no_longer_read_goes_on_through_shared_memory(self):
        single = {f"SUMAC_SHM_{kind}": "single" for kind in ("ALLREDUCE", "BCAST", "ALLTOALL")}
        done = run(2, "keeps_secrets", env=single)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("keeps_secrets: 32 right", done.out)
        self.assertEqual(done.tally["closed"], 16, done.text)

    def test_a_collective_is_left_to_the_next_module_on_request(self):
        done = run(2, "churn", "3", env={"HCOLL_ML_DISABLE_ALLREDUCE": "1"})
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.tally["next"], 9, done.text)

    def test_explain_says_what_was_chosen_what_was_refused_and_why(self):
        done = run(2, "isend_barrier", env={"SUMAC_EXPLAIN": "1", "SUMAC_SHM_REDUCE": "flat", "HCOLL_ML_DISABLE_BCAST": "1", "SUMAC_SHM_SINGLE_COPY": "0",
                                            "SUMAC_TUNING_FILE": "none", "SUMAC_TEAM_STEP_ASIDE": "0"})
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(len(re.findall(r"^sumac: communicator .*WORLD: 2 ranks on 1 host: ", done.err, re.MULTILINE)), 1, done.text)
        here = "host: all ranks share one memory; "
        for line in (r"single copy of large messages, by default: no: SUMAC_SHM_SINGLE_COPY=0",
                     r"large messages are written through the caches.*",
                     rf'barrier +any size +{here}"flat" \(.*\)',
                     rf'allreduce +1 to \d+ B +{here}"flat" \(everybody publishes, everybody folds all\)',
                     rf'reduce +any size +{here}"flat" \(.*\), as SUMAC_SHM_REDUCE says',
                     r"bcast +any size +pass: switched off by HCOLL_ML_DISABLE_<COLL>",
                     rf'allgather +from \d+ B +{here}"exchange" \(.*\)(; not by "single": SUMAC_SHM_SINGLE_COPY=0)?',
                     rf'alltoallv +any size +{here}"exchange" \(.*\)',
                     r"all others +any size +pass: the next module's"):
            self.assertEqual(len(re.findall(rf"^  {line}$", done.err, re.MULTILINE)), 1, f"{line}\n{done.text}")

    def test_explain_prints_an_equal_table_once(self):
        done = run(2, "churn", "2", "6", env={"SUMAC_EXPLAIN": "1", "SUMAC_TUNING_FILE": "none"})
        self.assertEqual(done.code, 0, done.text)
        # The split's rank 0 is the other process.
        self.assertEqual(done.err.count("\n  barrier "), 2, done.text)
        # mpirun cuts rank 0's table after 4 KiB, and another rank's line may come there.
        lines = re.findall(r"sumac: communicator (?!MPI_COMM_WORLD)[^\n:]*: 2 ranks on 1 host: choices as printed for communicator MPI_COMM_WORLD$", done.err, re.MULTILINE)
        self.assertEqual(len(lines), 10, done.text)

    def test_explain_says_why_a_communicator_has_no_team(self):
        done = run(4, "hygiene", "alone", env={"SUMAC_EXPLAIN": "1", "OMPI_MCA_coll_hcoll_np": "3"})
        self.assertEqual(done.code, 0, done.text)
        for ranks, why, count in (("MPI_COMM_SELF: 1 rank", "nobody to talk to", 1),
                                  (r".* SPLIT FROM 0: 1 rank", "nobody to talk to", 3),  # Rank 0 has printed it before.
                                  (r".* SPLIT FROM 0: 2 ranks", "fewer ranks than coll_hcoll_np asks for", 2),
                                  ("without a name: 2 ranks", "it is an intercommunicator", 1)):
            lines = re.findall(rf"sumac: communicator {ranks}: no team: {why}$", done.err, re.MULTILINE)
            self.assertEqual(len(lines), count, f"{why}\n{done.text}")
        self.assertEqual(done.err.count("sumac: no team for 1 more communicator: nobody to talk to\n"), 1, done.text)
        self.assertEqual(len(re.findall(r"^sumac: communicator .*: 4 ranks on 1 host", done.err, re.MULTILINE)), 2, done.text)

    def test_ranks_wait_as_mpi_waits(self):
        # Hosts of a lab, or several jobs of one machine, share cores in a way that no rank can see: the user tells MPI.
        for yields in (0, 1):
            words = [case.SUMAC, "run", *MPIRUN, "--mca", "mpi_yield_when_idle", yields, "-n", 2, case.PROGRAMS / "isend_barrier"]
            done = case.start(words, {"SUMAC_EXPLAIN": "1"})
            self.assertEqual(done.code, 0, done.text)
            is_crowded = len(os.sched_getaffinity(0)) < 2
            line = re.search(r"^sumac: communicator .*WORLD: .*; 2 ranks here for \S+ processors(.*)$", done.err, re.MULTILINE)
            self.assertIsNotNone(line, done.text)
            self.assertEqual("ranks yield instead of spinning" in line[1], bool(yields) or is_crowded, done.text)

    def test_explain_names_the_rank_that_stands_aside(self):
        words = [case.SUMAC, "run", *MPIRUN, "-n", 2, case.PROGRAMS / "isend_barrier", ":", "-n", 1, "-x", "HCOLL_SHARP_NP=3", case.PROGRAMS / "isend_barrier"]
        done = case.start(words, {"SUMAC_EXPLAIN": "1"})
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(len(re.findall(r"^sumac: communicator .*WORLD: 3 ranks: no team: rank 2 has other HCOLL settings$", done.err, re.MULTILINE)), 1, done.text)

    def test_a_segment_in_dev_shm(self):
        done = run(3, "churn", "3", env={"SUMAC_SHM_BACKING": "devshm"})
        self.assertEqual(done.code, 0, done.text)
        self.assertGreater(done.tally["shared"], 0, done.text)
        self.assertEqual(left_in_dev_shm(), [])

    def test_lists_of_levels_that_do_not_fit_are_an_error_that_names_them(self):
        done = run(2, "churn", "1", env={"HCOLL_SBGP": "basesmuma,p2p", "HCOLL_BCOL": "basesmuma"})
        self.assertIn("HCOLL_BCOL", done.err)
        self.assertIsNone(done.tally, done.text)

    def test_a_primitive_of_an_adapter_has_a_stand_in_and_one_line_says_so(self):
        done = run(2, "churn", "1", env={"HCOLL_SBGP": "basesmuma,p2p", "HCOLL_BCOL": "basesmuma,cc"})
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.err.count('HCOLL_BCOL=basesmuma,cc: "ucx_p2p" stands in for "cc"'), 1, done.text)
        self.assertGreater(done.tally["shared"], 0, done.text)

    def test_a_level_that_is_none_is_an_error_that_names_it(self):
        done = run(2, "churn", env={"HCOLL_ENABLE_SHARP": "7"})
        self.assertIn("HCOLL_ENABLE_SHARP=7: expected a whole number from 0 to 4", done.err)

    def test_variables_that_change_nothing_are_told_once(self):
        done = run_tree(2, "churn", "3", env={"HCOLL_SHARP_NPP": "1", "SHARP_COLL_ENABEL_SAT": "1",
                                              "SUMAC_TRANSPROT": "tcp", "SUMAC_NODE_SPIN": "0", "SUMAC_SHM_BAKING": "auto"})
        self.assertEqual(done.code, 0, done.text)
        for words in ("warning: unknown variable HCOLL_SHARP_NPP: did you mean HCOLL_SHARP_NP?",
                      "unknown variable SHARP_COLL_ENABEL_SAT: did you mean SHARP_COLL_ENABLE_SAT?",
                      "unknown variable SUMAC_TRANSPROT: did you mean SUMAC_TRANSPORT?",
                      "unknown variable SUMAC_SHM_BAKING: did you mean SUMAC_SHM_BACKING?"):
            self.assertEqual(done.err.count(words), 1, f"{words}\n{done.text}")
        self.assertNotIn("SUMAC_NODE_SPIN", done.err)

    def test_a_mistyped_switch_is_told_though_it_leaves_the_tree_off(self):
        done = run(2, "churn", "3", env={"HCOLL_ENABLE_SHARP": "", "HCOLL_ENABLE_SHRAP": "3"})
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.tally["tree"], 0, done.text)
        self.assertEqual(done.err.count("warning: unknown variable HCOLL_ENABLE_SHRAP: did you mean HCOLL_ENABLE_SHARP?"), 1, done.text)


class Leaders(unittest.TestCase):
    """Leaders without hosts: each socket of an invented machine (HWLOC_SYNTHETIC) has one, and the last socket has one rank alone."""

    SOCKETS = {"HWLOC_SYNTHETIC": "package:4 core:2 pu:1", "HCOLL_SBGP": "basesmsocket,p2p", "HCOLL_BCOL": "basesmuma,ucx_p2p"}

    def test_reductions_that_a_leader_alone_and_leaders_of_others_do_alike(self):
        for ranks in (7, 8, 3):
            done = run(ranks, "defects", "uneven", env=self.SOCKETS)
            self.assertEqual(done.code, 0, done.text)
            self.assertIn(f"defects: uneven passed on {ranks} ranks", done.out)
            self.assertGreater(done.tally["leaders"], 30, done.text)

    def test_communicators_that_finalize_frees_in_the_order_of_their_ids(self):
        done = run(5, "defects", "holes", env=self.SOCKETS)
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.tally["leaders"], 16, done.text)


class Hygiene(unittest.TestCase):
    def passes(self, what, *args, ranks=3, **kwargs):
        done = run(ranks, "hygiene", what, *args, **kwargs)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(f"hygiene: {what} passed", done.out)
        return done

    def test_many_communicators_leave_nothing(self):
        self.passes("many", "400", seconds=300)

    def test_the_last_line_counts_the_programs_calls_and_not_open_mpis_own(self):
        for ranks in (2, 5):
            done = run(ranks, "once")
            self.assertEqual(done.code, 0, done.text)
            self.assertIn("sumac: collectives: shared memory 14 (barrier 7, allreduce 7)\n", done.err, done.text)

    def test_many_communicators_with_segments_in_dev_shm(self):
        self.passes("many", "50", env={"SUMAC_SHM_BACKING": "devshm"}, seconds=300)
        self.assertEqual(left_in_dev_shm(), [])

    def test_communicators_are_freed_before_their_collectives_end(self):
        self.passes("free")
        self.passes("free", env={"SUMAC_PROGRESS_THREAD": "1"})

    def test_what_a_collective_refers_to_may_be_freed_before_its_end(self):
        done = run(3, "early", "pending", "started", "inactive", "disconnect", "types", "left", "beside")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("early: beside right on 3 ranks", done.out)

    def test_persistent_collectives_start_in_another_order_at_each_rank(self):
        for ranks in (2, 5):
            done = self.passes_defects(ranks, "orders")
            self.assertEqual((done.tally["next"], done.tally["others"]), (0, 0), done.text)
        # With the tree the next module does these calls, as with leaders (lab_test.py).
        done = run_tree(3, "defects", "orders")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("; persistent ones made by the next module 21", done.err)

    def test_a_duplicate_is_made_beside_blocking_collectives(self):
        self.passes_defects(2, "idup")
        self.passes_defects(3, "idup")

    def test_corners_of_mpis_rules(self):
        for ranks in (2, 5):  # lab_test.py has leaders between them.
            done = run(ranks, "corners")
            self.assertEqual(done.code, 0, done.text)
            self.assertIn(f"corners: 11 passed on {ranks} ranks", done.out)

    def passes_defects(self, ranks, *args, **kwargs):
        done = run(ranks, "defects", *args, **kwargs)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(f"defects: {args[0]} passed on {ranks} ranks", done.out)
        return done

    def test_the_groups_of_an_intercommunicator_are_left_to_the_next_module(self):
        for ranks in (2, 5):
            done = run(ranks, "defects", "inter")
            self.assertEqual(done.code, 0, done.text)
            # Open MPI makes 246 reduces inside the groups for 20 duplicates and 20 sums.
            self.assertLess(done.tally["shared"], 60, done.text)

    def test_forked_children(self):
        self.passes("fork")
        self.passes("fork", env={"SUMAC_PROGRESS_THREAD": "1"})

    def test_signals(self):
        self.passes("signals")
        self.passes("signals", env={"SUMAC_PROGRESS_THREAD": "1"})

    def test_signals_while_ranks_copy_from_each_others_memory(self):
        single = {f"SUMAC_SHM_{coll}": "single" for coll in ("ALLREDUCE", "BCAST", "ALLTOALL")}
        for ranks, more in ((2, {}), (3, {}), (2, {"SUMAC_PROGRESS_THREAD": "1"})):
            done = self.passes("signals", ranks=ranks, env={**single, **more, "SUMAC_EXPLAIN": "1"})
            self.assertNotEqual("by \"single\" refused" in done.err, "\"single\" (" in done.err, done.text)

    def test_threads(self):
        for env in ({}, {"SUMAC_PROGRESS_THREAD": "1"}):
            done = run(2, "threads", env=env)
            self.assertEqual(done.code, 0, done.text)
            self.assertEqual(done.tally["next"], 0, done.text)

    def test_memory_that_the_system_copies_for_nobody_is_counted(self):
        done = self.passes("closed", ranks=2, env={"SUMAC_SHM_BCAST": "single", "SUMAC_EXPLAIN": "1"})
        if "no secret memory" in done.out or "single copy refused" in done.err:
            self.skipTest("this system has no such memory, or forbids single copy")
        self.assertEqual(done.tally["closed"], 5, done.text)

    def test_a_progress_thread_finishes_what_a_rank_outside_mpi_has_posted(self):
        with tempfile.TemporaryDirectory() as scratch:
            self.passes("sleeper", scratch, ranks=2, env={"SUMAC_PROGRESS_THREAD": "1"})

    def test_forms_with_a_progress_thread(self):
        done = run(3, "forms", "quick", env={"SUMAC_PROGRESS_THREAD": "1"})
        self.assertEqual(done.code, 0, done.text)

    def test_abort_ends_everybody(self):
        done = run(3, "hygiene", "abort")
        self.assertEqual(done.code, 5, done.text)
        self.assertEqual(left_in_dev_shm(), [])

    def test_a_rank_that_is_killed_ends_the_job(self):
        command = [case.SUMAC, "run", *MPIRUN, "-n", "3", case.PROGRAMS / "killed"]
        env = {**os.environ, "SUMAC_TEST_JOB": str(os.getpid())}  # Another test may run the same program.
        with case.processes.start(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
            try:
                line = job.stdout.readline()
                while line and "killed: ready" not in line:
                    line = job.stdout.readline()
                victim = next(pid for pid in os.listdir("/proc") if pid.isdigit() and is_program(pid, case.PROGRAMS / "killed", env["SUMAC_TEST_JOB"]))
                os.kill(int(victim), signal.SIGKILL)
                _, err = job.communicate(timeout=60)
            finally:
                job.kill()
        self.assertNotEqual(job.returncode, 0)
        self.assertIn("signal 9", err)
        self.assertEqual(left_in_dev_shm(), [])


def is_program(pid, path, job):
    process = pathlib.Path("/proc", pid)
    try:
        return (process / "exe").resolve() == path and f"SUMAC_TEST_JOB={job}".encode() in (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


class OneHost(unittest.TestCase):
    def test_a_program_that_is_killed_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as scratch:
            marker = pathlib.Path(scratch) / "environment"
            command = [case.SUMAC, "run", "sh", "-c", f"env > {marker}.part; mv {marker}.part {marker}; exec sleep 60"]
            child = case.processes.start(command, stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + 30
            while not marker.exists() and time.monotonic() < deadline and child.poll() is None:
                time.sleep(0.02)
            self.assertTrue(marker.exists(), "the program did not start")
            environment = dict(line.split("=", 1) for line in marker.read_text().splitlines() if "=" in line)
            socket = pathlib.Path(environment["SHARP_COLL_SHARPD_SOCKET_NAME"])
            self.assertTrue(socket.exists())
            child.send_signal(signal.SIGINT)
            self.assertNotEqual(child.wait(timeout=30), 0)
            self.assertFalse(socket.exists(), "the socket is left")
            self.assertFalse(socket.parent.exists(), "the directory is left")


if __name__ == "__main__":
    case.main()
