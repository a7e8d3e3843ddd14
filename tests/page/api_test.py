#!/usr/bin/env python3
"""The page of a real manager: the API answers as web/openapi.json says, users see their own jobs, strangers nothing; wrong starts are told."""

import json
import os
import pathlib
import pwd
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cluster  # noqa: E402
from harness import bridge  # noqa: E402
import stranger  # noqa: E402

import jsonschema  # noqa: E402

ground = cluster.ground
NASTY = "<img/src=x/onerror=alert(1)>\"'&"
FABRIC = """
name: two-leaves
switches: [root, leaf1, leaf2]
links: [{a: leaf1, b: root}, {a: leaf2, b: root}]
hosts:
  h1: {leaf: leaf1}
  h2: {leaf: leaf1}
  h3: {leaf: leaf2}
nodes: {an-root: {switch: root}, an-leaf1: {switch: leaf1}, an-leaf2: {switch: leaf2}}
root: an-root
"""
# This user owns nothing on any machine.
NOBODY = pwd.getpwnam("nobody").pw_uid


def check(path, text):
    """Checks an answer against the schema of its address."""
    plain = re.sub(r"/jobs/\d+$", "/jobs/{id}", path.split("?")[0])
    schema = stranger.DOCUMENT["paths"][plain]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    answer = json.loads(text)
    jsonschema.Draft202012Validator({**stranger.DOCUMENT, **schema}).validate(answer)
    return answer


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ground.SCRATCH.chmod(0o711)  # so that another user reaches the manager's socket
        cls.house = cluster.Cluster("page", FABRIC)
        cls.house.job("h1", "h3")
        cls.root = cls.house.ticket()

    @classmethod
    def tearDownClass(cls):
        cls.house.close()

    def get(self, path, ticket=None):
        ticket = ticket or self.root
        status, _, text = cluster.ask(ticket["site"], f"/api/v1{path}", ticket["token"])
        self.assertEqual(status, 200, f"{path}: {text}")
        return check(path, text)

    def job_id(self):
        return self.get("/jobs")["jobs"][0]["id"]

    def test_every_address_answers_as_the_document_says(self):
        jsonschema.Draft202012Validator.check_schema({"$defs": stranger.DOCUMENT["components"]["schemas"]})
        job = self.job_id()
        for path in stranger.addresses(job):
            self.get(path.removeprefix("/api/v1"))
        for path, status in {"/jobs?limit=501": 400, "/jobs?sort=size": 400, "/search": 400, "/state?x=1": 400, "/jobs/1": 404, "/none": 404, "/jobs/x": 400}.items():
            got, _, text = cluster.ask(self.root["site"], f"/api/v1{path}", self.root["token"])
            self.assertEqual(got, status, path)
            jsonschema.Draft202012Validator({**stranger.DOCUMENT, "$ref": "#/components/schemas/Error"}).validate(json.loads(text))

    def test_it_shows_what_runs(self):
        overview = self.get("/overview")
        self.assertEqual([overview["fabric"][name] for name in ("hosts", "sharpds", "nodes", "nodes_registered", "switches")], [3, 3, 3, 3, 3])
        self.assertEqual(overview["jobs"]["running"], 1)
        self.assertTrue(overview["viewer"]["operator"])
        fabric, state = self.get("/fabric"), self.get("/state")
        names = [node["name"] for node in fabric["nodes"]]
        tree = fabric["trees"][0]
        self.assertEqual(names[tree["root"]], "an-root")
        self.assertEqual(tree["parents"], [-1 if name == "an-root" else names.index("an-root") for name in names])
        self.assertEqual(sorted(map(tuple, tree["routes"])), [(), (0,), (1,)])
        job = self.get(f"/jobs/{self.job_id()}")
        self.assertEqual([fabric["hosts"][host]["name"] for host in job["host_list"]], ["h1", "h3"])
        # Both hosts are alone at their leaves, so both connect to the root; it has the grant, and what is below has none.
        granted = [node["trees"][0]["osts_granted"] for node in state["nodes"]]
        self.assertEqual(granted[tree["root"]], job["quota"]["osts"])
        self.assertEqual(dict(map(tuple, state["host_jobs"])), {host: 1 for host in job["host_list"]})
        self.assertEqual(state["sharpds"], "111")
        kinds = [event["kind"] for event in self.get("/events")["events"]]
        for kind in ("node_registered", "host_registered", "link_up", "job_granted"):
            self.assertIn(kind, kinds)
        self.assertEqual([one["name"] for one in self.get("/search?q=H2")["found"]], ["h2"])

    def test_an_answer_that_has_not_changed_is_not_sent_again(self):
        for path in ("/fabric", "/state", "/jobs", "/events", "/users"):
            _, sent, _ = cluster.ask(self.root["site"], f"/api/v1{path}", self.root["token"])
            status, _, text = cluster.ask(self.root["site"], f"/api/v1{path}", self.root["token"], {"If-None-Match": sent["ETag"]})
            self.assertEqual((status, text), (304, ""), path)

    def test_a_death_and_an_end_become_events(self):
        house = cluster.Cluster("deaths", FABRIC, words=["--node-away", "100ms"])
        try:
            job = house.job("h1", "h2")
            ticket = house.ticket()

            def events():
                return {event["kind"]: event for event in self.get("/events", ticket)["events"]}
            ground.until(lambda: "job_granted" in events(), "no grant")
            os.kill(job.pids[1], signal.SIGKILL)
            died = ground.until(lambda: events().get("rank_died"), "no death")
            self.assertIn("rank 1 died", died["text"])
            house.kill("an-an-leaf2")
            ground.until(lambda: any("stays away" in one["text"] for one in self.get("/events", ticket)["events"]), "the node is not given up")
            overview = self.get("/overview", ticket)
            self.assertEqual({name: overview["fabric"][name] for name in ("hosts", "switches", "nodes", "nodes_registered", "nodes_missing", "sharpds_missing")},
                             {"hosts": 3, "switches": 3, "nodes": 3, "nodes_registered": 2, "nodes_missing": ["an-leaf2"], "sharpds_missing": []})
            self.assertEqual([one["name"] for one in self.get("/search?q=an-leaf2", ticket)["found"]], ["an-leaf2"])
            house.kill("host-h3")
            ground.until(lambda: self.get("/overview", ticket)["fabric"]["sharpds_missing"] == ["h3"], "sharpd of h3 is not missed")
            house.jobs.clear()
            job.end()
            ground.until(lambda: self.get("/overview", ticket)["jobs"]["running"] == 0, "the job has not ended")
            self.assertEqual(self.get("/jobs", ticket)["jobs"], [])
        finally:
            house.close()

    @unittest.skipUnless(os.geteuid() == 0, "only root loads a program into the kernel")
    def test_it_shows_what_the_kernels_of_nodes_do(self):
        try:
            house = bridge.House("hop", "h1", "h2", words={"sharp_am": ["--page-listen", "127.0.0.1:0"]})
        except SystemExit:
            self.skipTest("see the line above")
        try:
            ticket = cluster.ticket(house.manager)

            def shown():
                return self.get("/state", ticket)["nodes"][0].get("hop")
            self.assertIsNone(shown(), "no datagram has come")
            job = house.steady_on("h1", "h2")
            ground.until(lambda: house.counts()["folds"] > 20, "the first operations go by the links")
            self.assertEqual(job.end()[0], 0)
            counted = house.counts()
            hop = ground.until(lambda: (now := shown()) and now["frames"] == counted["frames"] and now, lambda: f"{shown()} becomes {counted}")
            self.assertEqual([hop[name] for name in ("sums", "repeats", "sent", "strangers", "expired")],
                             [counted[name] for name in ("folds", "repeats", "sent", "strangers", "expired")])
            self.assertGreater(hop["sums"], 20)
            self.assertEqual("run_ns" in hop, counted["runs"] > 0)
        finally:
            house.close()

    @unittest.skipUnless(os.geteuid() == 0, "another user's token needs root")
    def test_a_user_sees_his_own_jobs_and_totals_and_a_stranger_nothing(self):
        try:
            other = self.house.ticket(NOBODY)
        except PermissionError as why:  # A build folder below a private home.
            self.skipTest(f"user nobody cannot start the programs of this build: {why}")
        self.assertFalse(other["operator"])
        job = self.job_id()
        self.assertEqual(self.get("/jobs", other)["total"], 0)
        self.assertEqual(self.get("/users", other)["users"], [])
        self.assertEqual(self.get("/state", other)["host_jobs"], [])
        self.assertEqual(self.get("/overview", other)["jobs"]["running"], 1)
        self.assertNotIn("job_granted", [event["kind"] for event in self.get("/events", other)["events"]])
        holder = self.get(f"/jobs/{job}")["holder"]
        found, asked = stranger.leaks(self.root, other, {"all": ["leaf1", "an-root", "h3", job, holder], "job": [job, holder]}, job)
        self.assertEqual(found, [])
        self.assertGreater(asked, 150)

    def test_a_ticket_in_a_file_is_its_owners_alone(self):
        file = self.house.folder / "ticket"
        before = os.umask(0o022)
        self.addCleanup(os.umask, before)
        for _ in range(2):  # A second ticket takes the place of the first.
            done = subprocess.run([ground.BIN / "sumac", "page", "--manager", self.house.manager, "--out", file], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
            self.assertEqual(self.get("/jobs", json.loads(file.read_text()))["total"], 1)

    def test_a_token_ends_with_the_manager_and_at_the_ninth(self):
        house = cluster.Cluster("lives", FABRIC, nodes=[], hosts=[])
        try:
            first = house.ticket()
            tickets = [house.ticket() for _ in range(8)]
            self.assertEqual(cluster.ask(first["site"], "/api/v1/overview", first["token"])[0], 401)
            self.assertEqual(cluster.ask(first["site"], "/api/v1/overview", tickets[0]["token"])[0], 200)
            house.kill("sharp_am")
            house.start_manager()
            site = house.ticket()["site"]
            self.assertEqual(cluster.ask(site, "/api/v1/overview", tickets[-1]["token"])[0], 401)
            self.assertNotIn(first["token"], house.log("sharp_am"))
        finally:
            house.close()

    def test_the_terminal_shows_each_node_in_its_tree(self):
        house = cluster.Cluster("terminal", cluster.ROOT / "lab" / "fabrics" / "fabric-8h-2rails.yaml", hosts=[])
        try:
            def topology():
                return subprocess.run([ground.BIN / "sharp_cmd", "topology", "--manager", house.manager], capture_output=True, text=True, check=True, timeout=60).stdout
            ground.until(lambda: topology().count(" up ") == 6, topology)
            rows = [line.split()[:6] for line in topology().splitlines()[1:]]
            self.assertEqual(rows[0], ["NODE", "ID", "TREE", "PARENT", "STATE", "LINK"])
            self.assertEqual({tuple(row[:1] + row[2:]) for row in rows[1:]},
                             {("an-root-a", "0", "-", "root", "up"), ("an-leaf-a1", "0", "an-root-a", "registered", "up"), ("an-leaf-a2", "0", "an-root-a", "registered", "up"),
                              ("an-root-b", "1", "-", "root", "up"), ("an-leaf-b1", "1", "an-root-b", "registered", "up"), ("an-leaf-b2", "1", "an-root-b", "registered", "up")})
        finally:
            house.close()

    def test_names_that_are_markup_stay_text(self):
        house = ground.House("names", manager=False, node=False, sharpd=False, words={"sharp_am": ["--page-listen", "127.0.0.1:0", "--log-level", "3"]})
        # Without a fabric file every name that registers is one of the fabric's. A host may not have such a name, a node may.
        house.start("sharp_am", "--listen", house.manager)
        try:
            with self.assertRaisesRegex(AssertionError, "the host's name .* holds other than letters"):
                house.start("sharpd", "--host", NASTY, "--manager", house.manager, "--socket", house.socket)
            house.start("sharp_an", "--name", NASTY, "--manager", house.manager, "--listen", "127.0.0.1:0")
            ticket = cluster.ticket(house.manager)
            ground.until(lambda: self.get("/overview", ticket)["fabric"]["nodes_registered"] == 1, "the node is not there")
            self.assertEqual(self.get("/fabric", ticket)["nodes"][0]["name"], NASTY)
            self.assertIn(NASTY, self.get("/events", ticket)["events"][-1]["subject"])
            status, sent, _ = cluster.ask(ticket["site"], "/api/v1/fabric", ticket["token"])
            self.assertEqual((status, sent["Content-Type"], sent["X-Content-Type-Options"]), (200, "application/json", "nosniff"))
        finally:
            house.processes.pop("sharpd", None)  # It has refused to start.
            house.close()

    def test_a_unix_socket_serves_the_page_too(self):
        path = ground.SCRATCH / "page.sock"
        house = cluster.Cluster("socket", FABRIC, page=f"unix:{path}", nodes=[], hosts=[])
        try:
            done = subprocess.run([ground.BIN / "sumac", "page", "--manager", house.manager], capture_output=True, text=True, check=True)
            self.assertIn(f"ssh -N -L 9510:{path}", done.stderr)
            name, token = re.fullmatch(r"http://([0-9a-f]{32}\.localhost):9510/#token=([0-9a-f]{64})\n", done.stdout).groups()
            with socket.socket(socket.AF_UNIX) as one:
                one.connect(str(path))
                one.sendall(f"GET /api/v1/overview HTTP/1.1\r\nHost: {name}:9510\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
                text = b""
                while got := one.recv(1 << 16):
                    text += got
            self.assertTrue(text.startswith(b"HTTP/1.1 200"), text[:200])
        finally:
            house.close()

    def sumac(self, *words, **more):
        return subprocess.run([ground.BIN / "sumac", "page", *words], capture_output=True, text=True, timeout=60, check=False, **more)

    def test_whoever_gets_no_address_learns_why(self):
        house = cluster.Cluster("none", FABRIC, nodes=[], hosts=[], page="")
        try:
            rows = [(["--manager", house.manager], "page: this manager serves no page: start it with --page-listen", 1),
                    (["--manager", f"unix:{ground.SCRATCH}/nobody.sock"], f"page: no manager at unix:{ground.SCRATCH}/nobody.sock: start sharp_am, or say where it is", 1),
                    (["--manager", "nonsense"], "page: ", 1), (["--manager"], "page: --manager needs", 2), (["--jsn"], "page: no option --jsn", 2)]
            for words, says, status in rows:
                done = self.sumac(*words)
                self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (status, "", 1), done.stderr)
                self.assertIn(says, done.stderr)
        finally:
            house.close()

    def test_a_manager_does_not_start_where_its_page_would_be_open_or_cannot_be(self):
        for address, says in {"0.0.0.0:0": "--page-listen 0.0.0.0:0: other machines reach this address: give --page-cert and --page-key with it",
                              "127.0.0.2:0": "browsers find the page at 127.0.0.1 or [::1] only", "here": "give 127.0.0.1:PORT"}.items():
            done = subprocess.run([ground.BIN / "sharp_am", "--listen", f"unix:{ground.SCRATCH}/wrong.sock", "--page-listen", address], capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
            self.assertIn(says, done.stderr)
            self.assertIn("--page-listen", done.stderr)


if __name__ == "__main__":
    started = time.monotonic()
    try:
        unittest.main(verbosity=2)
    finally:
        print(f"{time.monotonic() - started:.1f} s", file=sys.stderr)
