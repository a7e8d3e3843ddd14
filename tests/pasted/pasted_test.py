"""Replays command lines that published texts paste (lines.py), unchanged behind `sumac lab`, on emulated hosts with the names, ports and numbers of
ranks that each line wants, and compares log lines and columns. `--large`: the lines with 56, 64 and 144 ranks."""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from harness import case  # noqa: E402
import lines  # noqa: E402
import texts  # noqa: E402

OURS = case.BUILD / "lib" / "sumac" / "mpi-tests"  # as HPCX_MPI_TESTS_DIR of an installation
FOLDER = case.BUILD / "tests"
# So that the test can count the calls, and that many ranks on few cores come to an end. The words of a line come last, and win.
CALLS = {"osu_barrier": "-i 10 -x 2", "osu_allreduce": "-i 10 -x 2", "IMB-MPI1": "-iter 10"}
# The numbers of the texts.
DEFAULTS = {"SUMAC_DEFAULTS": "2018"}
# Taken out of the environment, where the programs of the tests would call it an unknown variable.
OSU_SOURCE = os.environ.pop("SUMAC_OSU_SRC", None)
SHARP_AM_CONF = next(line for line in lines.LINES if "sharp_am.conf" in line.text)


def real_osu(name):
    """Returns OSU's own program from the built tree that SUMAC_OSU_SRC names; its place differs between versions."""
    found = [path for path in pathlib.Path(OSU_SOURCE).rglob(name) if os.access(path, os.X_OK) and path.is_file() and ".libs" not in path.parts]
    if not found:
        raise AssertionError(f"SUMAC_OSU_SRC={OSU_SOURCE} has no program {name}: build that tree with Open MPI's mpicc first")
    return found[0]


def write_program(path, name):
    """Writes a script of the name that the published lines use, which starts our program with a known number of calls."""
    ours = OURS / ("imb" if name.startswith("IMB-") else "") / name
    path.write_text(f'#!/bin/sh\nexec "{ours}" {CALLS[name]} "$@"\n', encoding="utf-8")
    path.chmod(0o755)


@contextlib.contextmanager
def benchmark_programs():
    """Makes a folder with the programs under the names that the lines use. It lies where the hosts of a lab see it."""
    with tempfile.TemporaryDirectory(dir=FOLDER) as name:
        folder = pathlib.Path(name)
        (folder / "imb").mkdir()
        write_program(folder / "imb" / "IMB-MPI1", "IMB-MPI1")
        for program in ("osu_barrier", "osu_allreduce"):
            if OSU_SOURCE:
                (folder / program).symlink_to(real_osu(program))
            else:
                write_program(folder / program, program)
        yield folder


class Replay(unittest.TestCase):
    maxDiff = None
    fate = lines.SMALL

    def replay(self, lab, line):
        with benchmark_programs() as folder:
            environment = {"SUMAC_LAB": lab.name, "HPCX_MPI_TESTS_DIR": str(folder), **DEFAULTS, **dict(line.environment)}
            done = case.start(["sh", "-c", f"cd {folder} && {case.SUMAC} lab {line.text}"], environment, seconds=240)
        has_cores = len(os.sched_getaffinity(0)) >= line.cores
        self.assertEqual(done.code == 0, line.ends_well and has_cores, done.text)
        self.check_log(line, done)
        if not has_cores:
            self.assertIn("binding more processes than cpus", " ".join(done.err.split()), done.text)
        elif line.ends_well:
            self.check_columns(line, done)
            self.check_counts(line, done)
        elif "-map_by" in line.text:
            self.assertIn('unknown option "-map_by"', done.err, done.text)

    def check_log(self, line, done):
        self.assertEqual(texts.log_lines(done.err), texts.log_lines("\n".join(line.log)), done.text)

    def check_columns(self, line, done):
        if "osu_allreduce" in line.text:
            self.assertEqual(texts.sizes(done.out), line.sizes, done.text)
        elif "osu_barrier" in line.text:
            self.assertIsNotNone(texts.barrier_time(done.out), done.text)
        else:
            self.assertEqual(texts.imb_processes(done.out), [(4, 4), (8, 0)], done.text)

    def check_counts(self, line, done):
        """Real programs decide themselves how often they call a collective: then it counts that they did."""
        tally = case.tally.read(done.err)
        self.assertIsNotNone(tally, done.text)
        by_tree = tally.part("tree").kinds
        for kind, calls in line.by_tree:
            if OSU_SOURCE and "osu_" in line.text:
                self.assertGreater(by_tree.get(kind, 0), 0, done.text)
            else:
                self.assertEqual(by_tree.get(kind, 0), calls, done.text)
        if not line.by_tree:
            self.assertEqual(by_tree, {}, done.text)
            self.assertGreater(tally.calls("barrier", "allreduce"), 0, done.text)

    def test_lines(self):
        replayed = [line for line in lines.LINES if line.fate == self.fate]
        for hosts in dict.fromkeys(line.hosts for line in replayed):
            lab = case.Lab("pasted", HERE / hosts)
            lab.up(env={"SUMAC_NODE_OST_COUNT": "512"})  # as the nodes had where the lines were recorded
            try:
                for line in replayed:
                    if line.hosts == hosts:
                        with self.subTest(line.text):
                            self.replay(lab, line)
            finally:
                lab.down()


class Large(Replay):
    fate = lines.LARGE


class Utilities(unittest.TestCase):
    def test_every_program_of_a_text_is_where_HPCX_MPI_TESTS_DIR_looks(self):
        """Started by themselves, without a launcher, they begin `sumac bench`."""
        named = {name for line in lines.LINES for name in re.findall(r"osu_\w+|imb/IMB-\w+", line.text)}
        for name in sorted(named | {"osu_latency", "osu_bw", "osu_bibw", "mpi_overhead"}):
            done = case.start([OURS / name, "-help" if "IMB" in name else "-h"])
            self.assertEqual((done.code, done.out.split("\n")[0].split("[")[0]), (0, f"Usage: sumac bench {pathlib.Path(name).name} "), done.text)

    # The published output, in its order.
    VARIABLES = """LOG_LEVEL=2 BUFFER_POOL_SIZE=4096 MAX_PAYLOAD_SIZE=256 MAX_INLINE_SIZE=256 NUM_SHARP_COLL_REQ=128 MAX_SEND_WR=64 MAX_RECV_WR=256
        MAX_RX_FILL_SIZE=256 RX_PREPOST_THRESHOLD=64 RX_PREPOST_THRESHOLD_SOFT=255 ENABLE_MCAST_TARGET=1 GROUP_RESOURCE_POLICY=1
        USER_GROUP_QUOTA_PERCENT=0 GROUPS_PER_COMM=1 JOB_QUOTA_OSTS=0 JOB_QUOTA_PAYLOAD_PER_OST=128 JOB_QUOTA_MAX_GROUPS=0
        JOB_QUOTA_MAX_QPS_PER_PORT=0 JOB_NUM_TREES=0 CHECK_GROUP_LEAVE_ERRORS=0 PIPELINE_DEPTH=64 ENABLE_GLOBAL_ERROR_SYNC=1
        JOB_CREATE_TIMEOUT=10000 JOB_CREATE_POLLING_DELAY=1 ERROR_CHECK_INTERVAL=180000 POLL_BATCH=4""".split()

    def test_sharp_coll_dump_config_prints_the_published_values(self):
        done = case.start([case.BUILD / "bin" / "sharp_coll_dump_config", "-f"], DEFAULTS)
        self.assertEqual(done.code, 0, done.text)
        printed = done.out.splitlines()
        self.assertEqual([line for line in self.VARIABLES if f"SHARP_COLL_{line}" not in printed], [], done.text)
        self.assertEqual(printed.count("SHARP_COLL_SAT_THRESHOLD=1024"), 1, done.text)

    def test_sharp_am_takes_the_published_configuration(self):
        """A shell writes the file as the line says; its log says what stands in for a port and for switches that nobody described."""
        with tempfile.TemporaryDirectory(prefix="sumac-pasted-") as name:
            folder = pathlib.Path(name)
            (folder / "conf").mkdir()
            (folder / "conf" / "root_guid.cfg").write_text("0x0002c90000000001\n0x0002c90000000008\n")
            script = SHARP_AM_CONF.text.replace("<PortGUID of the relevant HCA port or 0x0>", "0x0").replace("EOF root", "EOF\nroot")
            script = script.replace(" ib_port_guid", "\nib_port_guid").removesuffix(" EOF") + "\nEOF\n"
            subprocess.run(["sh", "-c", script], env=os.environ | {"HPCX_SHARP_DIR": name}, check=True, timeout=30)
            heard, said = os.pipe()
            command = [case.BUILD / "bin" / "sharp_am", "-O", folder / "conf" / "sharp_am.conf", "--listen", f"unix:{name}/am.sock", "--ready-fd", said]
            with case.processes.start(command, stderr=subprocess.PIPE, text=True, pass_fds=[said]) as manager:
                os.close(said)
                with os.fdopen(heard, "rb") as ready:
                    is_ready = ready.read() == b"ready\n"
                manager.terminate()
                log = manager.communicate(timeout=60)[1]
        self.assertTrue(is_ready, log)
        self.assertEqual(log.count("ib_port_guid 0x0: sharp_am uses no InfiniBand port; nodes and hosts find it at unix:"), 1, log)
        self.assertEqual(log.count("root_guid.cfg: no fabric file says which switches these are; the nodes that register are the roots"), 1, log)


if __name__ == "__main__":
    if "--large" in sys.argv:
        unittest.main(argv=[sys.argv[0], "Large"], verbosity=2)
    unittest.main(argv=[sys.argv[0], "Replay", "Utilities", *sys.argv[1:]], verbosity=2)
