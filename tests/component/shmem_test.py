"""An OpenSHMEM program of Open MPI, unmodified: its barrier_all, sum_to_all and broadcast go through the component, because Open MPI's
OpenSHMEM makes MPI collectives of them (scoll/mpi). They are counted in the line of MPI_Finalize."""

import os
import shutil
import unittest

import case

OSHRUN = ["oshrun", "--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
ROUNDS = 10
# Open MPI 4.1.4 ends every OpenSHMEM program with signal 11, without Sumac too: its component spml/ucx registers a function that shall
# hear of freed memory, is unloaded, and MPI_Finalize then frees memory. Without these hooks the component registers none.
ENVIRONMENT = {"OMPI_MCA_opal_common_ucx_opal_mem_hooks": "0"}


class OpenShmem(unittest.TestCase):
    def run_rounds(self, rounds, pes, before=(), env=None):
        done = case.start([*before, *OSHRUN, "-n", pes, case.PROGRAMS / "shmem", rounds], {**ENVIRONMENT, **(env or {})})
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(f"shmem: {rounds} rounds right on {pes} PEs", done.out)
        return done

    def check_counts(self, part, pes, before):
        """What OpenSHMEM itself calls from its beginning to its end is counted too: a program of no rounds says how much that is."""
        none, all_rounds = (case.tally.read(self.run_rounds(rounds, pes, before).err) for rounds in (0, ROUNDS))
        self.assertIsNotNone(none)
        self.assertIsNotNone(all_rounds)
        for kind in ("barrier", "allreduce", "bcast"):
            self.assertEqual(all_rounds.part(part).kinds.get(kind, 0) - none.part(part).kinds.get(kind, 0), ROUNDS, all_rounds.text)
        self.assertEqual(all_rounds.part("next module").count, 0, all_rounds.text)

    def test_three_operations_go_through_shared_memory(self):
        for pes in (2, 5):
            self.check_counts("shared memory", pes, [case.SUMAC, "run"])

    def test_three_operations_go_through_the_tree(self):
        self.check_counts("tree", 3, [case.SUMAC, "run", "--tree"])

    def test_without_sumac_the_same_program_is_right(self):
        self.assertIsNone(self.run_rounds(ROUNDS, 3).tally)
        self.assertIsNone(self.run_rounds(ROUNDS, 3, [case.SUMAC, "run"], {"SUMAC_ENABLE": "0"}).tally)


if __name__ == "__main__":
    if not (case.PROGRAMS / "shmem").exists() or not shutil.which("oshrun"):
        case.skip_or_fail("this Open MPI has no OpenSHMEM: liboshmem or oshrun is missing (Debian has both in openmpi-bin and libopenmpi-dev)")
    case.main()
