#!/usr/bin/env python3
"""The interposed libraries under real MPIs: right results, what is counted, other profiling libraries, Fortran, and bad starts."""

import dataclasses
import functools
import pathlib
import re
import subprocess
import tempfile
import unittest

import mpis
from mpis import case

HERE = pathlib.Path(__file__).resolve().parent
MPI_PROGRAMS = mpis.ROOT / "tests" / "mpi"

FORTRAN = {
    "mpif.h": {"@INTERFACE@": "mpif.h", "@USE@": "", "@INCLUDE@": "include 'mpif.h'", "@REQUEST@": "integer"},
    "mpi": {"@INTERFACE@": "mpi", "@USE@": "use mpi", "@INCLUDE@": "", "@REQUEST@": "integer"},
    "mpi_f08": {"@INTERFACE@": "mpi_f08", "@USE@": "use mpi_f08", "@INCLUDE@": "", "@REQUEST@": "type(MPI_Request)"},
}


def fortran(mpi, interface):
    source = mpis.FOLDER / mpi.name / f"sums_{interface}.f90"
    source.parent.mkdir(parents=True, exist_ok=True)
    text = (HERE / "sums.f90.in").read_text(encoding="utf-8")
    for name, value in FORTRAN[interface].items():
        text = text.replace(name, value)
    if not source.exists() or source.read_text(encoding="utf-8") != text:
        source.write_text(text, encoding="utf-8")
    return mpi.compile(f"sums-{interface}", "mpif90", source)


class EachMpi(unittest.TestCase):
    """Every case runs with each MPI that is installed."""

    def each(self):
        self.assertTrue(mpis.ALL, "no MPI is installed for which a library was built")
        for mpi in mpis.ALL:
            with self.subTest(mpi=mpi.name):
                yield mpi

    def right(self, done, words):
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(words, done.out, done.text)

    def test_requests_of_every_kind_may_be_mixed(self):
        for mpi in self.each():
            program = mpi.compile("mixed", "mpicc", HERE / "mixed.c")
            for ranks in (2, 3):
                done = mpi.run(ranks, program)
                self.right(done, "mixed: 180 rounds right")
                # 180 sums, persistent sums, broadcasts and barriers, one barrier at the beginning, one sum at the end.
                self.assertIn("shared memory 722 (barrier 181, allreduce 361, bcast 180)", done.err, done.text)

    def test_a_time_limit_ends_the_wait_for_a_rank_that_is_late(self):
        """Inside a host; and with a leader on each of two described sockets, whose nonblocking calls are the MPI's own."""
        sockets = {"HWLOC_SYNTHETIC": "package:2 core:2 pu:1", "HCOLL_SBGP": "basesmsocket,p2p", "HCOLL_BCOL": "basesmuma,ucx_p2p"}
        for mpi in self.each():
            program = mpi.compile("late", "mpicc", MPI_PROGRAMS / "late.c")
            for ranks, words, env in ((3, (), {}), (3, ("i",), {}), (4, (), sockets)):
                done = mpi.run(ranks, program, "fails", *words, env={"SUMAC_TIMEOUT": "2s", **env})
                for rank in range(ranks):
                    self.right(done, f"late: rank {rank} is right")
                # On a busy machine another rank may be late as well.
                self.assertRegex(done.text, rf"timed out after \d+ ms at rank \d+: ranks? ([\d, ]+ and )?{ranks - 1} ha(s|ve) not begun it")

    def test_a_line_names_the_rank_for_which_the_others_wait(self):
        def waits(mpi):
            program = mpi.compile("late", "mpicc", MPI_PROGRAMS / "late.c")
            with tempfile.TemporaryDirectory() as folder:
                lines = pathlib.Path(folder) / "lines"
                run = dataclasses.replace(mpi, start=("sh", "-c", f'exec "$@" 2> {lines}', "sh", *mpi.start)).run
                self.right(run(3, program, lines), "late: rank 2 is right")
                text = lines.read_text(encoding="utf-8")
                self.assertIn("rank 0 has waited 10 s in a collective of communicator MPI_COMM_WORLD: rank 2 has not begun it", text)
                self.assertEqual(text.count("has waited"), 1, text)

        case.side_by_side(self, {mpi.name: functools.partial(waits, mpi) for mpi in mpis.ALL})

    def test_no_pair_of_c_or_fortran_is_left_to_the_mpi(self):
        for mpi in self.each():
            done = mpi.run(3, mpi.compile("pairs", "mpicc", MPI_PROGRAMS / "pairs.c"))
            self.right(done, "pairs: 48 right on 3 ranks")
            self.assertRegex(done.err, r"sumac: collectives: shared memory 48 \(allreduce 48\)\n", done.text)

    def test_random_collectives_give_what_they_must(self):
        for mpi, ranks, cases in [(mpis.OPENMPI, 2, 300), (mpis.OPENMPI, 3, 300), (mpis.OPENMPI, 5, 100), (mpis.MPICH, 2, 300)]:
            if mpi not in mpis.ALL:
                continue
            with self.subTest(mpi=mpi.name, ranks=ranks):
                # MPICH 4.0's own persistent collectives are wrong on communicators of one rank, which are left to it.
                done = mpi.run(ranks, mpi.host_cases(), "--cases", cases, "--seed", "1", *(["--not-alone"] if mpi is mpis.MPICH else []), seconds=300)
                self.right(done, f"{cases} cases on {ranks} ranks right")
                self.assertGreater(done.tally["shared"], cases // 2, done.text)

    def test_programs_of_the_component(self):
        for program, ranks, words in [("matrix", 2, "reductions right"), ("isend_barrier", 2, "passed"),
                                      ("churn", 3, "passed"), ("lives", 3, "collectives right"), ("threads", 2, "passed"), ("corners", 3, "passed")]:
            with self.subTest(program=program):
                args = ["1"] if program == "lives" else []
                self.right(mpis.OPENMPI.run(ranks, case.PROGRAMS / program, *args), words)

    def test_what_a_collective_refers_to_may_be_freed_before_its_end(self):
        """Open MPI alone crashes in these programs; MPICH alone waits for ever in its own MPI_Comm_disconnect."""
        for mpi in self.each():
            program = mpi.compile("early", "mpicc", MPI_PROGRAMS / "early.c", flags=["-Wno-stringop-overflow"])
            for level in ((), ("threads",)):
                done = mpi.run(2, program, *level, "pending", "started", "inactive", "disconnect", "types", "left")
                self.right(done, "early: left right on 2 ranks")
                self.assertIn("shared memory 882 (barrier 321, allreduce 401, reduce 40, bcast 40, allgather 40, alltoall 40)", done.err, done.text)

    def test_a_wait_for_all_stays_the_mpis_where_persistent_collectives_are_the_mpis(self):
        """MPICH 4.0's MPI_Testall fails on its own persistent collectives, so a loop of such tests may not stand for the program's wait."""
        for mpi in self.each():
            done = mpi.run(2, mpi.compile("early", "mpicc", MPI_PROGRAMS / "early.c", flags=["-Wno-stringop-overflow"]), "beside")
            self.right(done, "early: beside right on 2 ranks")
            self.assertIn("persistent ones made by the MPI 6", done.err, done.text)
    def test_a_communicator_has_no_team_before_it_is_worth_one(self):
        for mpi in self.each():
            program = mpi.compile("worth", "mpicc", MPI_PROGRAMS / "worth.c")
            for after, shared in (("", 0), ("7", 15), ("0", 36)):
                done = mpi.run(2, program, "12", "3", env={"SUMAC_TEAM_AFTER": after, "SUMAC_EXPLAIN": "1"})
                self.right(done, "worth: 12 calls on each of 3 communicators right")
                self.assertEqual(done.tally["shared"], shared, done.text)
                self.assertEqual("before their communicator was worth a team" in done.err, shared < 36, done.text)
                for said in ("no team: a team costs more than a few calls gain", "no team for 2 more communicators: a team costs more"):
                    self.assertEqual(done.err.count(said), 0 if shared == 36 else 1, done.text)

    def test_counts_and_displacements_of_64_bits_at_one_rank_alone(self):
        if mpis.MPICH not in mpis.ALL:
            self.skipTest("no MPI with MPI-4's functions is installed")
        done = mpis.MPICH.run(2, mpis.MPICH.compile("wide", "mpicc", HERE / "wide.c"))
        self.right(done, "wide: 24 right")
        self.assertIn("shared memory 24 (allreduce 6, allgatherv 6, alltoallv 6, gatherv 6)", done.err, done.text)

    def test_types_with_gaps_and_at_absolute_addresses(self):
        for mpi in self.each():
            self.right(mpi.run(2, mpi.compile("forms", "mpicc", MPI_PROGRAMS / "forms.c")), "right on 2 ranks")

    def test_files_that_all_ranks_open(self):
        for mpi in self.each():
            with tempfile.TemporaryDirectory() as folder:
                self.right(mpi.run(2, mpi.compile("files", "mpicc", HERE / "files.c"), f"{folder}/file"), "files: right on 2 ranks")

    def test_one_look_at_a_window_behind_a_barrier(self):
        for mpi in self.each():
            self.right(mpi.run(2, mpi.compile("windows", "mpicc", HERE / "windows.c")), "windows: 100 of 100 seen at once")

    def test_each_call_of_the_program_is_counted_once(self):
        for mpi in self.each():
            for ranks in (2, 5):
                done = mpi.run(ranks, mpi.compile("once", "mpicc", MPI_PROGRAMS / "once.c"))
                self.right(done, f"once: right on {ranks} ranks")
                self.assertIn("sumac: collectives: shared memory 14 (barrier 7, allreduce 7); MPI 4 (barrier 2, allreduce 2: 4 without a team)\n",
                              done.err, done.text)

    def test_the_tree_serves_the_communicators_of_one_host_if_it_is_asked_to(self):
        for mpi in self.each():
            program = mpi.compile("once", "mpicc", MPI_PROGRAMS / "once.c")
            for ranks in (2, 4):
                done = case.start([case.SUMAC, "run", "--tree", *mpi.start, "-n", ranks, program], {**mpis.AS_ROOT, "LD_PRELOAD": str(mpi.library)})
                self.right(done, f"once: right on {ranks} ranks")
                self.assertRegex(done.err, r"sumac: job \d+: tree 14 \(barrier 7, allreduce 7\); MPI 4 \(", done.text)
                self.assertLess(int(re.search(r"sumac: job (\d+)", done.err).group(1)), 2**63 - 1, "rank 0 draws a number of its own")

    def test_reductions_with_a_programs_own_operations_and_types(self):
        for ranks in (2, 3, 8):
            done = mpis.OPENMPI.run(ranks, case.PROGRAMS / "own")
            self.right(done, f"own: 696 right on {ranks} ranks")
            self.assertIn("shared memory 698 (barrier 2, allreduce 240, reduce 228, reduce_scatter_block 228)", done.err, done.text)

    def test_elements_too_large_for_shared_memory_are_left_to_the_mpi(self):
        done = mpis.OPENMPI.run(3, case.PROGRAMS / "own", "large", "tame")
        self.right(done, "own: 66 right on 3 ranks")
        self.assertIn("shared memory 2 (barrier 2); MPI 50 (allreduce 18, reduce 18, reduce_scatter_block 14: 50 with a user's operation or type)",
                      done.err, done.text)

    def test_a_collective_of_ours_moves_the_mpis_messages(self):
        for mpi in self.each():
            done = mpi.run(2, mpi.compile("isend_barrier", "mpicc", mpis.ROOT / "tests" / "mpi" / "isend_barrier.c"))
            self.right(done, "isend_barrier: passed")
            self.assertIn("shared memory 3 (barrier 3)", done.err, done.text)

    def test_types_of_nonblocking_collectives_may_be_freed_at_once_by_threaded_programs(self):
        for mpi in self.each():
            done = mpi.run(2, mpi.compile("multiple", "mpicc", HERE / "multiple.c"))
            self.right(done, "multiple: right on 2 ranks")
            self.assertIn("bcast 20", done.err, done.text)

    def test_fortran_reaches_us(self):
        for mpi in self.each():
            for interface in FORTRAN:
                done = mpi.run(2, fortran(mpi, interface))
                self.right(done, "sums: right")
                self.assertIn("shared memory 3 (barrier 1, allreduce 2)", done.err, done.text)

    def test_another_profiling_library_sees_every_call(self):
        for mpi in self.each():
            tool = mpi.compile("tool.so", "mpicc", HERE / "tool.c", flags=["-shared", "-fPIC"])
            program = mpi.compile("first", "mpicc", HERE / "first.c")
            for preload in (f"{mpi.library}:{tool}", f"{tool}:{mpi.library}"):
                done = mpi.run(2, program, preload=preload)
                self.right(done, "first: right on 2 ranks")
                self.assertIn("tool: 1 allreduces, 1 barriers, 1 waits", done.err, done.text)
                self.assertIn("shared memory 3 (barrier 1, allreduce 2)", done.err, done.text)

    def test_the_mpis_own_persistent_collectives_go_on_after_ours_were_freed(self):
        if mpis.MPICH not in mpis.ALL:
            case.skip_one_or_fail("mpich is not installed")
        done = mpis.MPICH.run(2, mpis.MPICH.compile("lent", "mpicc", HERE / "lent.c"))
        self.right(done, "lent: right on 2 ranks")
        self.assertIn("shared memory 60 (allreduce 60)", done.err, done.text)

    def test_off_means_off(self):
        for mpi in self.each():
            done = mpi.run(2, mpi.compile("first", "mpicc", HERE / "first.c"), env={"SUMAC_ENABLE": "0"})
            self.right(done, "first: right on 2 ranks")
            self.assertNotIn("sumac", done.err, done.text)

    def test_with_the_component_loaded_too_only_the_library_serves(self):
        if mpis.OPENMPI not in mpis.ALL:
            case.skip_one_or_fail("Open MPI is not installed")
        program = mpis.OPENMPI.compile("first", "mpicc", HERE / "first.c")
        both = {"words": case.component_flags(), "env": {"SUMAC_EXPLAIN": "1"}}
        done = mpis.OPENMPI.run(2, program, **both)
        self.right(done, "first: right on 2 ranks")
        self.assertIn("sumac: Open MPI's component stands aside: the interposed library is loaded", done.err, done.text)
        self.assertEqual(done.err.count("shared memory 3 (barrier 1, allreduce 2)"), 1, done.text)
        self.assertEqual(len([line for line in done.err.splitlines() if line.startswith("sumac: communicator ")]), 1, done.text)
        done = mpis.OPENMPI.run(2, program, preload="", **both)
        self.right(done, "first: right on 2 ranks")
        self.assertNotIn("stands aside", done.err, done.text)
        self.assertIn("shared memory 3 (barrier 1, allreduce 2)", done.err, done.text)

    def test_one_rank_has_nobody_to_talk_to(self):
        for mpi in self.each():
            done = mpi.run(1, mpi.compile("first", "mpicc", HERE / "first.c"))
            self.right(done, "first: right on 1 ranks")
            self.assertNotIn("sumac", done.err, done.text)


class BadStarts(unittest.TestCase):
    def first(self, mpi):
        if mpi not in mpis.ALL:
            case.skip_one_or_fail(f"{mpi.name} is not installed")
        return mpi.compile("first", "mpicc", HERE / "first.c")

    def test_a_rank_without_the_library_ends_the_job_by_name(self):
        program = self.first(mpis.OPENMPI)

        def waits(missing):
            loaded = ["-x", f"LD_PRELOAD={mpis.OPENMPI.library}"]
            words = ["-n", 1, program, ":", "-n", 1, *loaded, program] if missing == 0 else ["-n", 1, *loaded, program, ":", "-n", 1, program]
            done = case.start([*mpis.OPENMPI.start, *words], {**mpis.AS_ROOT, "LD_PRELOAD": ""}, 60)
            self.assertNotEqual(done.code, 0, done.text)
            self.assertRegex(done.err, rf"sumac: rank {missing} on host \S+ did not answer within 6 s: every rank needs the same Sumac library", done.text)

        case.side_by_side(self, {f"rank {missing}": functools.partial(waits, missing) for missing in (0, 1)})

    def test_ranks_with_other_settings_run_without_us(self):
        program = self.first(mpis.OPENMPI)
        done = mpis.OPENMPI.run(1, program, ":", "-n", 1, "-x", "HCOLL_SHARP_NP=3", program)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("sumac: off: rank 1 has other settings (SUMAC_*, HCOLL_*) than rank 0", done.err, done.text)
        self.assertIsNone(done.tally, done.text)

    def test_a_wrong_setting_is_said_once(self):
        done = mpis.OPENMPI.run(2, self.first(mpis.OPENMPI), env={"HCOLL_SHARP_NP": "many"})
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.err.count("HCOLL_SHARP_NP=many: expected a whole number"), 1, done.text)

    def test_a_library_of_another_abi_is_named(self):
        program = self.first(mpis.OPENMPI)
        if mpis.MPICH not in mpis.ALL:
            case.skip_one_or_fail("mpich is not installed")
        done = mpis.OPENMPI.run(2, program, preload=str(mpis.MPICH.library))
        self.assertNotEqual(done.code, 0, done.text)
        self.assertIn("the program's MPI is Open MPI: LD_PRELOAD libsumac_mpi_openmpi.so instead of libsumac_mpi_mpich.so", done.err, done.text)

    def test_of_two_libraries_the_wrong_one_is_named(self):
        programs = {mpi: self.first(mpi) for mpi in (mpis.OPENMPI, mpis.MPICH)}
        both = [str(mpi.library) for mpi in programs]
        for mpi, words, wrong in ((mpis.OPENMPI, "is Open MPI", mpis.MPICH), (mpis.MPICH, "has MPICH's ABI", mpis.OPENMPI)):
            for order in (both, both[::-1]):
                with self.subTest(mpi=mpi.name, order=order):
                    done = mpi.run(2, programs[mpi], preload=":".join(order))
                    self.assertNotEqual(done.code, 0, done.text)
                    self.assertIn(f"sumac: the program's MPI {words}, and {mpi.library.name} is loaded for it: take {wrong.library.name} out of LD_PRELOAD",
                                  done.err, done.text)

    def test_the_libraries_export_functions_of_mpi_alone(self):
        """Another name would take the place of the program's own, or of another library's."""
        for mpi in mpis.ALL:
            names = subprocess.run(["nm", "-D", "--defined-only", "--format=just-symbols", mpi.library], capture_output=True, text=True, check=True).stdout
            self.assertEqual({name for name in names.split() if not re.match(r"P?MPIX?_", name)}, {"sumac_mpi_interposed"}, mpi.name)

    def test_a_program_without_mpi_is_left_alone(self):
        for mpi in mpis.ALL:
            done = case.start(["/bin/echo", "hello"], {"LD_PRELOAD": str(mpi.library)}, 20)
            self.assertEqual((done.code, done.out, done.err), (0, "hello\n", ""), done.text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
