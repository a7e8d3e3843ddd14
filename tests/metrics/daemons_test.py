#!/usr/bin/env python3
"""Metrics of real daemons: the numbers are the program's own, promtool accepts them, every metric has its row in the page that is made of them, and
neither scrapers nor slow clients disturb anybody."""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
from harness import ground  # noqa: E402
import promtool  # noqa: E402

PROGRAM = ground.case.BUILD / "tests" / "guard" / "handshake-cost"
MONITORING = ROOT / "packaging" / "monitoring"
LOCAL = ["--metrics-listen", "127.0.0.1:0", "--log-level", "3"]
OPERATIONS = 40
SCRAPES = 10_000


def parse(text):
    """Returns {name with labels: number}, and {name: (type, help)}."""
    numbers, told = {}, {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, words = line[7:].split(" ", 1)
            told[name] = (None, words)
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            told[name] = (kind, told[name][1])
        else:
            name, number = line.rsplit(" ", 1)
            numbers[name] = float(number)
    return numbers, told


class House(ground.House):
    def port(self, program):
        return int(ground.until(lambda: re.findall(r"metrics at 127\.0\.0\.1:(\d+)", self.log(program)), lambda: self.log(program))[-1])

    def get(self, program, path="/metrics"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port(program), timeout=30)
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if answer.status != 200:
            raise AssertionError(f"{program}: {answer.status} {text}")
        return text

    def numbers(self, program):
        return parse(self.get(program))[0]

    def job(self, count=OPERATIONS, size=8):
        done = subprocess.run([PROGRAM, self.socket, "operations", str(count), str(size)], capture_output=True, text=True, timeout=120, check=False,
                              env=ground.environment({"LD_LIBRARY_PATH": str(ground.case.BUILD / "lib")}))
        if done.returncode != 0:
            raise AssertionError(f"the job ended with {done.returncode}: {done.stderr}")


class Daemons(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.statistics = ground.SCRATCH / "stats.json"
        cls.house = House("metrics", words={"sharp_am": LOCAL, "sharpd": LOCAL, "sharp_an": [*LOCAL, "--stats-file", cls.statistics]})
        cls.house.job()

    @classmethod
    def tearDownClass(cls):
        cls.house.close()

    def own_statistics(self):
        """Returns what the node itself writes, made after the call."""
        self.statistics.unlink(missing_ok=True)
        self.house.processes["sharp_an"].send_signal(signal.SIGUSR1)
        return json.loads(ground.until(lambda: ground.read(self.statistics), "no statistics"))["trees"][0]

    def test_the_numbers_are_the_programs_own(self):
        ground.until(lambda: self.house.numbers("sharp_an")['sumac_node_jobs{tree="0"}'] == 0, "the job did not end at the node")
        node, own = self.house.numbers("sharp_an"), self.own_statistics()
        for metric, field in {"messages_received": "messages_in", "messages_sent": "messages_out", "received_bytes": "bytes_in", "sent_bytes": "bytes_out",
                              "answered": "answered", "resends": "resends", "late_copies": "late_copies", "offences": "offences", "verdicts": "verdicts",
                              "groups_formed": "groups_formed", "groups_refused": "groups_refused", "groups_left": "groups_left"}.items():
            self.assertEqual(node[f'sumac_node_{metric}_total{{tree="0"}}'], own["node"][field], metric)
        self.assertEqual(node['sumac_node_operations_total{tree="0",kind="short"}'], own["node"]["operations"])
        self.assertGreaterEqual(own["node"]["operations"], OPERATIONS)
        # Every number that was answered has its time, and at a group's root it has all arrived when it is answered.
        self.assertEqual(node['sumac_node_operation_seconds_count{tree="0"}'], own["node"]["answered"])
        came_last = sum(child["came_last"] for group in own["finished_groups"] for child in group["children"])
        self.assertEqual(node['sumac_node_slowest_child_seconds_count{tree="0"}'], came_last)
        waited = sum(group["waited_us"] for group in own["finished_groups"]) / 1e6
        self.assertAlmostEqual(node['sumac_node_slowest_child_seconds_sum{tree="0"}'], waited, delta=1e-3)
        self.assertEqual(node['sumac_node_osts_max{tree="0"}'], 32768)
        self.assertEqual(node["sumac_node_registered"], 1)

        manager = self.house.numbers("sharp_am")
        said = subprocess.run([ground.BIN / "sharp_cmd", "topology", "--json", "--manager", self.house.manager], capture_output=True, text=True, check=True)
        known = json.loads(said.stdout)
        self.assertEqual(manager["sumac_manager_hosts"], known["hosts"])
        self.assertEqual(manager["sumac_manager_sharpds"], known["sharpds"])
        self.assertEqual(manager["sumac_manager_nodes_registered"], sum(one["registered"] for one in known["nodes"]))
        self.assertGreaterEqual(manager["sumac_manager_jobs_granted_total"], 1)
        self.assertEqual(manager['sumac_manager_tree_up{tree="0"}'], 1)
        host = self.house.numbers("sharpd")
        self.assertEqual(host["sumac_host_jobs_begun_total"], manager["sumac_manager_jobs_granted_total"])
        self.assertEqual(host["sumac_host_clients"], 0)
        self.assertEqual(host["sumac_host_registered"], 1)

    def test_a_stranger_counts_where_he_is_turned_away(self):
        before = self.house.numbers("sharpd")["sumac_host_offences_total"]
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.connect(str(self.house.socket))
            client.send(b"nonsense")
            self.assertEqual(client.recv(64), b"")
        self.assertEqual(self.house.numbers("sharpd")["sumac_host_offences_total"], before + 1)

    def test_every_metric_is_documented_with_its_type_and_its_help(self):
        rows = re.findall(r"^\| `((?:sumac|process)_\w+)` \| (\w+) \| (.*?) \|$", (ground.BIN.parent / "docs" / "metrics-list.md").read_text(), re.MULTILINE)
        served = {}
        for program in ("sharp_am", "sharp_an", "sharpd"):
            served.update(parse(self.house.get(program))[1])
        self.assertEqual({name: (kind, words) for name, kind, words in rows}, served)

    def test_rules_and_dashboard_ask_for_metrics_that_there_are(self):
        served = set()
        for program in ("sharp_am", "sharp_an", "sharpd"):
            for name, (kind, _) in parse(self.house.get(program))[1].items():
                served |= {f"{name}_{end}" for end in ("bucket", "sum", "count")} if kind == "histogram" else {name}
        for file in ("alerts.yml", "dashboard.json"):
            asked = set(re.findall(r"\bsumac_\w+", (MONITORING / file).read_text()))
            self.assertTrue(asked)
            self.assertEqual(asked - served, set(), file)

    def promtool(self, *words, text=None):
        program = promtool.find("promtool")
        if program is None:
            self.skipTest("no promtool: make setup-dev unpacks it")
        done = subprocess.run([program, *words], input=text, capture_output=True, text=True, check=False, cwd=MONITORING)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_promtool_finds_no_fault_in_the_pages(self):
        for program in ("sharp_am", "sharp_an", "sharpd"):
            with self.subTest(program):
                self.assertEqual(self.promtool("check", "metrics", text=self.house.get(program)), "")

    def test_promtool_finds_no_fault_in_rules_and_example(self):
        self.assertIn("8 rules found", self.promtool("check", "rules", "alerts.yml"))
        self.assertIn("SUCCESS", self.promtool("test", "rules", "alerts_test.yml"))
        self.promtool("check", "config", "--syntax-only", "prometheus.yml")

    def test_prometheus_scrapes_all_three(self):
        program = promtool.find("prometheus")
        if program is None:
            self.skipTest("no prometheus: make setup-dev unpacks it")
        targets = [f"127.0.0.1:{self.house.port(name)}" for name in ("sharp_am", "sharp_an", "sharpd")]
        with tempfile.TemporaryDirectory(dir=ground.SCRATCH) as folder:
            config = pathlib.Path(folder, "prometheus.yml")
            config.write_text(f"global: {{scrape_interval: 200ms}}\nscrape_configs: [{{job_name: sumac, static_configs: [{{targets: {json.dumps(targets)}}}]}}]\n")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            with open(pathlib.Path(folder, "log"), "wb") as log:
                server = ground.processes.start([program, f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                                                f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log, env=ground.environment())
            try:
                def up():
                    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                    try:
                        connection.request("GET", "/api/v1/query?query=up%20and%20on(instance)%20sumac_build_info")
                        found = json.loads(connection.getresponse().read())["data"]["result"]
                    except (OSError, http.client.HTTPException, ValueError, KeyError):
                        return False
                    finally:
                        connection.close()
                    return {one["metric"]["instance"]: one["value"][1] for one in found} == dict.fromkeys(targets, "1")
                ground.until(up, lambda: pathlib.Path(folder, "log").read_text(), seconds=60)
            finally:
                server.terminate()
                server.wait()

    def top(self, *words):
        return subprocess.run([ground.BIN / "sumac", "top", *words], capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)

    def test_sumac_top_shows_the_same_figures(self):
        endpoints = [f"127.0.0.1:{self.house.port(name)}" for name in ("sharp_am", "sharp_an", "sharpd")]
        done = self.top("--once", *endpoints)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("\x1b", done.stdout)
        manager = self.house.numbers("sharp_am")
        self.assertIn(f"manager {endpoints[0]}: 0 jobs, 1 of 1 nodes, sharpds on 1 of 1 hosts; "
                      f"{manager['sumac_manager_jobs_granted_total']:.0f} jobs granted, 0 refused, 0 released\n", done.stdout)
        node = dict(zip(*(line.split() for line in done.stdout.replace("B/s IN", "BYTES").replace("WAIT P99", "WAIT").splitlines()
                          if line.startswith(("NODE ", "node ")))))
        self.assertEqual({key: node[key] for key in ("TREE", "OPS/s", "JOBS", "OSTS", "PARENT", "VERDICTS")},
                         {"TREE": "0", "OPS/s": "0", "JOBS": "0", "OSTS": "0/32768", "PARENT": "up", "VERDICTS": "0"})
        self.assertRegex(done.stdout, r"\nlocalhost +0 +0 +\d+ +0 +0 +0 +\d+ +up\n")

    def test_sumac_top_says_what_is_wrong(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))  # bound but not listening: nobody answers there
            port = free.getsockname()[1]
            done = self.top("--once", f"127.0.0.1:{port}")
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"127.0.0.1:{port}: nobody listens there", done.stdout)
        for words, says in {(): "METRICS_LISTEN=127.0.0.1:9501 sumac up", ("--interval", "0", "x:1"): "from 1 to 3600", ("--onc", "x:1"): "unknown option --onc"}.items():
            done = self.top(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(says, done.stderr)

    def test_slow_clients_and_many_scrapes_cost_nobody_anything(self):
        port, pid = self.house.port("sharp_an"), self.house.processes["sharp_an"].pid
        slow = []
        for _ in range(200):
            slow.append(socket.create_connection(("127.0.0.1", port)))
            slow[-1].sendall(b"GET /metrics HTTP/1.1\r\nX: ")

        def scrape():
            with socket.create_connection(("127.0.0.1", port)) as one:
                one.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
                text = b""
                while got := one.recv(1 << 16):
                    text += got
            self.assertTrue(text.startswith(b"HTTP/1.1 200 "), text[:200])

        def memory():
            return int(re.search(r"VmRSS:\s+(\d+) kB", ground.read(f"/proc/{pid}/status").decode())[1])

        def descriptors():
            return len(os.listdir(f"/proc/{pid}/fd"))

        for _ in range(500):
            scrape()
        held, before = descriptors(), memory()
        for _ in range(SCRAPES):
            scrape()
        self.assertLess(memory() - before, 1024, "kB more after 10,000 scrapes")
        ground.until(lambda: descriptors() <= held, f"the node has {held} descriptors again")  # It closes the last scrape's in its own time.
        self.house.job(5)  # The data path goes on beside them.
        for one in slow:
            one.close()


class Ends(unittest.TestCase):
    def test_a_scrape_while_daemons_end_and_start_is_harmless(self):
        house = House("ends", words={"sharp_am": LOCAL, "sharp_an": LOCAL}, sharpd=False)
        for _ in range(5):
            clients = []
            for program in ("sharp_am", "sharp_an"):
                port = house.port(program)
                for _ in range(20):
                    clients.append(socket.create_connection(("127.0.0.1", port)))
                    clients[-1].sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            for program in ("sharp_an", "sharp_am"):
                process = house.processes.pop(program)
                process.terminate()
                self.assertEqual(process.wait(60), 0, house.log(program))
            for one in clients:  # Each has an answer or an end, and none waits.
                one.settimeout(60)
                try:
                    text = one.recv(1 << 16)
                except ConnectionResetError:
                    text = b""
                self.assertRegex(text, rb"^(HTTP/1.1 (200|503) |$)")
                one.close()
            (house.folder / "sharp_an.log").unlink()
            house.start_manager()
            house.start_node()
            self.assertEqual(house.numbers("sharp_am")["sumac_manager_nodes_registered"], 1)
        house.close()

    def test_without_the_option_no_port_is_open(self):
        house = House("quiet")
        inodes = {line.split()[9] for name in ("tcp", "tcp6") for line in pathlib.Path(f"/proc/net/{name}").read_text().splitlines()[1:] if line.split()[3] == "0A"}
        for program, ports in {"sharp_am": 0, "sharp_an": 1, "sharpd": 0}.items():
            links = [os.readlink(f"/proc/{house.processes[program].pid}/fd/{fd}") for fd in os.listdir(f"/proc/{house.processes[program].pid}/fd")]
            self.assertEqual(sum(link[8:-1] in inodes for link in links if link.startswith("socket:")), ports, program)
        house.close()

    def test_a_daemon_does_not_start_where_metrics_would_be_open_or_cannot_be(self):
        address, says = "0.0.0.0:0", "--metrics-listen 0.0.0.0:0: other machines reach this address: give --metrics-cert, --metrics-key and --metrics-token with it"
        for program, more in {"sharp_am": ["--listen", f"unix:{ground.SCRATCH}/wrong.sock"], "sharp_an": ["--name", "n", "--listen", "127.0.0.1:0"],
                              "sharpd": ["--host", "h", "--socket", f"{ground.SCRATCH}/wrong-sharpd.sock"]}.items():
            with self.subTest(program=program):
                done = subprocess.run([ground.BIN / program, *more, "--metrics-listen", address], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(says, done.stderr)


if __name__ == "__main__":
    started = time.monotonic()
    try:
        unittest.main(verbosity=2)
    finally:
        print(f"{time.monotonic() - started:.1f} s", file=sys.stderr)
