"""The lab under bad input: rubbish at its control socket, ranks that disagree, a rank that is killed, its end by any signal while a job
runs, and machines that cannot have a lab. (A bad fabric, kills of an idle lab: lab/lab_test.py; no manager, a dead node:
tests/component/lab_test.py.)"""

import array
import json
import os
import pathlib
import re
import signal
import socket
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import ground  # noqa: E402  pylint: disable=wrong-import-position
from harness.ground import BIN, SCRATCH, case  # noqa: E402  pylint: disable=wrong-import-position

SUMAC = BIN / "sumac"
FABRIC = pathlib.Path(__file__).resolve().parents[2] / "lab" / "fabrics" / "test-4h.yaml"
ON = {
    "HCOLL_ENABLE_SHARP": "3",
    "SHARP_COLL_ENABLE_SAT": "1",
    "SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST": "1024",
}
QUIET = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "mpi_yield_when_idle", "1"]


def mpirun(program, *words):
    exported = [word for name in ON for word in ("-x", name)]
    return [str(word) for word in (SUMAC, "lab", "mpirun", "--name", ground.MARK, "-n", "4", *QUIET, *case.component_flags(), *exported, case.PROGRAMS / program, *words)]


def lab(*words, env=None, seconds=60):
    return ground.start([SUMAC, "lab", words[0], "--name", ground.MARK, *words[1:]], env, seconds)


def setUpModule():
    """Skips all scenarios, with one message, if this machine cannot have a lab."""
    up = lab("up", FABRIC, "--bare")
    if up.code == 0:
        lab("down")
    elif "permit user namespaces" in up.err:
        case.skip_or_fail(up.err.strip())


class Lab(ground.Scenario):
    bare = ()

    def setUp(self):
        self.addCleanup(self.nothing_left)
        self.holder = ground.begin((SUMAC, "lab", "up", FABRIC, "--name", ground.MARK, "--foreground", *self.bare), start_new_session=True)
        self.addCleanup(self.holder.communicate)
        self.addCleanup(lab, "down")
        for line in self.holder.stdout:
            if " is up" in line:
                return
        raise AssertionError(f"the lab did not come up: {self.holder.communicate()[1]}")

    def start_killed(self, *words):
        """Starts an MPI job on the hosts that adds up until it cannot, or another one that says the same words."""
        job = ground.begin(mpirun(*(words or ["killed"])), env=ON, start_new_session=True)
        self.addCleanup(job.communicate)
        for line in job.stdout:
            if "killed: ready" in line:
                return job
        raise AssertionError(f"the job did not start: {job.communicate()[1]}")

    def good_lab_job(self):
        done = ground.start(mpirun("churn", "2"), ON)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("churn: 2 rounds passed", done.out)
        self.assertEqual(done.tally["next"], 0, done.text)


class Jobs(Lab):
    def test_ranks_that_disagree(self):
        """Ranks disagree on a count, a type, an operation, a collective: one verdict names the rank and the field, every rank gets the same
        error, and the next job is served."""
        for what, word in (("count", "count"), ("type", "d?type"), ("op", "op"), ("collective", "coll|barrier")):
            with self.subTest(what):
                done = ground.start(mpirun("disagree", what), ON)
                self.assertEqual(done.out.count("first ok second MPI_ERR_OTHER"), 4, done.text)
                self.assertEqual(done.code, 0, done.text)
                lines = re.findall(r"SHArP Error detected.*", done.err)
                self.assertEqual(len(lines), 1, done.text)
                self.assertRegex(lines[0], rf"rank 1\b.*({word})|({word}).*rank 1\b")
                self.assertEqual(done.err.count(" failed:"), 1, done.text)
        self.good_lab_job()

    def test_a_rank_that_is_killed(self):
        """mpirun ends the job; its share goes back to the manager, and the next job gets one."""
        job = self.start_killed()
        victim = next(pid for pid, words in ground.marked().items() if words.startswith(str(case.PROGRAMS / "killed")))
        os.kill(victim, signal.SIGKILL)
        _, err = job.communicate(timeout=60)
        self.assertNotEqual(job.returncode, 0)
        self.assertIn("exited on signal 9", err)
        self.good_lab_job()

    def test_ctrl_c_of_a_job(self):
        job = self.start_killed()
        ground.signal_group(job, signal.SIGINT)
        job.communicate(timeout=60)
        self.assertNotEqual(job.returncode, 0)
        self.good_lab_job()

    def test_ctrl_c_of_the_lab_while_a_job_runs(self):
        # Daemons end before the hosts: a job that needs them might end in order by then.
        job = self.start_killed("/bin/sh", "-c", "echo killed: ready; exec sleep 600")
        ground.signal_group(self.holder, signal.SIGINT)
        self.holder.communicate(timeout=60)
        _, err = job.communicate(timeout=60)
        self.assertNotEqual(job.returncode, 0)
        self.assertRegex(err, "the lab went down while mpirun ran on h1")

    def test_kill_9_of_the_labs_parent_while_a_job_runs(self):
        job = self.start_killed()
        os.kill(json.loads(lab("status", "--json").out)["pid"], signal.SIGKILL)
        _, err = job.communicate(timeout=60)
        self.assertNotEqual(job.returncode, 0)
        self.assertRegex(err, "the lab went down while mpirun ran on h1")


class ControlSocket(Lab):
    bare = ("--bare",)

    def ask(self, data, fds=()):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(peer.close)
        peer.connect(f"\0sumac-lab/{os.geteuid()}/{ground.MARK}")
        peer.settimeout(20)
        if data:
            peer.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
        return peer

    def test_rubbish(self):
        silent = [self.ask(b"") for _ in range(300)]  # more than it listens to at a time
        null = os.open("/dev/null", os.O_RDWR)
        zero = os.open("/dev/zero", os.O_RDWR)
        ends = os.pipe()
        rubbish = os.memfd_create("rubbish")
        os.write(rubbish, os.urandom(5000))
        huge = os.memfd_create("huge")
        os.ftruncate(huge, 1 << 45)
        self.addCleanup(lambda: [os.close(fd) for fd in (null, zero, *ends, rubbish, huge)])
        for words, fds in ((b"x", ()), (os.urandom(1000), ()), (b"y" * 60000, ()), (b"z" * 150000, ()), (b"exec h1", ()), (b"exec h1", (null,) * 3),
                           (b"exec h9", (null,) * 4), (b"status", (null,) * 16), (b"exec ", (null,) * 4)):
            with self.subTest(words[:20], fds=len(fds)):
                answer = self.ask(words, fds).recv(1 << 17)
                self.assertLess(len(answer), 400, "the answer repeats what it was told")
                self.assertTrue(answer in (b"", b"ok") or answer.startswith(b"failed "), answer)
        # These commands are invalid: the host's first process answers so, and the other hosts never receive them.
        for fd in (rubbish, ends[0], zero, null, huge):
            answer = self.ask(b"exec h2", (fd, null, null, null)).recv(4096)
            self.assertTrue(answer.startswith((b"failed ", b"exited ")), answer)
        for signalled in (b"signal 99999", b"signal -1", b"signal", os.urandom(100), b"q" * 100000):
            program = self.ask(b"exec h3", (rubbish, null, null, null))
            try:
                program.send(signalled)
            except ConnectionError:
                pass  # the program has ended already
        for host in ("h1", "h2", "h3", "h4"):
            done = lab("exec", host, "--", "echo", "well")
            self.assertEqual((done.code, done.out), (0, "well\n"), done.text)
        for peer in silent:
            peer.close()

    def test_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        code = f"import socket; s = socket.socket(1, 5); s.connect('\\0sumac-lab/0/{ground.MARK}'); print(s.recv(99).decode())"
        done = ground.start(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/env", "python3", "-c", code])
        if done.code != 0 and "Permission denied" in done.err:
            done = ground.start(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", code])
        self.assertEqual(done.out.strip(), "failed the lab is another user's", done.text)


class Names(unittest.TestCase):
    def test_a_name_that_no_directory_can_have_is_refused_before_anything_is_built(self):
        for name in ("", "a/b", "..", ".x"):
            done = ground.start([SUMAC, "lab", "up", FABRIC, "--name", name])
            self.assertEqual((done.code, done.err), (2, f"sumac: lab up: --name '{name}': choose a name without '/' that does not begin with '.'\n"))


class Machines(ground.Scenario):
    """Each test hides something that a machine may lack."""

    def test_neither_root_nor_user_namespaces(self):
        nothing = "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all \"$@\""
        done = ground.start(["unshare", "--user", "--map-root-user", "sh", "-c", nothing, "-", SUMAC, "lab", "up", FABRIC, "--name", ground.MARK])
        if "unshare failed" in done.err or "max_user_namespaces" in done.err and "sumac" not in done.err:
            self.skipTest(done.err.strip())
        self.assertEqual(done.code, 1, done.text)
        self.one_line(done.err, "network namespaces", "run as root, or permit user namespaces", "max_user_namespaces")
        self.nothing_left()

    def test_no_tun_device(self):
        """The lab does not need it: its links are pairs of virtual Ethernet devices."""
        if os.geteuid() != 0:
            self.skipTest("only root can hide it")
        hide = "mount -t tmpfs none /dev/net && test ! -e /dev/net/tun && \"$@\" && exec \"$1\" lab down --name \"$6\""
        done = ground.start(["unshare", "--mount", "sh", "-c", hide, "-", SUMAC, "lab", "up", FABRIC, "--name", ground.MARK, "--bare"])
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("is up", done.out)
        self.nothing_left()

    def test_a_plain_chroot(self):
        """Its / is no mount point, so nothing in it can be made private."""
        if os.geteuid() != 0:
            self.skipTest("only root can enter one")
        root = SCRATCH / "root"
        parts = [part for part in ("bin", "dev", "etc", "lib", "lib64", "proc", "sbin", "sys", "usr", "tmp", "root", str(SUMAC).split("/")[1]) if os.path.isdir(f"/{part}")]
        for part in dict.fromkeys(parts):
            (root / part).mkdir(parents=True)
        mounts = "for part in $1; do mount --rbind /$part $0/$part; done; shift; exec chroot \"$0\" \"$@\""
        done = ground.start(["unshare", "--mount", "sh", "-c", mounts, root, " ".join(dict.fromkeys(parts)), SUMAC, "lab", "up", FABRIC, "--name",
                            ground.MARK, "--bare"])
        self.assertEqual(done.code, 1, done.text)
        self.one_line(done.err, "/ is no mount point, as in a plain chroot", "mount --bind ROOT ROOT")
        self.nothing_left()

    def test_the_name_may_stand_before_the_command(self):
        for words, says in ((["--name", "no-such-lab", "status"], "no lab no-such-lab is up"), (["--name", "x", "stat"], "there is no command 'stat'"),
                            (["--name", "x"], "--name without a name and a command behind it")):
            done = ground.start([SUMAC, "lab", *words])
            self.assertNotEqual(done.code, 0, done.text)
            self.one_line(done.err, says)

    def test_no_mpirun(self):
        done = lab("mpirun", "hostname", env={"PATH": "/nonexistent"})
        self.assertEqual(done.code, 127, done.text)
        self.one_line(done.err, "mpirun is not on the PATH: install Open MPI")

    def test_no_lab(self):
        for words in (("exec", "h1", "--", "true"), ("mpirun", "hostname"), ("status",), ("down",)):
            done = lab(*words)
            self.assertNotEqual(done.code, 0, done.text)
            self.one_line(done.err, f"no lab {ground.MARK} is up")


if __name__ == "__main__":
    ground.main()
