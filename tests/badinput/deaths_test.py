"""A process dies in the middle: daemons, ranks, `sumac run` itself. The others go on or fail with the reason, in bounded time; the
resources of the dead process serve the next job; and nothing is left behind."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import ground  # noqa: E402  pylint: disable=wrong-import-position
from harness.ground import BIN, case  # noqa: E402  pylint: disable=wrong-import-position

SUMAC = BIN / "sumac"
KILLED = [SUMAC, "run", "--tree", "mpirun", "--oversubscribe", *ground.ROOT, "-n", "2", case.PROGRAMS / "killed"]

# A rank's connection reports the death, or sharpd of its host does: the machine's load decides which comes first.
GONE = r"\(host localhost\) (is dead|lost its connection to the tree)"


class Daemons(ground.Scenario):
    def setUp(self):
        # The next job wants all of the node, and belongs to the same user.
        self.house = ground.House(self.id().split(".")[-1][:40], words={"sharp_am": ("--user-share-max-percent", "100")})
        self.addCleanup(self.nothing_left)
        self.addCleanup(self.house.close)

    ALL = {"SHARP_COLL_JOB_QUOTA_OSTS": "32768", "SHARP_COLL_JOB_QUOTA_MAX_GROUPS": "512"}

    def released(self, why):
        """The manager has taken the job's share back: the next job, which wants all of it, gets it."""
        self.house.says("sharp_am", why)
        done = self.house.client(BIN / "example-allreduce", "3", "1000", env=self.ALL)
        self.assertEqual(done.code, 0, done.text + self.house.log("sharp_am") + self.house.log("sharp_an"))

    def test_the_manager(self):
        """The data path goes on; the job ends well without the manager; a new manager serves new jobs."""
        job = self.house.steady()
        self.house.kill("sharp_am")
        self.house.says("sharp_an", "the data path goes on")
        code, out, err = job.end()
        self.assertEqual((code, out.count("done after")), (0, 3), out + err)
        refused = self.house.job()
        self.assertEqual(refused.code, 1, refused.text)
        self.assertRegex(refused.err, r"No Aggregation Manager .*no manager at \S+ .*start sharp_am")
        self.house.start_manager()
        self.house.says("sharp_am", "node node registered")
        self.good_job(self.house)

    def test_the_manager_comes_back_before_the_job_ends(self):
        """The job goes on; its share of the node is not granted twice, and a job that wants that share learns why it cannot have it."""
        job = self.house.steady()
        self.house.kill("sharp_am")
        self.house.start_manager()
        self.house.says("sharp_am", "node node registered")
        self.good_job(self.house)
        refused = self.house.client(BIN / "example-allreduce", "3", "1000", env=self.ALL)
        self.assertEqual(refused.code, 1, refused.text)
        self.assertRegex(refused.err, "32768 OSTs asked, 29492 of 32768 left: ranks of a former job still hold them: wait until they end, or ask for less")
        code, out, err = job.end()
        self.assertEqual((code, out.count("done after")), (0, 3), out + err)
        self.released("node node registered")

    def test_sharpd(self):
        """The grants of a killed sharpd are released within seconds; its clients, which add up without it, end by themselves."""
        job = self.house.steady()
        self.house.kill("sharpd")
        self.house.says("sharp_am", "released: localhost pid .* has not renewed it for 8000 ms")
        code, out, err = job.end()
        self.assertEqual((code, out.count("done after")), (0, 3), out + err)
        self.one_line(err, r"end of job \d+: sharpd closed the connection")
        self.house.start_sharpd()
        self.released("has not renewed it")

    def restart_sharpd(self, number):
        self.house.kill("sharpd", number)
        self.house.start_sharpd()

    def lease_ms(self):
        done = ground.start([BIN / "sharp_cmd", "jobs", "--json", "--manager", self.house.manager])
        self.assertEqual(done.code, 0, done.text)
        jobs = json.loads(done.out)["jobs"]
        self.assertEqual(len(jobs), 1, done.out + self.house.log("sharp_am"))
        return jobs[0]["lease_ms"]

    def lease_is_renewed(self):
        """The rest of the lease shrinks, and grows when the lease is renewed: this compares each reading with the one before, since the
        first may be anywhere in between."""
        left = [self.lease_ms()]

        def rises():
            left.append(self.lease_ms())
            return left[-1] > left[-2]

        ground.until(rises, lambda: f"the lease is renewed: {left[-20:]}")

    def test_sharpd_restarted_under_a_job(self):
        """The new sharpd renews the leases of the former one; the job ends through it as usual."""
        for number in (signal.SIGKILL, signal.SIGTERM):
            with self.subTest(number):
                job = self.house.steady()
                self.restart_sharpd(number)
                self.house.says("sharpd", "1 of 1 jobs of the former sharpd go on")
                self.lease_is_renewed()
                code, out, err = job.end()
                self.assertEqual((code, out.count("done after"), err), (0, 3, ""), out + err)
                self.house.says("sharpd", r"client localhost pid \d+ uid \d+ is back and holds job \d+")
                self.good_job(self.house)
                self.assertEqual([path.name for path in self.house.folder.glob("*.jobs*")], [])
                self.house.kill("sharpd", signal.SIGTERM)
                (self.house.folder / "sharpd.log").unlink()
                self.house.start_sharpd()

    def test_sharpd_restarted_and_then_the_holder_dies(self):
        """No process has called the new sharpd yet; it watches the holder nevertheless. The other ranks know that he has died by his
        port alone, which his host refuses."""
        job = self.house.steady(4, SUMAC_RECOVERY="auto")
        self.restart_sharpd(signal.SIGKILL)
        self.house.says("sharpd", "1 of 1 jobs of the former sharpd go on")
        os.kill(job.pids[0], signal.SIGKILL)
        job.ended()
        self.house.says("sharpd", r"pid \d+ died and holds job \d+: released")
        self.released("released: ")

    def test_sharpd_restarted_after_the_holder_died(self):
        job = self.house.steady(4)
        self.house.kill("sharpd")
        os.kill(job.pids[0], signal.SIGKILL)
        job.ended()
        self.house.start_sharpd()
        self.house.says("sharpd", "0 of 1 jobs of the former sharpd go on")
        self.released("released|end job")

    def test_what_the_former_sharpd_left_is_damaged(self):
        """With a damaged state file sharpd starts without jobs: the job's lease ends, and the next job is served."""
        job = self.house.steady()
        self.house.kill("sharpd")
        (self.house.folder / "sharpd.sock.jobs").write_text("rubbish")
        self.house.start_sharpd()
        self.house.says("sharpd", r"the jobs of the former sharpd are lost: \S+sharpd.sock.jobs: cannot be parsed")
        self.good_job(self.house)
        code, out, err = job.end()
        self.assertEqual((code, out.count("done after")), (0, 3), out + err)
        self.one_line(err, r"end of job \d+: sharpd closed the connection")

    def test_the_node(self):
        job = self.house.steady()
        self.house.kill("sharp_an")
        code, out, err = job.ended()
        self.assertEqual((code, len(re.findall(r"rank \d failed after \d+ calls: .*node node at tcp:127\.0\.0\.1:\d+.*look at its log", out))), (1, 3), out + err)
        self.assertLessEqual(err.count("\n"), 3, err)
        self.house.start_node()
        self.released("end job")

    def test_a_rank(self):
        job = self.house.steady(4)
        os.kill(job.pids[2], signal.SIGKILL)
        code, out, err = job.ended()
        self.assertEqual((code, len(re.findall(r"rank [013] failed after \d+ calls: .*rank 2", out))), (1, 3), out + err)
        self.one_line(err, "SHArP Error detected.* rank 2 " + GONE)
        self.released("end job")

    def test_the_rank_that_holds_the_job(self):
        """Rank 0 began the job; only sharpd is left to end it."""
        job = self.house.steady(4)
        os.kill(job.pids[0], signal.SIGKILL)
        code, out, err = job.ended()
        self.assertEqual((code, len(re.findall(r"rank [123] failed after \d+ calls: .*rank 0", out))), (1, 3), out + err)
        self.one_line(err, "SHArP Error detected.* rank 0 " + GONE)
        self.released("released: localhost pid")

    def test_a_rank_that_is_stopped_is_waited_for(self):
        """Silence of a rank proves nothing: it may be computing."""
        job = self.house.steady()
        os.kill(job.pids[1], signal.SIGSTOP)
        with self.assertRaises(AssertionError):
            ground.until(lambda: job.process.poll() is not None, "it goes on", 2)
        os.kill(job.pids[1], signal.SIGCONT)
        code, out, err = job.end()
        self.assertEqual((code, out.count("done after")), (0, 3), out + err)

    def test_everybody(self):
        job = self.house.steady()
        for program in ("sharp_am", "sharp_an", "sharpd"):
            self.house.kill(program)
        code, out, err = job.ended()
        self.assertEqual((code, out.count("failed after")), (1, 3), out + err)


class Parts(ground.Scenario):
    """A part of the cluster stops or dies while a job runs on another part of it, or on that one."""

    def tree(self, *options):
        house = ground.Tree(self.id().split(".")[-1][:40], *options)
        self.addCleanup(self.nothing_left)
        self.addCleanup(house.close)
        return house

    def all_well(self, job, ranks):
        code, out, err = job.end()
        self.assertEqual((code, out.count("done after")), (0, ranks), out + err)

    def test_a_node_that_carries_nothing_of_the_job(self):
        """Each host is alone at its leaf, so the job runs on the root alone; new jobs get numbers that no node still holds."""
        house = self.tree("--node-away", "200ms")
        job = house.steady_on("h1", "h2")
        house.kill("an2")
        house.says("sharp_am", "node an2 stays away: the trees go on without")
        for _ in range(5):
            self.all_well(house.steady_on("h1"), 1)
        self.all_well(job, 2)
        self.assertNotIn("released", house.log("sharp_am"))

    def test_a_node_that_is_stopped(self):
        """New jobs of its hosts begin without it, also those that were beginning; it is taken back."""
        house = self.tree("--node-away", "1s")
        house.processes["an2"].send_signal(signal.SIGSTOP)
        job = house.steady_on("h2", "h3")  # it is begun before anybody knows
        house.says("sharp_am", "node an2 is silent: an0 has heard nothing of it for .* s; new jobs go without it")
        topology = ground.start([BIN / "sharp_cmd", "topology", "--manager", house.manager]).out
        self.assertRegex(topology, r"an2 .* (silent|missing)")
        self.all_well(house.steady_on("h2", "h3"), 2)
        house.processes["an2"].send_signal(signal.SIGCONT)
        house.says("sharp_am", "node an2 is heard again: new jobs use it")
        self.all_well(job, 2)
        self.all_well(house.steady_on("h2", "h3"), 2)

    def test_a_sharpd_that_is_stopped_for_longer_than_its_lease(self):
        house = self.tree("--lease", "2s", "--renew", "500ms")
        job = house.steady_on("h2", "h3")
        house.processes["h2"].send_signal(signal.SIGSTOP)
        house.says("sharp_am", "released: h2 pid .* has not renewed it for 2000 ms")
        house.processes["h2"].send_signal(signal.SIGCONT)
        house.says("sharp_am", "job_id_external: .* goes on: its sharpd has come back")
        self.all_well(job, 2)
        self.all_well(house.steady_on("h2", "h3"), 2)

    def test_two_sharpds_of_one_name_and_one_that_the_fabric_lacks(self):
        house = self.tree()
        for host in ("h1", "h9"):
            house.start("sharpd", "--host", host, "--manager", house.manager, "--socket", house.socket_of("other" + host), name="other" + host)
        house.says("sharp_am", r"host h1 has two sharpds, pid \d+ and pid \d+: give each its own --host NAME")
        house.says("otherh9", "the fabric has no host h9: add it to sharp_am's fabric file, or give --host NAME")


class Recovery(ground.Scenario):
    def test_a_program_goes_on_when_its_node_is_killed(self):
        """Each result is checked by the program."""
        self.addCleanup(self.nothing_left)
        with ground.begin([*KILLED, "3"], env={"SUMAC_RECOVERY": "1", "SHARP_COLL_ENABLE_SAT": "0"}) as program:
            while "killed: ready" not in program.stdout.readline():
                self.assertIsNone(program.poll())
            nodes = [pid for pid, words in ground.marked().items() if words.split() and pathlib.Path(words.split()[0]).name == "sharp_an"]
            os.kill(nodes[0], signal.SIGKILL)
            out, err = program.communicate(timeout=60)
        self.assertEqual((program.returncode, out.count("never failed")), (0, 2), out + err)
        self.assertIn("go on among themselves", err)
        self.assertNotIn("unknown variable SUMAC_RECOVERY", err)


class SumacRun(ground.Scenario):
    """`sumac run` runs an MPI program that adds up until it cannot."""

    def setUp(self):
        self.addCleanup(self.nothing_left)
        self.program = ground.begin(KILLED, env={"SUMAC_RECOVERY": "0"}, start_new_session=True)
        self.addCleanup(self.program.communicate)
        for line in self.program.stdout:
            if "killed: ready" in line:
                return
        raise AssertionError(f"the program did not start: {self.program.communicate()[1]}")

    def ended(self, seconds=40):
        try:
            out, err = self.program.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as late:
            self.program.kill()
            raise AssertionError(f"still runs after {seconds} s:\n{self.program.communicate()[1]}") from late
        return self.program.returncode, out, err

    def daemon(self, name):
        return next(pid for pid, words in ground.marked().items() if words.split() and pathlib.Path(words.split()[0]).name == name)

    def test_ctrl_c(self):
        """The signal goes to the whole group, as a terminal sends Ctrl-C and a batch system SIGTERM. mpirun must get it once: it takes a
        second one for impatience, and leaves its files."""
        ground.signal_group(self.program, signal.SIGINT)
        code, _, err = self.ended()
        self.assertNotEqual(code, 0)
        self.assertNotIn("sumac run: sharp", err)  # the daemons outlive the program
        self.assertNotIn("forcibly", err)

    def test_terminated(self):
        self.program.terminate()
        code, _, err = self.ended()
        self.assertNotEqual(code, 0)
        self.assertNotIn("killed", err)

    def test_killed(self):
        self.program.kill()
        self.assertEqual(self.program.wait(20), -signal.SIGKILL)

    def test_its_node_is_killed(self):
        os.kill(self.daemon("sharp_an"), signal.SIGKILL)
        code, out, err = self.ended()
        self.assertEqual((code, out.count("MPI_ERR_OTHER")), (0, 2), out + err)  # the program handles the error
        self.assertRegex(err, r"sumac run: sharp_an ended with signal 9 \(Killed\)")
        self.assertRegex(err, "SHArP: allreduce failed:.*node node at tcp:127")
        self.assertEqual(err.count("allreduce failed"), 1, err)

    def test_its_manager_and_sharpd_are_killed(self):
        """The program computes on, to its own end; both deaths are reported."""
        for name in ("sharp_am", "sharpd"):
            os.kill(self.daemon(name), signal.SIGKILL)
        ground.until(lambda: not {"sharp_am", "sharpd"} & {pathlib.Path(words.split()[0]).name for words in ground.marked().values() if words}, "both are gone")
        self.assertIsNone(self.program.poll())
        os.kill(self.daemon("sharp_an"), signal.SIGKILL)  # the program's own end is a minute away
        code, out, err = self.ended()
        self.assertEqual((code, out.count("MPI_ERR_OTHER")), (0, 2), out + err)
        for name in ("sharp_am", "sharpd", "sharp_an"):
            self.assertEqual(err.count(f"sumac run: {name} ended with signal 9"), 1, err)


if __name__ == "__main__":
    ground.main()
