"""Channels and rails: the five cases of docs/channels.md run on hosts with several ports, each with its lines, exact sums, and the bytes on
each port if the case states them."""

import pathlib
import re
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position

FABRICS = pathlib.Path(__file__).resolve().parents[2] / "lab" / "fabrics"

BASE = {
    "HWLOC_SYNTHETIC": "package:2 core:1 pu:1",
    "HCOLL_ENABLE_SHARP": "3",
    "SHARP_COLL_LOG_LEVEL": "3",
    "HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX": "inf",
    "SHARP_COLL_ENABLE_SAT": "1",
    "SHARP_COLL_JOB_QUOTA_OSTS": "128",
    "SHARP_COLL_JOB_QUOTA_MAX_GROUPS": "16",
    "SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST": "256",
}
# The command lines of the published examples, unchanged except for line ends. The third has -map_by, which no Open MPI
# knows; the others run here with 8 of their 64 ranks, and with all in `make pasted`.
SLIDE_ONE_CHANNEL = """mpirun -map-by node -np 64 -x HCOLL_MAIN_IB=mlx5_1:1 -x HCOLL_ENABLE_SHARP=2 -x SHARP_COLL_LOG_LEVEL=3 \
-x HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX=2048 -x SHARP_COLL_JOB_QUOTA_OSTS=128 -x SHARP_COLL_JOB_QUOTA_MAX_GROUPS=16 \
-x SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST=256 ./osu_allreduce -m :2048"""
SLIDE_ONE_PORT = """mpirun -map-by node -np 64 -x HCOLL_MAIN_IB=mlx5_1:1 -x HCOLL_ENABLE_SHARP=2 -x SHARP_COLL_LOG_LEVEL=3 \
-x HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX=2048 -x SHARP_COLL_JOB_QUOTA_OSTS=128 -x SHARP_COLL_JOB_QUOTA_MAX_GROUPS=16 \
-x SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST=256 -x HCOLL_SBGP=basesmsocket,p2p -x HCOLL_BCOL=basesmuma,ucx_p2p ./osu_allreduce -m :2048"""
SLIDE_TWO_PORTS = """mpirun -map-by node -np 64 -x HCOLL_MAIN_IB=mlx5_2:1,mlx5_1:1 -x HCOLL_ENABLE_SHARP=2 -x SHARP_COLL_LOG_LEVEL=3 -x \
HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX=2048 -x SHARP_COLL_JOB_QUOTA_OSTS=128 -x SHARP_COLL_JOB_QUOTA_MAX_GROUPS=16 -x \
SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST=256 -x HCOLL_SBGP=basesmsocket,p2p -x HCOLL_BCOL=basesmuma,ucx_p2p ./osu_allreduce -m :2048"""
SLIDE_TWO_RAILS = """mpirun -map-by node -np 64 -H nemo01,nemo02,nemo03,nemo04 -x HCOLL_MAIN_IB=mlx5_1:1,mlx5_2:1 -x HCOLL_ENABLE_SHARP=2 \
-x SHARP_COLL_LOG_LEVEL=3 -x HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX=4096 -x SHARP_COLL_JOB_QUOTA_OSTS=128 -x SHARP_COLL_JOB_QUOTA_MAX_GROUPS=16 -x \
SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST=256 -x SHARP_COLL_GROUPS_PER_COMM=2 ./osu_allreduce -m :2048"""
SOCKETS = {"HCOLL_SBGP": "basesmsocket,p2p", "HCOLL_BCOL": "basesmuma,ucx_p2p"}
BYTES, CALLS = 1 << 20, 4
STREAM = BYTES * CALLS  # bytes that a member sends, and receives


class Channels(case.OnLab):
    ports: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ("nemo01", "nemo04")  # the ports of these are counted

    def run_ranks(self, program, *args, settings, ranks=8):
        settings = {**BASE, **settings}
        exported = [word for name in settings for word in ("-x", name)]
        return self.lab("mpirun", "-map-by", "node", "-np", str(ranks), *case.TCP, *case.YIELD, *case.component_flags(), *exported,
                        case.PROGRAMS / program, *args, env=settings, seconds=180)

    def counted(self):
        """Returns (host, port) with the bytes that it sent and received."""
        counts = {}
        for host in self.hosts:
            text = self.lab("exec", host, "--", "cat", "/proc/net/dev").out
            for name, numbers in re.findall(r"^\s*(mlx5_\d+):(.*)$", text, re.M):
                numbers = numbers.split()
                counts[host, name] = (int(numbers[8]), int(numbers[0]))
        self.assertEqual({port for _, port in counts}, set(self.ports))
        return counts

    def case_of(self, devices, shares, settings=None, ranks=8):
        """`shares`: the number of vectors that each port carries in each direction for one of the group."""
        before = self.counted()
        done = self.run_ranks("sums", str(BYTES), str(CALLS), settings={"HCOLL_MAIN_IB": devices, **(settings or {})}, ranks=ranks)
        after = self.counted()
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(f"sums: {CALLS} of {BYTES} bytes right on {ranks} ranks", done.out, done.text)
        self.assertEqual(done.tally["allreduce"], CALLS, done.text)
        for host in self.hosts:
            for way in (0, 1):
                moved = {port: after[host, port][way] - before[host, port][way] for port in self.ports}
                used = [moved[port] / share for port, share in shares.items()]
                self.assertLess(max(used) - min(used), 0.1 * max(used), f"{host}: {moved}")
                for port in self.ports:
                    share = shares.get(port, 0)
                    self.assertGreaterEqual(moved[port], share * STREAM, f"{host}: {moved}")
                    # The rest is headers, acknowledgements, and MPI's own traffic.
                    self.assertLess(moved[port], 1.1 * share * STREAM + (256 << 10), f"{host}: {moved}")
        return done.err

    def lines(self, err, channels, trees, per_port, groups, per_host=2):
        self.assertIn(f"max_qps:{per_host} max_group_channels:{channels}, num_trees:{trees})", err)
        told = re.findall(rf"tree_info: tree idx:(\d+) quota: \( osts:128 user_data_per_ost:256 max_groups:16 max_qps:{per_host} max_group_channels:(\d+)\)", err)
        self.assertEqual(told, [(str(tree), str(per_port)) for tree in range(trees)], err)
        made = re.findall(r"\[group#:(\d+)\] group id: [0-9a-f]+ tree idx:(\d+) rail_idx:(\d+) group size:(\d+) quota: \( osts:8 user_data_per_ost:256 \)", err)
        self.assertEqual(made, [tuple(str(number) for number in group) for group in groups], err)

    def slide(self, line, ranks=8, **lines):
        """Runs a command line of the slides for 64 ranks on nemo01 to nemo04, 8 ranks on each socket, pasted after `sumac lab`: it must
        print the lines of the slides. Instead of osu_allreduce, with its largest size, a program runs that checks the sums."""
        self.assertIn(" -np 64 ", line)
        with tempfile.TemporaryDirectory(dir=case.PROGRAMS) as folder:
            program = pathlib.Path(folder) / "osu_allreduce"
            program.write_text(f'#!/bin/sh\ntest "$*" = "-m :2048" && exec {case.PROGRAMS}/sums 2048 20\n')
            program.chmod(0o755)
            done = case.start(["sh", "-c", f"cd {folder} && {case.SUMAC} lab {line.replace('-np 64', f'-np {ranks}')}"], seconds=180,
                              env={"SUMAC_LAB": self.lab.name, "HWLOC_SYNTHETIC": f"package:2 core:{ranks // 8} pu:1"})
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(f"sums: 20 of 2048 bytes right on {ranks} ranks", done.out, done.text)
        self.assertEqual(done.tally["allreduce"], 20, done.text)
        self.lines(done.err, per_host=ranks // 4, **lines)


class OneTree(Channels):
    lab = case.Lab("channels-1tree", FABRICS / "channels-1tree.yaml")
    ports = ("mlx5_1", "mlx5_2")

    def test_one_channel(self):
        err = self.case_of("mlx5_1:1", {"mlx5_1": 1})
        self.lines(err, channels=1, trees=1, per_port=1, groups=[(0, 0, 0, 4)])

    def test_two_channels_on_one_port(self):
        err = self.case_of("mlx5_1:1", {"mlx5_1": 2}, SOCKETS)
        self.lines(err, channels=2, trees=1, per_port=2, groups=[(0, 0, 0, 8)])

    def test_two_channels_on_two_ports_of_one_tree(self):
        err = self.case_of("mlx5_2:1,mlx5_1:1", {"mlx5_1": 1, "mlx5_2": 1}, SOCKETS)
        self.lines(err, channels=2, trees=1, per_port=1, groups=[(0, 0, 0, 8)])

    def test_the_slides(self):
        self.slide(SLIDE_ONE_CHANNEL, channels=1, trees=1, per_port=1, groups=[(0, 0, 0, 4)])
        self.slide(SLIDE_ONE_PORT, channels=2, trees=1, per_port=2, groups=[(0, 0, 0, 8)])
        self.slide(SLIDE_TWO_PORTS, ranks=64, channels=2, trees=1, per_port=1, groups=[(0, 0, 0, 8)])

    def refused(self, devices, words):
        done = self.run_ranks("sums", "8", settings={"HCOLL_MAIN_IB": devices}, ranks=4)
        self.assertNotEqual(done.code, 0, done.text)
        self.assertIn(f"={devices}: {words}", done.err, done.text)
        self.assertEqual(done.err.count(words), 1, done.text)
        return done

    def test_a_list_that_cannot_be_is_refused_with_what_there_is(self):
        done = self.refused("mlx5_7:1", "this host has no device mlx5_7; there are ")
        self.assertRegex(done.err, r"there are .*mlx5_1:1, mlx5_2:1.*; SHARP_COLL_IB_DEV_LIST=any leaves it to the system")
        self.refused("mlx5_1:2", "mlx5_1 has no port 2, it has one port")
        self.refused("mlx5_1:1,mlx5_1", "mlx5_1 is named twice, first as mlx5_1:1")
        self.refused("lo", "no way from there to node an-")


class TwoTrees(Channels):
    lab = case.Lab("channels-2trees", FABRICS / "channels-2trees.yaml")
    ports = ("mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4")

    def test_two_rails_with_a_tree_each(self):
        err = self.case_of("mlx5_1:1,mlx5_2:1", {"mlx5_1": 0.5, "mlx5_2": 0.5}, {"SHARP_COLL_GROUPS_PER_COMM": "2"})
        self.lines(err, channels=1, trees=2, per_port=1, groups=[(0, 0, 0, 4), (1, 1, 1, 4)])

    def test_four_ports_two_trees_two_channels_on_each(self):
        err = self.case_of("mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1", dict.fromkeys(self.ports, 0.5), {"SHARP_COLL_GROUPS_PER_COMM": "2", **SOCKETS})
        self.lines(err, channels=2, trees=2, per_port=1, groups=[(0, 0, 0, 8), (1, 1, 1, 8)])

    def test_the_slide(self):
        self.slide(SLIDE_TWO_RAILS, channels=1, trees=2, per_port=1, groups=[(0, 0, 0, 4), (1, 1, 1, 4)])

    def test_ports_of_one_plane_get_its_tree_alone(self):
        """The manager would otherwise choose another tree; and the job is informed that it got one of two."""
        for port in ("mlx5_2", "mlx5_3"):
            err = self.case_of(f"{port}:1", {port: 1}, {"SHARP_COLL_JOB_NUM_TREES": "2"})
            self.assertIn("1 of 2 trees granted", err)


class UnevenRails(Channels):
    lab = case.Lab("uneven-rails", FABRICS / "test-uneven-rails.yaml")
    ports = ("mlx5_1", "mlx5_2")
    hosts = ("nemo01", "nemo03")

    def test_a_message_is_cut_as_the_rails_are_fast(self):
        """The rails have 40 and 120 Mbit/s: they carry a quarter and three quarters."""
        err = self.case_of("mlx5_1:1,mlx5_2:1", {"mlx5_1": 0.25, "mlx5_2": 0.75}, {"SHARP_COLL_GROUPS_PER_COMM": "2"}, ranks=3)
        self.assertEqual(len(re.findall(r"\[group#:\d\] group id: ", err)), 2, err)


if __name__ == "__main__":
    case.main()
