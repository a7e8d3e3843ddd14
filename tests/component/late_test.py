"""A rank that comes late to a collective (tests/mpi/late.c): SUMAC_TIMEOUT ends the wait of the others with an error, and without it a line names
the rank. On this machine, inside shared memory and with leaders that Open MPI's messages connect."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position

MPIRUN = ["mpirun", "--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
# Each of two described sockets has a leader of its own.
LEADERS = {"HWLOC_SYNTHETIC": "package:2 core:2 pu:1", "HCOLL_SBGP": "basesmsocket,p2p", "HCOLL_BCOL": "basesmuma,ucx_p2p"}


def run(ranks, *args, env=None, into=None):
    settings = {"OMPI_MCA_mpi_yield_when_idle": "1", "SUMAC_TEAM_AFTER": "0", **(env or {})}
    command = [case.SUMAC, "run", *MPIRUN, "-n", ranks, case.PROGRAMS / "late", *args]
    return case.start(["sh", "-c", f'exec "$@" 2> {into}', "sh", *command] if into else command, settings)


class Late(unittest.TestCase):
    def all_fail(self, ranks, *args, env=None):
        done = run(ranks, "fails", *args, env={"SUMAC_TIMEOUT": "2s", **(env or {})})
        for rank in range(ranks):
            self.assertIn(f"late: rank {rank} is right", done.out, done.text)
            self.assertRegex(done.out, rf"late: rank {rank} of {ranks}: MPI_ERR_OTHER: .*timed out after \d+ ms at rank \d+: ", done.text)
        # On a busy machine another rank may be late as well.
        self.assertRegex(done.out, rf"ranks? ([\d, ]+ and )?{ranks - 1} ha(s|ve) not begun it", done.text)
        self.assertEqual(done.code, 0, done.text)

    def test_a_time_limit_ends_blocking_and_nonblocking_calls_of_a_host(self):
        self.all_fail(3)
        self.all_fail(3, "i")

    def test_a_time_limit_ends_calls_between_leaders(self):
        self.all_fail(4, env=LEADERS)
        self.all_fail(4, "i", env=LEADERS)

    def test_a_line_names_the_rank_for_which_the_others_wait_once(self):
        for ranks, env in ((3, {}), (4, LEADERS)):
            with self.subTest(ranks=ranks), tempfile.TemporaryDirectory() as folder:
                lines = pathlib.Path(folder) / "lines"
                done = run(ranks, lines, env=env, into=lines)
                text = lines.read_text(encoding="utf-8")
                self.assertEqual(done.code, 0, done.text + text)
                self.assertRegex(text, rf"rank 0 has waited 10 s in a collective of communicator MPI_COMM_WORLD: rank {ranks - 1} has not begun it")
                self.assertEqual(text.count("has waited"), 1, text)

    def test_a_limit_must_be_a_time(self):
        done = run(2, env={"SUMAC_TIMEOUT": "soon"})
        self.assertIn("SUMAC_TIMEOUT=soon: expected 0 or a duration such as 500ms or 30s", done.err, done.text)


if __name__ == "__main__":
    case.main()
