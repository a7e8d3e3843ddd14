#!/usr/bin/env python3
"""hostbench driven as bench/host/run.py drives it, with an honest MPI, with one that lies, and naive. No time is judged."""

import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from host import plan as P  # noqa: E402
from host.programs import clean_environment  # noqa: E402
from host.running import ProgramFailed, Running  # noqa: E402

MPI, NAIVE, BROKEN = sys.argv[1:4]
SECONDS = 60


class Started:
    """Stands for a programs.Program whose hostbench this build made."""

    def __init__(self, argv, environment=None):
        self.argv, self.environment = argv, environment or {}

    def command(self, ranks, _):
        return [word.format(ranks=ranks) for word in self.argv], {**clean_environment(), **self.environment}


LAUNCH = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", "{ranks}"]
HONEST, PLAIN = Started([*LAUNCH, MPI]), Started([NAIVE])
POSTED = ("iallreduce", "iallreduce-busy", "ialltoall", "iscatterv")
TIMED = [P.Cell("", kind, size) for kind in ("allreduce", "bcast", "reduce", "allgather", "alltoall", "gather", "scatter") for size in (8, 4096, 100000)]
TIMED.append(P.Cell("", "barrier"))
ROOTED = [P.Cell("", f"{kind}-{way}", size) for kind in P.ROOTED for way, size in (("stream", 8), ("stream", 4096), ("stream", 100000), ("late", 8), ("late", 4096))]
# Both sizes of a block, a vector that is one run, and more memory than one place has.
WIDE = [P.Cell("", kind, size) for kind in ("allgatherv", "alltoallv") for size in (1024, 65536)]
WIDE += [P.Cell("", f"vector-{kind}", size) for kind in ("bcast", "allgather", "alltoall") for size in (64, 100032)]
WIDE += [P.Cell("", f"{how}-allreduce", size) for how in ("cold", "fresh", "maxloc", "own") for size in (16, 100000)]
WIDE.append(P.Cell("", "cold-bcast", 65536))
OTHERS = [P.Cell("", kind, size) for kind in POSTED for size in (8, 100000)]
OTHERS += [P.Cell("", "dup"), P.Cell("", "first-barrier"), P.Cell("", "first-allreduce", 8), P.Cell("", "churn")]


# OSU's reductions begin at one float, and its other collectives at one character.
OSU = [P.Cell("", f"osu-{kind}", size) for kind in ("allreduce", "reduce") for size in (4, 8, 100000)]
OSU += [P.Cell("", f"osu-{kind}", size) for kind in ("bcast", "allgather", "alltoall", "gather", "scatter") for size in (1, 8, 100001)]
OSU += [P.Cell("", f"osu-{kind}", size) for kind in ("allgatherv", "alltoallv") for size in (128, 65536)]


class Hostbench(unittest.TestCase):
    def test_the_loop_of_osu(self):
        for ranks in (2, 3):
            with Running(HONEST, ranks, False, {}, SECONDS) as running:
                for cell in OSU:
                    answer = running.ask(cell, SECONDS, 10)
                    self.assertEqual((answer["kind"], answer["errors"], answer["verified"]), (cell.kind, 0, 2 * ranks))
                with self.assertRaisesRegex(ProgramFailed, "multiple of the type"):
                    running.ask(P.Cell("", "osu-allreduce", 1), SECONDS, 10)

    def test_a_wrong_result_is_found_in_the_loop_of_osu(self):
        liar = Started([*LAUNCH, "-x", f"LD_PRELOAD={BROKEN}", "-x", "BROKEN_MPI=sum", MPI])
        with self.assertRaisesRegex(ProgramFailed, "1 of 4 results of the sum were wrong"):
            with Running(liar, 2, False, {}, SECONDS) as running:
                running.ask(P.Cell("the sum", "osu-allreduce", 1024), SECONDS, 3)  # the seventh sum is the last, with other data

    def test_every_cell_on_numbers_of_ranks_that_fit_and_that_do_not(self):
        for ranks in (2, 3, 5):
            for program, cells in ((HONEST, TIMED + OTHERS), (PLAIN, TIMED)):
                with Running(program, ranks, False, {}, SECONDS) as running:
                    self.assertEqual(running.hello["ready"], ranks)
                    for cell in cells:
                        answer = running.ask(cell, SECONDS, 10)
                        self.assertEqual((answer["kind"], answer["bytes"], answer["errors"]), (cell.kind, cell.bytes, 0))
                        self.assertGreaterEqual(answer["verified"], 15 * ranks)
                        self.assertEqual("overlap" in answer, cell.kind in POSTED)

    def test_rooted_calls_in_a_row_and_with_a_late_partner(self):
        for ranks in (2, 3):
            with Running(HONEST, ranks, False, {}, SECONDS) as running:  # the naive one relies on a barrier before each rooted call
                for cell in ROOTED:
                    answer = running.ask(cell, SECONDS, 1)
                    self.assertEqual((answer["kind"], answer["bytes"], answer["errors"], answer["verified"]), (cell.kind, cell.bytes, 0, 2 * ranks))

    def test_uneven_blocks_derived_types_pairs_own_operations_and_cold_caches(self):
        for ranks in (2, 3):
            with Running(HONEST, ranks, False, {}, SECONDS) as running:
                for cell in WIDE:
                    answer = running.ask(cell, SECONDS, 10)
                    self.assertEqual((answer["kind"], answer["bytes"], answer["errors"], answer["verified"]), (cell.kind, cell.bytes, 0, 15 * ranks))
                for cell, why in ((P.Cell("", "vector-bcast", 96), "multiple of the type"), (P.Cell("", "alltoallv", 256), "multiple of the type")):
                    with self.assertRaisesRegex(ProgramFailed, why):
                        running.ask(cell, SECONDS, 10)

    def test_many_calls_on_a_new_communicator(self):
        with Running(HONEST, 2, False, {}, SECONDS) as running:
            answer = running.ask(P.Cell("", "new-allreduce", 8), SECONDS, 1)
            self.assertEqual((answer["errors"], answer["verified"]), (0, 4))

    def test_what_it_cannot_do_is_refused_and_it_goes_on(self):
        with Running(PLAIN, 2, False, {}, SECONDS) as running:
            for cell, why in ((P.Cell("", "nonesuch"), "no such collective"), (P.Cell("", "barrier", 8), "where none belongs"),
                              (P.Cell("", "allreduce"), "none where one does"), (P.Cell("", "allreduce", 9), "multiple of the type")):
                with self.assertRaisesRegex(ProgramFailed, why):
                    running.ask(cell, SECONDS, 10)
            self.assertEqual(running.ask(P.Cell("", "barrier"), SECONDS, 10)["errors"], 0)

    def test_the_copies_that_are_a_limit_are_checked_like_a_collective(self):
        with Running(PLAIN, 2, False, {}, SECONDS) as running:
            answer = running.ask(P.Cell("", "alltoall", 64 * P.KIB).copies(2), SECONDS, 10)
            self.assertEqual((answer["errors"], answer["verified"]), (0, 30))
            self.assertGreater(answer["ns"], 0)
            with self.assertRaisesRegex(ProgramFailed, "at most 4 MiB"):
                running.ask(P.Cell("", "copies", 8 * P.MIB), SECONDS, 10)
        with Running(PLAIN, 3, False, {}, SECONDS) as running:
            with self.assertRaisesRegex(ProgramFailed, "between two ranks"):
                running.ask(P.Cell("", "copies", 64 * P.KIB), SECONDS, 10)

    def test_wrong_results_are_found(self):
        for lie, cell in (("sum", P.Cell("the sum", "allreduce", 1024)), ("barrier", P.Cell("the barrier", "barrier")),
                          ("uneven", P.Cell("allgatherv", "allgatherv", 1024)), ("uneven", P.Cell("alltoallv", "alltoallv", 1024)),
                          ("bcast", P.Cell("the vector", "vector-bcast", 1024)), ("maxloc", P.Cell("the place", "maxloc-allreduce", 1024))):
            liar = Started([*LAUNCH, "-x", f"LD_PRELOAD={BROKEN}", "-x", f"BROKEN_MPI={lie}", MPI])
            with self.assertRaisesRegex(ProgramFailed, f"results of {cell.name} were wrong"):
                with Running(liar, 2, False, {}, SECONDS) as running:
                    running.ask(cell, SECONDS, 100)

    def test_a_call_that_fails_is_told_in_its_own_words(self):
        liar = Started([*LAUNCH, "-x", f"LD_PRELOAD={BROKEN}", "-x", "BROKEN_MPI=fail", MPI])
        with self.assertRaisesRegex(ProgramFailed, "ended.*hostbench: rank .: .*MPI_ERR_OTHER"):
            with Running(liar, 2, False, {}, SECONDS) as running:
                running.ask(P.Cell("", "allreduce", 8), SECONDS, 100)

    def test_a_start_that_cannot_go_well(self):
        with self.assertRaisesRegex(ProgramFailed, "ended.*fewer cores than ranks"):
            with Running(PLAIN, len(os.sched_getaffinity(0)) + 1, True, {}, SECONDS):
                pass


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
