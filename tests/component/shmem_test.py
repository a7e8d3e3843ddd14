"""An OpenSHMEM program of Open MPI, unmodified: its barrier_all, sum_to_all and broadcast go through the component, because Open MPI's
OpenSHMEM makes MPI collectives of them (scoll/mpi). They are counted in the line of MPI_Finalize."""

import os
import pathlib
import shutil
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position
from demolib import profile

OSHRUN = ["oshrun", "--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
ROUNDS = 10
# Open MPI 4.1.4 ends every OpenSHMEM program with signal 11, without Sumac too: its component spml/ucx registers a function that shall
# hear of freed memory, is unloaded, and MPI_Finalize then frees memory. Without these hooks the component registers none.
KINDS = ("barrier", "allreduce", "bcast")  # Open MPI makes them of barrier_all, sum_to_all and broadcast.
ENVIRONMENT = {"OMPI_MCA_opal_common_ucx_opal_mem_hooks": "0", "SUMAC_TEAM_AFTER": "0"}


def run_rounds(rounds, pes, before=(), env=None):
    done = case.start([*before, *OSHRUN, "-n", pes, case.PROGRAMS / "shmem", rounds], {**ENVIRONMENT, **(env or {})})
    if done.code != 0 or f"shmem: {rounds} rounds right on {pes} PEs" not in done.out:
        raise AssertionError(done.text)
    return done


def counts(part, pes, before):
    """Returns {collective: calls} of the rounds alone. What OpenSHMEM itself calls from its beginning to its end is counted too: a program of no
    rounds says how much that is. Raises AssertionError if something went another way than `part`."""
    none, all_rounds = (case.tally.read(run_rounds(rounds, pes, before).err) for rounds in (0, ROUNDS))
    if none is None or all_rounds is None or all_rounds.part("next module").count != 0:
        raise AssertionError(f"last lines: {none and none.text}; {all_rounds and all_rounds.text}")
    return {kind: calls - none.part(part).kinds.get(kind, 0) for kind, calls in all_rounds.part(part).kinds.items()}


def missing():
    """Returns why this machine cannot run the program; "" if it can."""
    if (case.PROGRAMS / "shmem").exists() and shutil.which("oshrun"):
        return ""
    return "this Open MPI has no OpenSHMEM: liboshmem or oshrun is missing (Debian has both in openmpi-bin and libopenmpi-dev)"


class OpenShmem(unittest.TestCase):
    def check_counts(self, part, pes, before):
        found = counts(part, pes, before)
        self.assertEqual([found.get(kind, 0) for kind in KINDS], [ROUNDS] * len(KINDS), found)

    def test_three_operations_go_through_shared_memory(self):
        for pes in (2, 5):
            self.check_counts("shared memory", pes, [case.SUMAC, "run"])

    def test_three_operations_go_through_the_tree(self):
        self.check_counts("tree", 3, [case.SUMAC, "run", "--tree"])

    def test_a_profile_has_the_calls_of_all_pes(self):
        done = run_rounds(ROUNDS, 3, [case.SUMAC, "run"], {"SUMAC_PROFILE": "2"})
        once = sum(part.count for part in case.tally.read(done.err).parts.values())
        self.assertEqual(profile.read(done.err).calls, 3 * once, done.text)

    def test_without_sumac_the_same_program_is_right(self):
        self.assertIsNone(run_rounds(ROUNDS, 3).tally)
        self.assertIsNone(run_rounds(ROUNDS, 3, [case.SUMAC, "run"], {"SUMAC_ENABLE": "0"}).tally)


if __name__ == "__main__":
    if missing():
        case.skip_or_fail(missing())
    case.main()
