"""`sumac run` over several hosts: those of a lab, reached by its remote-start agent or by a stand-in for srun; and starts that must fail.
When a part ends, all hosts end."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import ground  # noqa: E402  pylint: disable=wrong-import-position
from harness.ground import BIN, SCRATCH, case  # noqa: E402  pylint: disable=wrong-import-position

SUMAC = BIN / "sumac"
FABRIC = pathlib.Path(__file__).resolve().parents[2] / "lab" / "fabrics" / "test-4h.yaml"
RSH = f"{SUMAC} lab rsh --name {ground.MARK}"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def script(name, text):
    """Writes a script that stands in for another program, alone in a folder of its own."""
    folder = SCRATCH / name
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n" + text)
    (folder / name).chmod(0o755)
    return folder / name


def run(*words, env=None):
    return ground.start([SUMAC, "run", *words], env)


class Words(ground.Scenario):
    def setUp(self):
        self.addCleanup(self.nothing_left)

    def test_what_makes_no_sense(self):
        (SCRATCH / "hosts").write_text("a\nb\na\n")
        rows = (
            (["--hosts", "a,b,a"], {}, "a is named twice"),
            (["--hosts", "a;b"], {}, "'a;b' is no host's name"),
            (["--hosts", "x" * 64], {}, "is no host's name: 64 letters without a dot, and the most are 63"),
            (["--hosts", "[fe80::1::]"], {}, r"'\[fe80::1::\]' is no IPv6 address"),
            (["--hosts"], {}, "--hosts needs a value"),
            (["--hostfile", SCRATCH / "hosts"], {}, r"hosts:3: host a stands in line 1 already"),
            (["--hostfile", "/nonexistent"], {}, "--hostfile: open hostfile /nonexistent: No such file or directory"),
            (["--hosts", "a", "--hostfile", "b"], {}, "give one of them"),
            (["--hosts", "a", "--nodes", "2"], {}, "--nodes 2: a number from 1 to 1"),
            (["--hosts", "a", "--launcher", " "], {}, "--launcher is empty"),
            (["--launcher", "x"], {}, "--launcher is for several hosts: give --hosts"),
            (["--local", "--hosts", "a"], {}, "contradict"),
            ([], {"SLURM_JOB_NODELIST": "n[1-"}, "SLURM_JOB_NODELIST: .*unbalanced brackets"),
        )
        for words, env, says in rows:
            with self.subTest(words=words):
                done = run(*words, *([] if words[-1:] == ["--hosts"] else ["true"]), env=env)
                self.assertEqual((done.code, done.out), (2, ""), done.text)
                self.one_line(done.err, says)

    def test_a_host_that_cannot_be_reached_is_named(self):
        rows = (
            (script("refuses", "echo 'no route to host' >&2; exit 255\n"), "host a: '.*refuses' ended with status 255: no route to host"),
            (script("says", "echo 'Welcome'; echo 'failed the remedy'; cat\n"), "host a: the remedy"),
            ("/nonexistent/agent", "host a: /nonexistent/agent: No such file"),
        )
        for launcher, says in rows:
            with self.subTest(launcher):
                done = run("--hosts", "a", "--address", "127.0.0.1", "--launcher", launcher, "true")
                self.assertNotEqual(done.code, 0, done.text)
                self.one_line(done.err, says)

    def test_two_names_of_one_machine(self):
        done = run("--hosts", "a,b", "--address", "127.0.0.1", "--launcher", script("here", 'shift; exec "$@"\n'), "true")
        self.assertEqual(done.code, 1, done.text)
        self.one_line(done.err, "host [ab]: .* is there already: is this host named twice")

    def test_keys_go_where_logs_stay(self):
        here = script("here", 'shift; exec "$@"\n')
        done = run("--hosts", "a", "--keep-logs", "--address", "127.0.0.1", "--launcher", here, BIN / "sharp_hello")
        self.assertEqual(done.code, 0, done.text)
        directory = pathlib.Path(re.search(r"logs are in (\S+)", done.err)[1])
        kept = {directory: "host-a.log", pathlib.Path(f"/tmp/{directory.name}.host"): "sharpd.log"}
        for folder, log in kept.items():
            self.assertTrue((folder / log).is_file(), list(folder.iterdir()))
            self.assertFalse((folder / "tls").exists())
            shutil.rmtree(folder)
        self.nothing_left()

    def test_one_host_and_every_way_to_end(self):
        """The run ends by itself, by Ctrl-C, by SIGTERM, by kill -9 of `sumac run`."""
        here = script("here", 'shift; exec "$@"\n')
        words = ["--hosts", "a", "--address", "127.0.0.1", "--launcher", here]
        done = run(*words, BIN / "sharp_hello")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("Test Passed.", done.out)
        self.nothing_left()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number):
                process = ground.processes.start([SUMAC, "run", *words, "cat"], env=ground.environment(), stdin=subprocess.PIPE,
                                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                process.stdin.write("begun\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), "begun\n")
                process.send_signal(number)
                process.wait(30)
                process.stdin.close()
                process.stdout.close()
                self.nothing_left()


class Lab(ground.Scenario):
    """The scenarios use three of the lab's hosts; `sumac run` is typed on the first."""

    @classmethod
    def setUpClass(cls):
        cls.holder = ground.begin((SUMAC, "lab", "up", FABRIC, "--name", ground.MARK, "--foreground", "--bare", "--share", ROOT))
        for line in cls.holder.stdout:
            if " is up" in line:
                break
        else:
            err = cls.holder.communicate()[1]
            if "permit user namespaces" in err:
                case.skip_or_fail(err.strip())
            raise AssertionError(f"the lab did not come up: {err}")
        cls.before = set(ground.marked())

    @classmethod
    def tearDownClass(cls):
        ground.start([SUMAC, "lab", "down", "--name", ground.MARK])
        cls.holder.communicate()

    def setUp(self):
        self.addCleanup(self.nobody_left)

    def nobody_left(self):
        """Requires that neither a process nor a file is left on any host."""
        ground.until(lambda: set(ground.marked()) <= self.before, lambda: f"left: { {pid: words for pid, words in ground.marked().items() if pid not in self.before} }", 20)
        for host in ("h1", "h2", "h3"):
            self.assertEqual(self.on(host, "ls", "/tmp").out.split(), [part for part in (str(ROOT).split("/")[2],) if str(ROOT).startswith("/tmp/")])

    @staticmethod
    def on(host, *words, env=None):
        return ground.start([SUMAC, "lab", "exec", "--name", ground.MARK, host, "--", *words], env, 120)

    def run_on(self, *words, env=None):
        return self.on("h1", SUMAC, "run", *words, env=env)

    MPIRUN = ["mpirun", *ground.ROOT, "-n", "3", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca",
              "mpi_yield_when_idle", "1"]

    def test_a_program_on_three_hosts(self):
        for words in (["--hosts", "h1,h2,h3", "--nodes", "2"], ["--hostfile", "/dev/stdin"]):
            with self.subTest(words=words):
                if words[0] == "--hostfile":
                    hosts = ROOT / "build" / f"{ground.MARK}.hosts"
                    hosts.write_text("h1 slots=1\nh2 slots=1 # the second\nh3\n")
                    self.addCleanup(hosts.unlink)
                    words = ["--hostfile", hosts]
                done = self.run_on(*words, "--launcher", RSH, *self.MPIRUN, case.PROGRAMS / "churn", "2", env={"HCOLL_ENABLE_SHARP": "3"})
                self.assertEqual(done.code, 0, done.text)
                self.assertIn("churn: 2 rounds passed", done.out)
                self.assertGreater(done.tally["tree"], 0, done.text)
                self.nobody_left()

    def test_a_slurm_allocation(self):
        srun = script("srun", "for word; do case $word in --nodelist=*) host=${word#*=};; --*) ;; *) break;; esac; shift; done\n"
                              f'exec {RSH} "$host" "$@"\n')
        share = ROOT / "build" / f"{ground.MARK}.bin"  # the lab's hosts have a /tmp of their own
        share.mkdir()
        self.addCleanup(lambda: (share.joinpath("srun").unlink(), share.rmdir()))
        srun.rename(share / "srun")
        env = {"SLURM_JOB_NODELIST": "h[1-3]", "PATH": f"{share}:{os.environ['PATH']}"}
        for words in ([], ["--allow-insecure"]):
            done = self.run_on(*words, BIN / "sharp_hello", env=env)
            self.assertEqual(done.code, 0, done.text)
            self.assertIn("Test Passed.", done.out)
        local = self.run_on("--local", BIN / "sharp_hello", env=env)
        self.assertEqual(local.code, 0, local.text)

    def test_a_folder_for_temporary_files_that_the_hosts_share(self):
        shared = ROOT / "build" / f"{ground.MARK}.tmp"
        shared.mkdir()
        self.addCleanup(shared.rmdir)  # it is empty again
        done = self.on("h1", "env", f"TMPDIR={shared}", SUMAC, "run", "--hosts", "h1,h2", "--launcher", RSH, BIN / "sharp_hello")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("Test Passed.", done.out)

    def test_names_that_are_too_long_for_a_fabric(self):
        """Clouds give such names; the launcher knows the hosts by them."""
        zone = ".europe-west4-a.c.a-project-of-many-letters-and-numbers-12345.internal"
        short = script("short", f'host=${{1%%.*}}; shift; exec {RSH} "$host" "$@"\n')
        share = ROOT / "build" / f"{ground.MARK}.short"
        shutil.move(short, share)
        self.addCleanup(share.unlink)
        done = self.run_on("--hosts", f"h1{zone},h2{zone}", "--address", "h1", "--launcher", share, BIN / "sharp_hello")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("Test Passed.", done.out)

    def test_a_host_that_does_not_exist(self):
        done = self.run_on("--hosts", "h1,h9", "--launcher", RSH, "--address", "h1", "true")
        self.assertEqual(done.code, 1, done.text)
        self.one_line(done.err, "host h9: .*ended with status")

    def begun(self, *more):
        """Starts `sumac run` with a program that goes on until its standard input ends; returns once the program runs."""
        words = (SUMAC, "lab", "exec", "--name", ground.MARK, "h1", "--", SUMAC, "run", "--hosts", "h1,h2,h3", "--launcher", RSH, *more, "cat")
        process = ground.begin(words, stdin=subprocess.PIPE)
        process.stdin.write("begun\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "begun\n")
        return process

    @staticmethod
    def one_process(pattern):
        found = [pid for pid, words in ground.marked().items() if re.search(pattern, words)]
        if len(found) != 1:
            raise AssertionError(f"{pattern}: {ground.marked()}")
        return found[0]

    def test_certificates_and_who_has_them(self):
        """Each host has its own certificates, which only their owner may read; keys are in no command and no environment; a peer without
        certificate is refused."""
        process = self.begun()
        expected = {
            "h1": {f"{who}.{kind}" for who in ("manager-run", "node-node-h1", "host-h1") for kind in ("crt", "key")} | {"ca.crt"},
            "h2": {"host-h2.crt", "host-h2.key", "ca.crt"},
            "h3": {"host-h3.crt", "host-h3.key", "ca.crt"},
        }
        keys, authorities = set(), set()
        for host, names in expected.items():
            listed = self.on(host, "sh", "-c", "stat -c '%a %n' /tmp/sumac-run-*/tls /tmp/sumac-run-*/tls/*").out.split("\n")[:-1]
            modes = {path: mode for mode, path in (line.split() for line in listed)}
            self.assertEqual({pathlib.Path(path).name for path in modes} - {"tls"}, names, listed)
            self.assertEqual({mode for path, mode in modes.items() if path.endswith("/tls")}, {"700"}, listed)
            self.assertEqual({mode for path, mode in modes.items() if not path.endswith("/tls")}, {"600"}, listed)
            listed_folder = next(path for path in modes if path.endswith("/tls"))
            for path in modes:
                if path.endswith(".key"):
                    keys.add(self.on(host, "cat", path).out)
                if path.endswith("ca.crt"):
                    authorities.add(self.on(host, "cat", path).out)
        self.assertEqual((len(keys), len(authorities)), (5, 1), "every key is another, the authority the same")
        secrets = [line.encode() for key in keys for line in key.split("\n")[1:-2]]
        self.assertGreaterEqual(len(secrets), 10, keys)
        for pid in ground.marked():
            seen = ground.read(f"/proc/{pid}/cmdline") + ground.read(f"/proc/{pid}/environ")
            self.assertFalse([secret for secret in secrets if secret in seen], seen)
        log = self.on("h1", "sh", "-c", "cat /tmp/sumac-run-*/sharp_am.log").out
        endpoint = re.search(r"listens on (\S+) with mutual TLS", log)[1]
        own = {f"SUMAC_TLS_{key}": f"{listed_folder}/{name}" for key, name in (("CA", "ca.crt"), ("CERT", "host-h3.crt"), ("KEY", "host-h3.key"))}
        for env, code, says in ((own, 0, "node-h1"), ({}, 1, "--tls-dir")):
            asked = self.on("h3", BIN / "sharp_cmd", "topology", env={"SUMAC_HOSTD_MANAGER": endpoint, **env})
            self.assertEqual(asked.code, code, asked.text)
            self.assertIn(says, asked.text)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (0, ""), err)
        self.nobody_left()

    def test_what_dies_is_named_by_its_host(self):
        process = self.begun()

        os.kill(self.one_process(r"/sharpd .*--host h2 "), signal.SIGKILL)
        os.kill(self.one_process(r"lab rsh --name \S+ h3 "), signal.SIGKILL)
        said = ""
        for line in process.stderr:
            said += line
            if "host h2: sharpd ended with signal 9" in said and re.search(r"host h3 is lost: '.*' ended with signal 9", said):
                break
        else:
            self.fail(said)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out, err), (0, "", ""))

    def test_kill_9_of_it_ends_all_hosts(self):
        process = self.begun()
        victim = [pid for pid, words in ground.marked().items() if re.match(rf"{SUMAC} run --hosts", words) and pid not in self.before]
        os.kill(min(victim), signal.SIGKILL)
        process.communicate(timeout=60)
        self.nobody_left()


if __name__ == "__main__":
    ground.main()
