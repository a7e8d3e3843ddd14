"""A whole fabric on this machine, by its file: the real manager with its page, a real sharp_an for each node and a real sharpd for each host.
All of it is on loopback and unix sockets; jobs are programs of tests/badinput (steady)."""

import http.client
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
from harness import ground  # noqa: E402

import yaml  # noqa: E402


def names(words):
    """h[1-4] means h1, h2, h3, h4, as in fabric files."""
    for word in words:
        found = re.fullmatch(r"(.*)\[(\d+)-(\d+)\](.*)", str(word))
        if found:
            yield from (f"{found[1]}{number}{found[4]}" for number in range(int(found[2]), int(found[3]) + 1))
        else:
            yield str(word)


class Cluster(ground.House):
    def __init__(self, name, fabric, page="127.0.0.1:0", words=(), nodes=None, hosts=None):
        text = pathlib.Path(fabric).read_text(encoding="utf-8") if "\n" not in str(fabric) else fabric
        described = yaml.safe_load(text)
        super().__init__(name, node=False, sharpd=False, fabric=text, words={"sharp_am": ["--page-listen", page, "--log-level", "3", *words]})
        self.sockets, self.jobs = {}, []
        for node in names(described.get("nodes", {})) if nodes is None else nodes:
            self.start_as(f"an-{node}", "sharp_an", "--name", node, "--manager", self.manager, "--listen", "127.0.0.1:0", "--log-level", "3")
        for host in names(described["hosts"]) if hosts is None else hosts:
            self.start_host(host)

    def start_host(self, host):
        self.sockets[host] = self.folder / f"{len(self.sockets)}.sock"
        self.start_as(f"host-{host}", "sharpd", "--host", host, "--manager", self.manager, "--socket", self.sockets[host], "--log-level", "3")

    def start_as(self, label, program, *words):
        """Starts one of several processes of a program."""
        self.start(program, *words)
        self.processes[label] = self.processes.pop(program)

    def job(self, *hosts):
        """A job with a rank on each of these hosts, which goes on until close()."""
        self.jobs.append(ground.Steady(len(hosts), {"SHARP_COLL_SHARPD_SOCKET_NAME": str(self.sockets[hosts[0]])}, [self.sockets[host] for host in hosts]))
        return self.jobs[-1]

    def ticket(self, user=None):
        """What `sumac page` says to a user: {"site", "name", "token", ...}."""
        return ticket(self.manager, user)

    def close(self):
        for job in self.jobs:
            job.end()
        self.jobs = []
        for label in [name for name in self.processes if name != "sharp_am"]:
            self.kill(label, ground.signal.SIGTERM)
        self.kill("sharp_am", ground.signal.SIGTERM)


def ticket(manager, user=None):
    change = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    done = subprocess.run([ground.BIN / "sumac", "page", "--json", "--manager", manager], capture_output=True, text=True, timeout=60, check=False, **change)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def address(given):
    return f"{given['site']}/#token={given['token']}"


def ask(site, path, token=None, headers=None, method="GET"):
    """Returns (status, headers, text) of a request as no browser would make it."""
    host, port = re.fullmatch(r"https?://(.*):(\d+)", site).groups()
    # A browser takes every name below localhost for this machine; Python's resolver may not.
    connection = http.client.HTTPConnection("127.0.0.1" if host.endswith(".localhost") else host, int(port), timeout=60)
    try:
        sent = {"Host": f"{host}:{port}", **({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})}
        connection.putrequest(method, path, skip_host="Host" in sent)
        for name, value in sent.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()
