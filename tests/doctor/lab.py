"""A lab for the doctor: four hosts with their daemons, and for each host the words in front of its doctor, by which a fault is made for
that process alone. The lab is held by a child of this process, so that nothing outlives it."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
from harness import folders, processes  # noqa: E402  pylint: disable=wrong-import-position

FABRIC = ROOT / "lab" / "fabrics" / "test-4h.yaml"
HOSTS = ["h1", "h2", "h3", "h4"]
MANAGER = "manager:6126"
LAUNCHER = """
import json, os, sys
state = json.load(open(sys.argv[1]))
host, program, rest = sys.argv[2], sys.argv[3], sys.argv[4:]
if host in state["silent"]:
    os.execvp("sleep", ["sleep", "3600"])
words = [state["sumac"], "lab", "exec", "--name", state["lab"], host, "--"]
os.execv(words[0], words + state["before"].get(host, []) + [state["program"].get(host, program)] + rest)
"""


class Unavailable(Exception):
    """This machine can't run a lab; the text has the reason."""


class Lab:
    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.sumac = self.build / "bin" / "sumac"
        self.fabric = FABRIC
        self.scratch = folders.Folder("sumac-doctor-", "/tmp")
        self.folder = self.scratch.path
        self.name = self.folder.name
        self.state = {"sumac": str(self.sumac), "lab": self.name, "silent": [], "before": {}, "program": {}}
        (self.folder / "launcher.py").write_text(LAUNCHER)
        self.daemons = []
        self.holder = processes.start([self.sumac, "lab", "up", FABRIC, "--name", self.name, "--share", self.folder, "--foreground"],
                                      text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for line in self.holder.stdout:
            if " is up" in line:
                return
        text = self.holder.communicate()[1].strip()
        self.scratch.remove()
        if "run as root, or permit user namespaces" in text:
            raise Unavailable(text)
        raise AssertionError(f"the lab did not come up: {text}")

    def close(self):
        for daemon in self.daemons:
            self.stop(daemon)
        subprocess.run([self.sumac, "lab", "down", "--name", self.name], capture_output=True, check=False, timeout=60)
        self.holder.communicate(timeout=60)
        self.scratch.remove()

    def command(self, place, words):
        return [str(word) for word in (self.sumac, "lab", "exec", "--name", self.name, place, "--", *words)]

    def run(self, place, *words):
        """Runs a command on a host of the lab; it must succeed. Returns what it printed."""
        done = subprocess.run(self.command(place, words), capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise AssertionError(f"{place}: {' '.join(map(str, words))}: {done.stdout}{done.stderr}")
        return done.stdout

    def start(self, place, words, says):
        """Starts a daemon on a host, and returns when its output has the words `says`."""
        daemon = processes.start(self.command(place, words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.daemons.append(daemon)
        heard = ""
        for line in daemon.stdout:
            heard += line
            if says in line:
                return daemon
        raise AssertionError(f"{words}: it ended without saying '{says}': {heard}")

    def stop(self, daemon):
        # `lab exec` passes the signal on.
        daemon.terminate()
        daemon.communicate(timeout=30)
        if daemon in self.daemons:
            self.daemons.remove(daemon)

    def status(self):
        return json.loads(subprocess.run([self.sumac, "lab", "status", "--name", self.name, "--json"], capture_output=True, check=True).stdout)

    def pid(self, daemon):
        return next(one["pid"] for one in self.status()["daemons"] if one["name"] == daemon)

    @contextlib.contextmanager
    def before(self, host, words):
        """Until the end of the block, the doctor of this host is started by these words."""
        self.state["before"][host] = [str(word) for word in words]
        try:
            yield
        finally:
            del self.state["before"][host]

    def shell(self, host, script):
        """The same, in mounts of its own, after a script."""
        return self.before(host, ["unshare", "-m", "sh", "-ec", script + '\nexec "$@"', "sh"])

    def words(self, more=(), hosts="h[1-4]", manager=MANAGER, fabric=FABRIC):
        state = self.folder / "state.json"
        state.write_text(json.dumps(self.state))
        return [str(word) for word in (self.sumac, "doctor", "--hosts", hosts, "--launcher", f"{sys.executable} {self.folder}/launcher.py {state}",
                                       "--manager", manager, "--fabric", fabric, *more)]

    def doctor(self, more=(), **choices):
        """Returns the doctor's exit status and its findings: [(host or "" between hosts, finding)]."""
        words = self.words(["--json", *more], **choices)
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)
        if not done.stdout:
            raise AssertionError(f"the doctor ended with {done.returncode}: {done.stderr}")
        answer = json.loads(done.stdout)
        found = [("", finding) for finding in answer["findings"]]
        for host in answer["hosts"]:
            found += [(host["name"], finding) for finding in host.get("report", {}).get("findings", [])]
        return done.returncode, found
