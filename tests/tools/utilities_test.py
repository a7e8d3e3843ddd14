"""Tests the SHARP utilities: their output, their exit status, and the files that they leave behind."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import processes  # noqa: E402  pylint: disable=wrong-import-position

BIN = pathlib.Path(os.environ["SUMAC_BUILD"]) / "bin"
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]


def run(*words, environment=None, timeout=120):
    """Runs one command, with nobody at the keyboard."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SHARP_", "HCOLL_", "ENABLE_SHARP"))}
    env.update(environment or {})
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env,
                          timeout=timeout)


class DumpConfig(unittest.TestCase):
    def test_prints_what_the_environment_sets(self):
        done = run(BIN / "sharp_coll_dump_config", environment={"SHARP_COLL_JOB_QUOTA_OSTS": "16"})
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertIn("SHARP_COLL_JOB_QUOTA_OSTS=16", lines)
        self.assertIn("SHARP_COLL_PIPELINE_DEPTH=64", lines)
        self.assertTrue(all(re.fullmatch(r"[A-Z_]+=.*", line) for line in lines), done.stdout)

    def test_full_form_describes_each(self):
        done = run(BIN / "sharp_coll_dump_config", "-f")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"# .*\n(# .*\n)*SHARP_COLL_PIPELINE_DEPTH=64")

    def test_wrong_words(self):
        self.assertEqual(run(BIN / "sharp_coll_dump_config", "-q").returncode, 2)
        self.assertEqual(run(BIN / "sharp_coll_dump_config", "word").returncode, 2)


class Hello(unittest.TestCase):
    def test_passes_under_sumac_run(self):
        done = run(BIN / "sumac", "run", BIN / "sharp_hello")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "Test Passed.\n")
        for said in ("resource request quota", "tree_info: tree idx:0", "group id:"):
            self.assertIn(said, done.stderr)

    def test_without_a_daemon_it_says_what_is_missing(self):
        with tempfile.TemporaryDirectory() as empty:
            done = run(BIN / "sharp_hello", environment={"SHARP_COLL_SHARPD_SOCKET_NAME": empty + "/sharpd.sock"})
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("Passed", done.stdout)
        self.assertIn("sharp_coll_init failed", done.stderr)
        self.assertIn("start sharpd on this host", done.stderr)

    def test_a_device_that_is_not_there_is_named(self):
        done = run(BIN / "sumac", "run", BIN / "sharp_hello", "-d", "nic9:1")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("nic9", done.stderr)


class MpiTest(unittest.TestCase):
    def job(self, ranks, *words, sharp=True):
        environment = {"ENABLE_SHARP_COLL": "1"} if sharp else {}
        return run(BIN / "sumac", "run", "--tree", *MPIRUN, "-n", ranks, BIN / "sharp_mpi_test", *words, environment=environment)

    def test_every_type_and_operation_is_right(self):
        done = self.job(3, "-m", "complex", "-c", "allreduce,reduce,reduce_scatter", "-s", "4:32")
        self.assertEqual(done.returncode, 0, done.stderr)
        counts = re.findall(r"complex +(\w+) +(\d+) right, 0 wrong", done.stdout)
        self.assertEqual([name for name, _ in counts], ["allreduce", "reduce", "reduce_scatter"], done.stdout)
        for _, right in counts:
            self.assertGreater(int(right), 1000)
        self.assertIn("Test Passed.", done.stdout)

    def test_basic_over_groups_of_all_kinds(self):
        for kind in ("world-rev", "half", "split:2", "split:ppn-comm"):
            with self.subTest(kind):
                done = self.job(4, "-m", "basic", "-c", "all", "-t", kind, "-D", "iov", "-C", "7")
                self.assertEqual(done.returncode, 0, done.stderr)
                lines = re.findall(r"basic +\w+ +[17] right, 0 wrong", done.stdout)
                groups = {"split:2": 2, "split:ppn-comm": 4}.get(kind, 1)  # each group prints its own lines
                self.assertEqual(len(lines), 9 * groups, done.stdout)

    def test_timed_rows(self):
        for sharp in (True, False):
            done = self.job(2, "-i", "20", "-x", "2", "-s", "8:32", sharp=sharp)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = re.findall(r"^ +(\d+) +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +20$", done.stdout, re.M)
            self.assertEqual(rows, ["8", "16", "32", "0"])
            self.assertEqual("by MPI alone" in done.stdout, not sharp)

    def test_wrong_words(self):
        for words, said in ((["-c", "allsum"], "allsum"), (["-s", "64:4"], "64:4"), (["-M", "cuda"], "does not offer"), (["x"], "'x'")):
            done = run(*MPIRUN, "-n", 1, BIN / "sharp_mpi_test", *words)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(said, done.stderr)


class Benchmark(unittest.TestCase):
    def test_dry_run_prints_a_command_for_each_test(self):
        done = run(BIN / "sharp_benchmark.sh", "-d", "-t", "barrier,sharp:allreduce",
                   environment={"sharp_hostlist": "a,b", "sharp_ppn": "2", "sharp_test_iters": "5"})
        self.assertEqual(done.returncode, 0, done.stderr)
        barrier, allreduce = done.stdout.splitlines()
        self.assertIn("-np 4", barrier)
        self.assertIn("a:2", barrier)
        self.assertNotIn("ENABLE_SHARP_COLL", barrier)
        self.assertIn("ENABLE_SHARP_COLL=1", allreduce)
        self.assertIn("-c allreduce -m perf -i 5", allreduce)

    def test_runs_under_sumac_run(self):
        done = run(BIN / "sumac", "run", "--tree", BIN / "sharp_benchmark.sh", "-t", "sharp:barrier",
                   environment={"sharp_test_iters": "20", "sharp_test_skip_iters": "2", "sharp_ppn": "2"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("== sharp:barrier over 1 host(s), 2 process(es) each", done.stdout)
        self.assertIn("Test Passed.", done.stdout)

    def test_a_missing_daemon_and_a_wrong_test_are_named(self):
        done = run(BIN / "sharp_benchmark.sh", "-t", "sharp:barrier", environment={"SHARP_COLL_SHARPD_SOCKET_NAME": "/nowhere"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("no sharpd on this host (/nowhere)", done.stderr)
        self.assertIn("'scan'", run(BIN / "sharp_benchmark.sh", "-t", "scan").stderr)


class DaemonsSetup(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.root = pathlib.Path(self.temporary.name)
        self.prefix = self.root / "opt"
        (self.prefix / "bin").mkdir(parents=True)
        for name in ("sharpd", "sharp_am", "sharp_an"):
            (self.prefix / "bin" / name).symlink_to(BIN / name)

    def setup(self, *words):
        return run(BIN / "sharp_daemons_setup.sh", *words, environment={"SUMAC_SETUP_ROOT": str(self.root)})

    def test_both_forms_write_a_unit_and_a_configuration_that_the_daemon_reads(self):
        for words, name in ((["-s", "-p", self.prefix, "-d", "sharp_am"], "sharp_am"), (["-s", self.prefix, "-d", "sharpd"], "sharpd")):
            done = self.setup(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            unit = (self.root / "etc/systemd/system" / f"{name}.service").read_text()
            config = self.prefix / "conf" / f"{name}.conf"
            self.assertIn(f"ExecStart={self.prefix}/bin/{name} -O {config}\n", unit)
            self.assertIn(f"\nStandardError=append:/var/log/{name}.log\n", unit)
            self.assertTrue((self.root / "etc/logrotate.d" / f"sumac-{name}").read_text().startswith(f"/var/log/{name}.log {{\n"))
            shown = run(self.prefix / "bin" / name, "-O", config, "--show-config")
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertEqual("SUMAC_AM_STATE_DIR=/var/lib/sumac\n" in shown.stdout, name == "sharp_am", "a restart forgets no job")

    def test_a_node_has_rights_for_the_kernel_only_where_its_configuration_asks_for_them(self):
        rights = self.root / "etc/systemd/system/sharp_an.service.d/sumac-hop.conf"
        config = self.prefix / "conf/sharp_an.conf"
        for line, has in ((None, False), ("hop auto\n", True), ("hop off\n", False)):
            if line:
                config.write_text(line)
            self.assertEqual(self.setup("-s", self.prefix, "-d", "sharp_an").returncode, 0)
            self.assertEqual(rights.exists(), has, line)
            if has:
                self.assertEqual(set(re.findall("CAP_[A-Z_]+", rights.read_text())), {"CAP_BPF", "CAP_NET_ADMIN", "CAP_PERFMON"})
                self.assertIn("BindPaths=-/sys/fs/bpf/sumac:/run/sumac-an/bpf\n", rights.read_text(), "where groups outlive it")

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze here")
    def test_systemd_accepts_the_units(self):
        for name in ("sharpd", "sharp_am", "sharp_an"):
            self.assertEqual(self.setup("-s", self.prefix, "-d", name).returncode, 0)
            done = run("systemd-analyze", "verify", "--man=no", self.root / "etc/systemd/system" / f"{name}.service")
            # It may complain about the machine's own units too
            about_it = [line for line in done.stderr.splitlines() if name in line]
            self.assertEqual((done.returncode, about_it), (0, []))

    def test_the_unit_of_a_package_gets_no_copy_in_front_of_it(self):
        for folder, name in (("usr/lib/systemd/system", "sharpd"), ("lib/systemd/system", "sharp_am")):
            unit = self.root / folder / f"{name}.service"
            unit.parent.mkdir(parents=True)
            unit.write_text(f"[Service]\nExecStart={self.prefix}/bin/{name} -O /etc/sumac/{name}.conf\n")
            for words, says in ((["-s"], f"`systemctl enable --now {name}`"), (["-r"], f"disabled {name}")):
                done = self.setup(*words, "-d", name, "-p", self.prefix)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(says, done.stdout)
                self.assertIn(str(unit), done.stdout)
                self.assertEqual(done.stdout.count("\n"), 1, done.stdout)
            self.assertTrue(unit.exists())
        self.assertFalse((self.root / "etc").exists())
        self.assertFalse((self.prefix / "conf").exists())

    def test_the_unit_of_a_package_gets_the_rights_for_the_kernel(self):
        unit = self.root / "lib/systemd/system/sharp_an.service"
        unit.parent.mkdir(parents=True)
        unit.write_text(f"[Service]\nExecStart={self.prefix}/bin/sharp_an -O /etc/sumac/sharp_an.conf\n")
        (self.prefix / "conf").mkdir()
        (self.prefix / "conf/sharp_an.conf").write_text("hop auto\n")
        rights = self.root / "etc/systemd/system/sharp_an.service.d/sumac-hop.conf"
        done = self.setup("-s", "-d", "sharp_an", "-p", self.prefix)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(f"rights for the kernel in {rights}\n", done.stdout)
        for line in ("ExecStop=.*kill -KILL \\$MAINPID", f"ExecStopPost=.*{self.prefix}/bin/sharp_an -O {self.prefix}/conf/sharp_an.conf --hop clear"):
            self.assertRegex(rights.read_text(), line)
        self.assertEqual(self.setup("-r", "-d", "sharp_an", "-p", self.prefix).returncode, 0)
        self.assertFalse(rights.parent.exists())

    def test_a_copy_in_front_of_a_packages_unit_is_named_and_can_be_removed(self):
        self.assertEqual(self.setup("-s", self.prefix, "-d", "sharpd").returncode, 0)
        unit = self.root / "lib/systemd/system/sharpd.service"
        unit.parent.mkdir(parents=True)
        unit.write_text(f"[Service]\nExecStart={self.prefix}/bin/sharpd -O x\n")
        done = self.setup("-s", self.prefix, "-d", "sharpd")
        self.assertEqual(done.returncode, 1)
        self.assertIn("-r -d sharpd", done.stderr)
        self.assertEqual(self.setup("-r", "-d", "sharpd", "-p", self.prefix).returncode, 0)
        self.assertEqual([path for path in (self.root / "etc").rglob("*") if path.is_file()], [])

    def test_the_unit_of_another_installation_does_not_count(self):
        unit = self.root / "lib/systemd/system/sharpd.service"
        unit.parent.mkdir(parents=True)
        unit.write_text("[Service]\nExecStart=/elsewhere/bin/sharpd -O x\n")
        self.assertEqual(self.setup("-s", self.prefix, "-d", "sharpd").returncode, 0)
        self.assertTrue((self.root / "etc/systemd/system/sharpd.service").exists())

    def test_a_configuration_that_is_there_stays(self):
        (self.prefix / "conf").mkdir()
        mine = self.prefix / "conf/sharpd.conf"
        mine.write_text("# mine\n")
        self.assertEqual(self.setup("-s", self.prefix, "-d", "sharpd").returncode, 0)
        self.assertEqual(self.setup("-r", "-d", "sharpd", "-p", self.prefix).returncode, 0)
        self.assertEqual(mine.read_text(), "# mine\n")
        self.assertEqual(list((self.root / "etc/systemd/system").iterdir()), [])

    def test_wrong_words(self):
        for words, said in ((["-s"], "-d sharpd"), (["-s", "-d", "sharp_x"], "'sharp_x'"), (["-d", "sharpd"], "-s (set up)"),
                            (["-r", "-d", "sharpd"], "is not set up"), (["-s", self.root, "-d", "sharpd"], "is Sumac installed")):
            done = self.setup(*words)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn(said, done.stderr)


class DoctorAsksUcx(unittest.TestCase):
    def test_what_its_program_finds_and_how_it_fails(self):
        printed = "echo '# Version 1.99.0'; printf '#      Transport: tcp\\n#         Device: eth7\\n'"
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "ucx_info"
            for words, says in ((printed, "1.99.0: tcp (eth7)"), (f"{printed}; exit 1", "has not ended well"), ("true", "prints no version")):
                program.write_text(f'#!/bin/sh\ntest "$*" = "-v -d" || exit 9\n{words}\n')
                program.chmod(0o755)
                done = run(BIN / "sumac", "doctor", "--json", environment={"PATH": f"{folder}:{os.environ['PATH']}"})
                (found,) = [one for one in json.loads(done.stdout)["findings"] if one["subject"] == "UCX"]
                self.assertIn(says, found["found"])
                self.assertEqual(found["health"], "ok")


class Version(unittest.TestCase):
    def test_sumac_has_that_of_its_daemons(self):
        for word in ("--version", "-v", "version"):
            done = run(BIN / "sumac", word)
            self.assertEqual((done.returncode, done.stdout.split()[0]), (0, "sumac"), word)
            self.assertEqual(done.stdout.split()[1:], run(BIN / "sharp_am", "--version").stdout.split()[1:])


class Cmd(unittest.TestCase):
    """sharp_cmd runs while a job exists that it can see."""

    def views(self, *words):
        """Prints every view while a job runs: the job itself asks."""
        script = "; ".join(f"'{BIN}/sharp_cmd' {view} {' '.join(words)} || exit 9; echo ----" for view in ("topology", "trees", "jobs", "quotas"))
        with tempfile.TemporaryDirectory() as folder:
            env = {"SUMAC_RUN_DIR": folder + "/up"}
            up = run(BIN / "sumac", "up", environment=env)
            self.assertEqual(up.returncode, 0, up.stderr)
            try:
                done = run("sh", "-c", script, environment=env)
            finally:
                self.assertEqual(run(BIN / "sumac", "down", environment=env).returncode, 0)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split("----\n")[:4]

    def test_tables(self):
        topology, trees, jobs, quotas = self.views()
        self.assertRegex(topology, r"1 hosts in the fabric, 1 sharpds connected\nNODE +ID +PARENT +STATE .*\nnode +1 +- +root +up +tcp:127\.0\.0\.1:\d+ +32768 +512\n")
        self.assertRegex(trees, r"^tree 0 id \d+: root node\n  node\n$")
        self.assertEqual(jobs, "no job\n")
        self.assertRegex(quotas, r"OSTs +0 +32768\ngroups +0 +512\n")
        self.assertIn("default_quota_percent 10\n", quotas)

    def test_json(self):
        topology, trees, jobs, quotas = map(json.loads, self.views("--json"))
        self.assertEqual((topology["hosts"], topology["nodes"][0]["name"], topology["nodes"][0]["registered"]), (1, "node", True))
        parts = [part.pop("trees") for part in trees["nodes"]]
        self.assertEqual(trees["nodes"], [{"id": 1, "name": "node", "parent": None, "registered": True}])
        self.assertEqual([(one["tree"], one["parent"]) for one in parts[0]], [(trees["trees"][0]["tree"], None)])
        self.assertEqual(jobs, {"jobs": [], "waiting": []})
        self.assertEqual((quotas["osts_granted"], quotas["osts_free"], quotas["users"]), (0, 32768, []))

    def test_wrong_words_and_no_manager(self):
        for words, status, says in (([], 2, "say what: topology, trees, jobs, quotas, reservations, reserve or release"), (["job"], 2, "there is no 'job': did you mean jobs?"),
                                    (["jobs", "--manager"], 2, "--manager needs a value"), (["jobs", "trees"], 2, "'trees' is not understood"),
                                    (["jobs", "--manager", "127.0.0.1:1"], 1, "no manager at 127.0.0.1:1: start sharp_am"),
                                    (["jobs", "--manager", "nonsense"], 1, "nonsense")):
            done = run(BIN / "sharp_cmd", *words)
            self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
            self.assertIn(says, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class Reserve(unittest.TestCase):
    def test_reserves_lists_and_releases(self):
        with tempfile.TemporaryDirectory() as folder:
            env = {"SUMAC_RUN_DIR": folder + "/up"}
            self.assertEqual(run(BIN / "sumac", "up", environment=env).returncode, 0)
            try:
                host = "localhost"
                asked = ["reserve", "weather", "--hosts", host, "--user", "nobody", "--osts"]
                for words, status, says in ((["reservations"], 0, "no reservation\n"), ([*asked, "999999"], 1, "999999 OSTs asked, 32768 are free"),
                                            ([*asked, "100"], 0, "reserved weather\n"), ([*asked, "100"], 1, "release it first"),
                                            (["reservations"], 0, f"weather  65534  100   {host}\n"), (["release", "weather"], 0, "released weather\n"),
                                            (["release", "weather"], 1, "there is no reservation weather"), (["reserve", "weather"], 2, "--hosts"),
                                            (["reserve", "a", "--hosts", host, "--user", "no one", "--osts", "1"], 2, "is no user"),
                                            ([*asked, "x"], 2, "is no number"), (["release"], 2, "sharp_cmd release NAME"),
                                            (["reserve", "-h"], 0, "usage: sharp_cmd"), (["--manager", "127.0.0.1:9", "release", "weather"], 1, "127.0.0.1:9")):
                    done = run(BIN / "sharp_cmd", *words, environment=env)
                    self.assertEqual(done.returncode, status, done.stderr)
                    self.assertIn(says, done.stdout + done.stderr)
            finally:
                self.assertEqual(run(BIN / "sumac", "down", environment=env).returncode, 0)


class Doctor(unittest.TestCase):
    def findings(self, *before, environment=None, words=()):
        done = run(*before, BIN / "sumac", "doctor", "--json", *words, environment=environment)
        return done.returncode, {each["subject"]: each for each in json.loads(done.stdout)["findings"]}

    def test_looks_at_everything_and_each_trouble_has_a_remedy(self):
        status, findings = self.findings()
        self.assertLessEqual({"processors", "memory", "/dev/shm", "single copy (CMA)", "clock", "network", "host names", "TCP settings", "GPUs", "MPI",
                              "sharpd", "sharp_am", "versions"}, findings.keys())
        for each in findings.values():
            self.assertIn(each["health"], ("ok", "note", "BAD"))
            self.assertTrue(each["found"])
            self.assertEqual(bool(each["remedy"]), each["health"] != "ok", each)
        self.assertEqual(status, int(any(each["health"] == "BAD" for each in findings.values())))

    def test_a_machine_without_mpi_is_bad_and_says_what_to_install(self):
        status, findings = self.findings(environment={"PATH": "/nowhere"})
        self.assertEqual(status, 1)
        self.assertEqual(findings["MPI"]["health"], "BAD")
        self.assertIn("apt-get install", findings["MPI"]["remedy"])

    def test_finds_the_daemons_of_sumac_run(self):
        _, findings = self.findings(BIN / "sumac", "run")
        self.assertEqual(findings["sharpd"]["health"], "ok", findings["sharpd"])

    def test_a_stopped_sharpd_does_not_pass_for_a_healthy_one(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {"SUMAC_RUN_DIR": f"{folder}/run", "SHARP_COLL_SHARPD_SOCKET_NAME": f"{folder}/run/sharpd.sock"}
            self.assertEqual(run(BIN / "sumac", "up", environment=environment).returncode, 0)
            try:
                daemons = json.loads(run(BIN / "sumac", "status", "--json", environment=environment).stdout)["daemons"]
                pid = next(each["pid"] for each in daemons if each["name"] == "sharpd")
                os.kill(pid, signal.SIGSTOP)
                try:
                    status, findings = self.findings(environment=environment)
                finally:
                    os.kill(pid, signal.SIGCONT)
                self.assertEqual((status, findings["sharpd"]["health"]), (1, "BAD"), findings["sharpd"])
                self.assertIn("does not answer", findings["sharpd"]["found"])
                self.assertEqual(self.findings(environment=environment)[1]["sharpd"]["health"], "ok")
            finally:
                run(BIN / "sumac", "down", environment=environment)

    def test_the_json_has_what_the_page_about_it_says(self):
        done = run(BIN / "sumac", "doctor", "--json")
        report = json.loads(done.stdout)
        self.assertEqual(report["sumac_doctor"], 1)
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "tools.md").read_text()
        rows = set(re.findall(r"^\| `facts\.(\w+)` \|", page, re.MULTILINE))
        self.assertEqual(rows, set(report["facts"]))

    def test_the_page_is_no_wider_than_80_columns(self):
        for line in run(BIN / "sumac", "doctor").stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_a_fabric_file_that_lacks_this_host(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("name: t\nswitches: [s]\nhosts: {elsewhere: {leaf: s}}\nnodes: {an: {switch: s}}\n")
            file.flush()
            status, findings = self.findings("env", environment=None, words=["--fabric", file.name])
        self.assertEqual(status, 1)
        self.assertEqual(findings["fabric file"]["health"], "BAD")
        self.assertIn("{leaf: SWITCH}", findings["fabric file"]["remedy"])

    def test_what_a_process_with_a_daemons_name_says_blocks_nobody(self):
        imitation = "import time; open('/proc/self/comm', 'w').write('sharp_an'); print(flush=True); time.sleep(3600)"
        with tempfile.TemporaryDirectory() as folder:
            fifo = f"{folder}/x.crt"
            os.mkfifo(fifo)
            os.chmod(folder, 0o755)
            os.chmod(fifo, 0o666)
            for user in (None, 65534) if os.geteuid() == 0 else (None,):
                with processes.start(["/usr/bin/python3", "-c", imitation, "--name", "n", "--tls-cert", fifo, "--tls-key", "/etc/passwd",
                                     "-O", fifo], stdout=subprocess.PIPE, user=user) as process:
                    try:
                        process.stdout.readline()
                        done = run(BIN / "sumac", "doctor", "--json")
                    finally:
                        process.kill()
                # Another user's process is none of our daemons, whatever its name.
                self.assertEqual("no regular file" in done.stdout, user is None, done.stdout)
                self.assertEqual("/etc/passwd" in done.stdout, user is None, done.stdout)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("su"), "needs root, who starts a process as another user")
    def test_a_setuid_program_with_a_daemons_name_is_no_daemon_of_roots(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            os.symlink(shutil.which("su"), f"{folder}/sharpd")
            with processes.start([f"{folder}/sharpd", "root", "--", "--manager=127.0.0.1:9"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, user=65534, group=65534, extra_groups=[], start_new_session=True) as process:
                try:
                    self.assertIn(b"assword", process.stdout.read1())  # It waits for one, as root.
                    done = run(BIN / "sumac", "doctor", "--json")
                finally:
                    process.kill()
            self.assertNotIn("127.0.0.1:9", done.stdout)

    def test_a_clock_that_no_host_has_is_not_believed(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "rsh")
            script.write_text("#!/bin/sh\nhost=$1; shift\n[ $host = a ] && exec \"$@\"\n\"$@\" | sed -u 's/^time .*/time -9223372036854775808/'\n")
            script.chmod(0o755)
            answer = self.hosts(str(script))[1]
            self.assertIn("clock", answer["hosts"][0])
            self.assertIn("report", answer["hosts"][1])
            self.assertNotIn("clock", answer["hosts"][1])

    def hosts(self, launcher, *words):
        done = run(BIN / "sumac", "doctor", "--json", "--hosts", "a,b", "--launcher", launcher, *words)
        return done.returncode, json.loads(done.stdout)

    def test_a_manager_with_certificates_is_asked_with_those_of_tls_dir(self):
        with tempfile.TemporaryDirectory() as folder:
            fabric, pki, log = (pathlib.Path(folder, name) for name in ("fabric.yaml", "pki", "am.log"))
            fabric.write_text("name: t\nswitches: [s]\nhosts: {h: {leaf: s}}\nnodes: {an: {switch: s}}\n")
            self.assertEqual(run(BIN / "sumac", "pki", "init", pki, "--fabric", fabric).returncode, 0)
            read, write = os.pipe()
            with log.open("w") as stderr, processes.start(
                    [BIN / "sharp_am", "--fabric", fabric, "--listen", "127.0.0.1:0", "--tls-dir", pki, "--ready-fd", write],
                    stderr=stderr, pass_fds=[write]) as manager:
                try:
                    os.close(write)
                    self.assertTrue(os.read(read, 16), "sharp_am is ready")
                    address = re.search(r"listens on (127\.0\.0\.1:\d+)", log.read_text())[1]
                    status, without = self.findings(words=["--manager", address])
                    _, by_option = self.findings(words=["--manager", address, "--tls-dir", str(pki)])
                    _, by_hosts = self.hosts("env -C / HOST={host}", "--manager", address, "--tls-dir", os.path.relpath(pki))
                    _, wrong = self.findings(words=["--manager", address, "--tls-dir", folder])
                finally:
                    os.close(read)
                    manager.terminate()
        self.assertEqual((status, without["sharp_am"]["health"]), (1, "BAD"))
        self.assertIn("`--tls-dir DIR` (or SUMAC_TLS_DIR=DIR)", without["sharp_am"]["remedy"])
        self.assertNotIn("enable", without["sharp_am"]["remedy"], "it runs")
        self.assertEqual(by_option["sharp_am"]["health"], "ok", by_option["sharp_am"])
        for host in by_hosts["hosts"]:
            found = next(each for each in host["report"]["findings"] if each["subject"] == "sharp_am")
            self.assertEqual(found["health"], "ok", found)
        self.assertEqual(wrong["sharp_am"]["health"], "BAD")
        self.assertIn(folder, wrong["sharp_am"]["found"])

    def test_hosts_that_do_not_answer_are_findings_and_hold_nobody_up(self):
        turns = "echo ready; for i in 1 2 3 4 5 6 7 8; do echo time 5; done; "
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "rsh")
            for body, says in (("sleep 3600", "no answer within 5 s"), ("echo 'Host key verification failed.' >&2; exit 255", "Host key verification failed."),
                               (f"echo welcome; {turns} echo 'report {{\"sumac_doctor\": 2, \"version\": \"9.9\"}}'; cat", "(9.9) writes another form of report"),
                               (f"{turns} echo 'report nonsense'; cat", "no report"), ("yes", "more than a report"), ("echo 'report nonsense'; cat", "no answer within 5 s"),
                               ("yes ready", "more than a report"), ("echo ready; yes time 5", "more than a report"), ("exec >&-; sleep 3600", "launcher hangs"),
                               ("head -c 300M /dev/zero >&2; exit 3", "ended with"), ("tr '\\0' x < /dev/zero", "more than a report"),
                               ("printf 'report \\033]0;x\\007'", "launcher ended with status 0"),
                               ("echo \"sumac: there is no subcommand 'doctor-host': see sumac help\" >&2; exit 2", "its Sumac is older")):
                script.write_text(f"#!/bin/sh\nhost=$1; shift\n[ $host = a ] && exec \"$@\"\n{body}\n")
                script.chmod(0o755)
                # Host a is a real one, and may be slow.
                status, answer = self.hosts(str(script), "--timeout", "5" if "within 5 s" in says or "hangs" in says else "20")
                self.assertEqual(status, 1)
                self.assertIn("report", answer["hosts"][0], answer)
                finding = next(each for each in answer["findings"] if each["subject"] == "host b")
                self.assertEqual(finding["health"], "BAD")
                self.assertIn(says, finding["found"])
                self.assertTrue(finding["remedy"])
                self.assertNotIn("\033", finding["found"])

    def test_wrong_words(self):
        for words, says in ((["now"], "unexpected argument 'now'"), (["--hosts"], "needs a value"), (["--hosts", ""], "needs a value"),
                            (["--hosts", "a", "--hostfile", "b"], "give one of them"), (["--launcher", "x"], "is for several hosts"),
                            (["--hosts", "a;b"], "no host's name"), (["--hosts", "a", "--timeout", "0"], "seconds from 1"),
                            (["--hostfile", "/nowhere"], "/nowhere")):
            done = run(BIN / "sumac", "doctor", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(says, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
