"""SUMAC_PROFILE and SUMAC_TRACE with the component: what they count is what the program itself counts (tests/mpi/counted.c)."""

import json
import os
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position
from demolib import profile

COUNTED = case.PROGRAMS / "counted"
EVENTS_MAX = 1 << 18  # src/rank/trace.h
MPIRUN = ["mpirun", "--oversubscribe", *case.YIELD] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
FULL = (1, 0, "full")  # Open MPI ends calls without data before a component hears of them.


class Profile(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)

    def run_counted(self, ranks, *args, before=(), flags=None, seconds=120, **env):
        command = [*before, *MPIRUN, *(case.component_flags() if flags is None else flags), "-n", ranks, COUNTED, *args]
        done = case.start(command, {"SUMAC_TUNING_FILE": "none", "SUMAC_TEAM_AFTER": "0", **env}, seconds)
        self.assertEqual(done.code, 0, done.text)
        return done

    def both(self):
        return {"SUMAC_PROFILE": "2", "SUMAC_TRACE": str(self.folder)}

    def test_profile_and_traces_are_the_programs_own_count(self):
        for ranks in (2, 3, 5):
            done = self.run_counted(ranks, *FULL, **self.both())
            self.assertEqual(profile.compare(done.out, done.err, self.folder, ranks), [], done.text)
            ways = {row.way for row in profile.read(done.err).rows}
            self.assertEqual(ways, {"shared memory", "next module"}, done.text)
            self.assertIn(f"sumac: trace: {ranks} files {self.folder}/sumac-trace-RANK.json", done.err)

    def test_calls_through_the_tree_are_counted(self):
        done = self.run_counted(3, *FULL, before=[case.SUMAC, "run", "--tree"], flags=[], **self.both())
        self.assertEqual(profile.compare(done.out, done.err, self.folder, 3), [], done.text)
        self.assertIn("tree", {row.way for row in profile.read(done.err).rows}, done.text)

    def test_profile_and_explain_count_the_same_hosts(self):
        for before in (["--tree"], []):
            done = self.run_counted(3, *FULL, before=[case.SUMAC, "run", *before], flags=[], SUMAC_PROFILE="1", SUMAC_EXPLAIN="1")
            self.assertEqual(profile.read(done.err).hosts, 1, done.text)
            self.assertEqual(set(re.findall(r"^sumac: communicator .*: \d+ ranks on (\d+) hosts?\b", done.err, re.M)), {"1"}, done.text)

    def test_communicators_that_the_component_leaves_alone_are_counted(self):
        done = self.run_counted(3, *FULL, flags=case.component_flags(np=10), **self.both())
        self.assertEqual(profile.compare(done.out, done.err, self.folder, 3), [], done.text)
        self.assertEqual({row.way for row in profile.read(done.err).rows} - {"no data"}, {"next module"}, done.text)

    def test_the_short_table_has_the_rows_with_most_time(self):
        done = self.run_counted(2, *FULL, SUMAC_PROFILE="1")
        found = profile.read(done.err)
        self.assertEqual(len(found.rows), 20, done.text)
        shares = [row.share for row in found.rows]
        self.assertEqual(shares, sorted(shares, reverse=True), done.text)
        self.assertRegex(done.err, r"(?m)^  \d+ more rows ")
        self.assertEqual(found.calls, sum(calls for calls, _ in profile.summed(profile.counted(done.out)).values()), done.text)

    def test_one_clock_serves_all_ranks_of_a_host(self):
        """No rank leaves a barrier before every rank has entered it."""
        self.run_counted(3, 0, 200, **self.both())
        files = [profile.load_trace(self.folder / f"sumac-trace-{rank}.json") for rank in range(3)]
        barriers = list(zip(*(profile.calls_of(file) for file in files), strict=True))
        self.assertEqual(len(barriers), 200)
        for calls in barriers:
            self.assertLessEqual(max(call["ts"] for call in calls), min(call["ts"] + call["dur"] for call in calls), calls)

    def test_a_rank_keeps_its_last_events_and_says_how_many_it_dropped(self):
        extra = 1000
        done = self.run_counted(2, 0, EVENTS_MAX + extra, **self.both())
        self.assertIn(f"; {2 * extra} events were dropped, the oldest: a rank keeps its last {EVENTS_MAX}", done.err, done.text)
        for rank in range(2):
            data = json.loads((self.folder / f"sumac-trace-{rank}.json").read_text(encoding="utf-8"))["otherData"]
            self.assertEqual((data["events"], data["dropped_events"]), (EVENTS_MAX, extra))
        self.assertEqual(profile.read(done.err).calls, 2 * (EVENTS_MAX + extra), done.text)

    def test_a_folder_that_cannot_be_written_is_named_and_the_job_goes_on(self):
        wrong = self.folder / "file"
        wrong.write_text("", encoding="utf-8")
        done = self.run_counted(3, SUMAC_TRACE=str(wrong))
        self.assertRegex(done.err, rf"SUMAC_TRACE={wrong}: 3 of 3 ranks wrote no trace; this one cannot write {wrong}/sumac-trace-0.json: Not a directory")
        self.assertEqual(done.err.count("SUMAC_TRACE="), 1, done.text)

    def test_without_them_nothing_is_printed(self):
        for env in ({}, {**self.both(), "SUMAC_ENABLE": "0"}):
            done = self.run_counted(2, **env)
            self.assertIsNone(profile.read(done.err), done.text)
            self.assertNotIn("sumac: trace", done.err)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_an_illegal_value_is_named(self):
        done = self.run_counted(2, SUMAC_PROFILE="yes")
        self.assertEqual(done.err.count("SUMAC_PROFILE=yes: expected 0, 1 or 2"), 1, done.text)


if __name__ == "__main__":
    if not COUNTED.exists():
        case.skip_or_fail("there is no program counted: this machine has no MPI (install libopenmpi-dev)")
    case.main()
