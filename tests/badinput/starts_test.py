"""Starts that must fail: one line names the thing and the remedy, the exit status is an error or the program goes on without the tree, as
HCOLL_ENABLE_SHARP demands, and nothing is left. (Each daemon's own wrong options: tests/daemons/wrong_start_test.cpp.)"""

import os
import pathlib
import re
import shutil
import signal
import socket
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import ground  # noqa: E402  pylint: disable=wrong-import-position
from harness.ground import BIN, SCRATCH, case  # noqa: E402  pylint: disable=wrong-import-position

MPIRUN = ["mpirun", "--oversubscribe", *ground.ROOT]
SUMAC = BIN / "sumac"


def run_words(words, **env):
    return ground.start([SUMAC, "run", *words], env)


class SumacRun(ground.Scenario):
    def setUp(self):
        self.addCleanup(self.nothing_left)

    def test_without_open_mpi(self):
        done = run_words(["mpirun", "-n", "2", "hostname"], PATH="/nonexistent")
        self.assertEqual((done.code, done.out), (127, ""), done.text)
        self.one_line(done.err, "mpirun is not on the PATH", "install Open MPI .*openmpi-bin")

    def test_behind_the_launcher_it_starts_no_daemons_and_says_so_once(self):
        says = r"srun has started it as one of 2 tasks, so it starts no daemons and there is no tree: write `sumac run` before the launcher"
        for task, words, lines in (("0", ["--tree", "true"], 1), ("1", ["--tree", "true"], 0), ("0", ["true"], 0), ("0", [BIN / "sharp_hello"], 1)):
            with self.subTest(task=task, words=words):
                done = run_words(words, SLURM_STEP_NUM_TASKS="2", SLURM_PROCID=task, SLURM_JOB_NODELIST="n[1-2]")
                self.assertEqual(len(re.findall(says, done.err)), lines, done.text)
                self.assertEqual(done.code == 0, words[-1] == "true", done.text)
        done = ground.start([*MPIRUN, "-n", "2", SUMAC, "run", "--tree", case.PROGRAMS / "churn", "2"], {"SUMAC_LAST_LINE": "1",
                            "SUMAC_TEAM_AFTER": "0"})
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.err.count("the MPI launcher has started it as one of 2 tasks"), 1, done.text)
        self.assertIn("churn: 2 rounds passed", done.out)
        self.assertGreater(done.tally["shared"], 0, done.text)

    def test_ctrl_c_while_a_name_is_looked_up(self):
        """A name service that never answers: its address is that of a socket that nobody reads."""
        silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(silent.close)
        try:
            silent.bind(("127.0.0.53", 53))
        except OSError as why:
            self.skipTest(f"port 53: {why}")
        (SCRATCH / "resolv.conf").write_text("nameserver 127.0.0.53\noptions timeout:20 attempts:3\n")
        (SCRATCH / "nsswitch.conf").write_text("hosts: dns\n")
        mounts = f"mount --bind {SCRATCH}/resolv.conf /etc/resolv.conf && mount --bind {SCRATCH}/nsswitch.conf /etc/nsswitch.conf && exec \"$@\""
        process = ground.begin(("unshare", "--mount", "sh", "-c", mounts, "-", SUMAC, "run", "--hosts", "no-such-host.example", "true"))
        silent.settimeout(30)
        try:
            silent.recv(512)  # It has asked, and waits for the answer.
        except TimeoutError:
            process.kill()
            self.fail(process.communicate())
        process.send_signal(signal.SIGINT)
        process.wait(5)
        self.assertEqual(process.returncode, 128 + signal.SIGINT, process.communicate())
        self.one_line(process.communicate()[1], "interrupted while no-such-host.example was looked up")

    def test_a_program_that_is_not_there(self):
        for program, says in (("./nothing-here", "nothing-here: No such file"), ("nothing-here", r"not on the PATH: name its file, such as \./")):
            done = run_words([program])
            self.assertEqual(done.code, 127, done.text)
            self.one_line(done.err, says)

    def test_a_temporary_directory_that_is_none(self):
        done = run_words(["true"], TMPDIR="/proc/nowhere")
        self.assertEqual(done.code, 1, done.text)
        self.one_line(done.err, "/proc/nowhere", "set TMPDIR to one you may write in")

    def test_a_temporary_directory_whose_name_is_too_long_for_sockets(self):
        long = SCRATCH / ("x" * 100)
        long.mkdir(exist_ok=True)
        for words in (["true"], [*MPIRUN, "-n", "1", "true"]):
            done = run_words(words, TMPDIR=str(long))
            self.assertEqual(done.code, 0, done.text)
            self.assertEqual(os.listdir(long), [])
        kept = run_words(["--keep-logs", "true"], TMPDIR=str(long))
        logs = pathlib.Path(re.search(r"logs are in (/tmp/sumac-run-\w+)\n", kept.err)[1])
        self.addCleanup(shutil.rmtree, logs)
        self.assertEqual(kept.code, 0, kept.text)
        self.assertTrue((logs / "sharpd.log").exists())

    @unittest.skipIf(os.geteuid() != 0, "root may write anywhere: shown as another user")
    def test_a_temporary_directory_that_is_not_ours(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="sumac-bad-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, folder)
        programs = folder / "bin"
        shutil.copytree(BIN, programs, ignore=lambda _, names: [name for name in names if name != "sumac"])
        folder.chmod(0o755)
        done = ground.start(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", programs / "sumac", "run", "true"],
                            {"TMPDIR": str(folder)})
        self.assertEqual(done.code, 1, done.text)
        self.one_line(done.err, str(folder), "Permission denied", "set TMPDIR")

    def test_a_daemon_that_is_not_there(self):
        """An installation that is copied by half lacks one daemon."""
        for missing in ("sharp_am", "sharp_an", "sharpd"):
            folder = SCRATCH / f"without-{missing}" / "bin"
            folder.mkdir(parents=True)
            for name in {"sumac", "sharp_am", "sharp_an", "sharpd"} - {missing}:
                os.link(BIN / name, folder / name) if os.stat(BIN).st_dev == os.stat(SCRATCH).st_dev else shutil.copy(BIN / name, folder)
            done = ground.start([folder / "sumac", "run", "true"])
            self.assertEqual(done.code, 1, done.text)
            self.one_line(done.err, f"{missing}.*not there|{missing}: No such file", "build|install")


class Ports(ground.Scenario):
    """Another process has the port or socket already."""

    def one_start(self, program, *words):
        done = ground.start([BIN / program, *words], seconds=30)
        self.assertEqual(done.code, 1, done.text)
        return done.err

    def test_taken_already(self):
        house = ground.House("taken")
        self.addCleanup(self.nothing_left)
        self.addCleanup(house.close)
        fabric = house.folder / "fabric.yaml"
        self.one_line(self.one_start("sharp_am", "--fabric", fabric, "--listen", house.manager), re.escape(house.manager), "another process serves", "another socket")
        self.one_line(self.one_start("sharp_an", "--name", "node", "--manager", house.manager, "--listen", f"127.0.0.1:{house.node_port}"),
                      f"127.0.0.1:{house.node_port}", "in use", "choose another port")
        self.one_line(self.one_start("sharpd", "--host", "localhost", "--manager", house.manager, "--socket", house.socket),
                      re.escape(str(house.socket)), "answers|running|listens", "stop|--socket")
        self.good_job(house)

    def test_a_manager_at_a_socket_that_another_has(self):
        house = ground.House("unix", manager=False, node=False)
        self.addCleanup(self.nothing_left)
        self.addCleanup(house.close)
        where = house.manager
        house.start("sharp_am", "--fabric", house.folder / "fabric.yaml", "--listen", where)
        self.one_line(self.one_start("sharp_am", "--fabric", house.folder / "fabric.yaml", "--listen", where), re.escape(where), "stop it", "another socket")
        house.start_node()  # the first manager still serves
        self.assertIn("registered", house.log("sharp_am"))

    def test_two_nodes_of_one_name(self):
        house = ground.House("twins")
        self.addCleanup(self.nothing_left)
        self.addCleanup(house.close)
        log = open(house.folder / "twin.log", "wb")
        twin = ground.processes.start([BIN / "sharp_an", "--name", "node", "--manager", house.manager, "--listen", "127.0.0.1:0"],
                                      env=ground.environment(), stdout=log, stderr=log)
        try:
            house.says("twin", r"node node is registered already, by pid \d+ at \S+: stop one of the two")
            self.good_job(house)
        finally:
            twin.kill()
            twin.wait()
            log.close()


class Fabrics(ground.Scenario):
    def test_files_that_are_no_fabric(self):
        """Both programs that read the file report the same. (Loops, unknown names and missing leaves: fabricfile_test.cpp.)"""
        bomb = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40)) + "name: *a39\n"
        rows = {
            "nothing in it": "", "a list": "[1, 2]\n", "not YAML": "a: [b\n", "binary": "\x00\x01\x02\ufffd" * 100, "an alias bomb": bomb,
            "deep": "[" * 20000, "names of no use": "name: t\nswitches: [s]\nhosts: {'h/1': {leaf: s}}\nnodes: {an: {switch: s}}\n",
            "a range without end": "name: t\nswitches: [s]\nhosts: {'h[1-4000000000]': {leaf: s}}\nnodes: {an: {switch: s}}\n",
            "in two parts": "name: t\nswitches: [a, b]\nhosts: {h: {leaf: b}}\nnodes: {an: {switch: a}}\nmanager: {switch: a}\n",
            "a host twice": "name: t\nswitches: [s]\nhosts: {'h[1-2]': {leaf: s}, h2: {leaf: s}}\nnodes: {an: {switch: s}}\nmanager: {switch: s}\n",
        }
        self.addCleanup(self.nothing_left)
        for name, text in rows.items():
            file = SCRATCH / "wrong.yaml"
            file.write_bytes(text.encode())
            for words in ([BIN / "sharp_am", "--fabric", file, "--listen", "127.0.0.1:0"], [SUMAC, "lab", "up", file, "--name", ground.MARK]):
                with self.subTest(name, program=words[0].name):
                    done = ground.start(words, seconds=20)
                    self.assertEqual(done.code, 1, done.text)
                    self.one_line(done.err, r"wrong\.yaml")

    def test_a_file_that_may_not_be_read(self):
        for file, says in (("/proc/self/mem", "mem"), (SCRATCH, "is a directory: name a fabric file"), ("/nonexistent.yaml", "No such file")):
            done = ground.start([BIN / "sharp_am", "--fabric", file], seconds=20)
            self.assertEqual(done.code, 1, done.text)
            self.one_line(done.err, says)


class Levels(ground.Scenario):
    """HCOLL_ENABLE_SHARP is 1 to 4, and something is missing that the job needs."""

    def program(self, level, socket):
        return ground.start([*MPIRUN, "-n", "3", *case.component_flags(), case.PROGRAMS / "churn", "2"],
                            {"HCOLL_ENABLE_SHARP": str(level), "HCOLL_SHARP_NP": "1", "SHARP_COLL_SHARPD_SOCKET_NAME": str(socket)})

    def check(self, done, level, *says):
        self.assertRegex(done.err, "|".join(says), done.text)
        self.assertEqual(done.err.count("Failed to initialize SHArP collectives"), 1, done.text)
        self.assertEqual(done.err.count("Fallback disabled, exiting.."), 0 if level == 1 else 1, done.text)
        self.assertEqual(done.err.count("continuing without sharp"), 1 if level == 1 else 0, done.text)
        self.assertEqual(done.err.count("sumac: without a tree: "), 1 if level == 1 else 0, done.text)
        self.assertEqual(done.code == 0, level == 1, done.text)
        self.assertEqual("churn: 2 rounds passed" in done.out, level == 1, done.text)
        self.nothing_left()

    def test_no_sharpd(self):
        for level in (1, 2, 3, 4):
            with self.subTest(level=level):
                self.check(self.program(level, SCRATCH / "none.sock"), level, "none.sock: start sharpd on this host, or use `sumac run`")

    def test_no_manager(self):
        house = ground.House("manager-less", manager=False, node=False)
        for level in (1, 4):
            with self.subTest(level=level):
                done = self.program(level, house.socket)
                self.assertRegex(done.err, r"No Aggregation Manager .*no manager at unix:\S+am.sock .*start sharp_am", done.text)
                self.assertEqual(done.code == 0, level == 1, done.text)
        house.close()
        self.nothing_left()

    def test_a_node_killed_before_the_job(self):
        house = ground.House("node-less")
        house.kill("sharp_an")
        house.says("sharp_am", "node node is down")
        for level in (1, 3):
            with self.subTest(level=level):
                done = self.program(level, house.socket)
                self.assertRegex(done.err, "node node has not registered: start its sharp_an", done.text)
                self.assertEqual(done.code == 0, level == 1, done.text)
        house.start_node()  # it comes back, and all is well
        self.good_job(house)
        house.close()
        self.nothing_left()


if __name__ == "__main__":
    ground.main()
