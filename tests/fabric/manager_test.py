"""Runs sharp_am on a file that the real tools printed of a simulated fabric, with a root_guids_file: its nodes register, the status shows
the file's root, a job uses it; after another file and SIGHUP the trees follow."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import ibsim
from program import SUMAC

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import processes  # noqa: E402  pylint: disable=wrong-import-position

BIN = SUMAC.parent


class House:
    """The daemons of one fabric: a manager, a node at each switch, a sharpd for one of its hosts."""

    def __init__(self, folder):
        self.folder = folder
        self.manager = f"unix:{folder}/am.sock"
        self.running = []

    def start(self, program, name, *words):
        with open(self.folder / f"{name}.log", "wb") as log:
            process, ready = processes.start_ready([BIN / program, *words], stdout=log, stderr=log)
        self.running.append(process)
        if not ready:
            raise AssertionError(f"{name}: {self.log(name)}")
        return self.running[-1]

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def status(self, what):
        done = subprocess.run([BIN / "sharp_cmd", what, "--json", "--manager", self.manager], capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return json.loads(done.stdout)

    def roots(self, wanted):
        """Waits until the roots of all trees are `wanted` and every node's links stand, up to a bound that only a failure reaches."""
        end = time.monotonic() + 60
        while True:
            trees, nodes = self.status("trees")["trees"], self.status("topology")["nodes"]
            if [tree.get("root") for tree in trees] == wanted and all(node.get("link_up") for node in nodes):
                return trees
            if time.monotonic() > end:
                raise AssertionError(f"not {wanted}: {trees} {self.log('sharp_am')}")
            time.sleep(0.02)

    def hello(self):
        return subprocess.run([BIN / "sharp_hello"], capture_output=True, text=True, timeout=60,
                              env=os.environ | {"SHARP_COLL_SHARPD_SOCKET_NAME": f"{self.folder}/sharpd.sock"})

    def close(self):
        for process in reversed(self.running):
            process.send_signal(signal.SIGTERM)
            process.wait(30)


class Discovered(unittest.TestCase):
    def test_roots_by_guid_and_others_after_sighup(self):
        with tempfile.TemporaryDirectory(prefix="sumac-roots-") as name:
            folder = pathlib.Path(name)
            text = ibsim.discover(ibsim.leafspine(), "ftree")
            fabric, roots = folder / "leafspine.lst", folder / "root_guids"
            fabric.write_text(text)
            # Each switch is found by its description: its GUID, and that of the aggregation node on it.
            blocks = re.findall(r'^switchguid=0x(\w+)\(.*\n^Switch.*# "(\w+)".*\n(?:^\[.*\n)*?^\[\d+\]\s+"H-(\w+)".*"' + ibsim.NODE + '"', text, re.MULTILINE)
            guid = {switch: number for number, switch, _ in blocks}
            node = {switch: f"an-{number}" for _, switch, number in blocks}
            self.assertEqual(set(node), {"spine0", "spine1", "leaf0", "leaf1", "leaf2", "leaf3"}, text)
            roots.write_text(f"# where roots may be\n0x{guid['spine1']}\n")
            (folder / "sharp_am.cfg").write_text(f"fabric_lst_file {fabric}\nroot_guids_file {roots}\nlisten unix:{folder}/am.sock\n")
            house = House(folder)
            self.addCleanup(house.close)
            manager = house.start("sharp_am", "sharp_am", "-O", folder / "sharp_am.cfg")
            for each in sorted(node.values()):
                house.start("sharp_an", each, "--name", each, "--manager", house.manager, "--listen", "127.0.0.1:0")
            house.start("sharpd", "sharpd", "--host", "node0", "--manager", house.manager, "--socket", folder / "sharpd.sock")

            house.roots([node["spine1"]])
            done = house.hello()
            self.assertEqual(done.returncode, 0, done.stderr + house.log("sharp_am"))

            roots.write_text(f"{guid['leaf2']}\n")
            manager.send_signal(signal.SIGHUP)
            house.roots([node["leaf2"]])
            done = house.hello()
            self.assertEqual(done.returncode, 0, done.stderr + house.log("sharp_am"))

            roots.write_text("0xdead\n")
            manager.send_signal(signal.SIGHUP)
            end = time.monotonic() + 60
            while "nothing changed: " not in house.log("sharp_am"):
                self.assertLess(time.monotonic(), end, house.log("sharp_am"))
                time.sleep(0.02)
            self.assertRegex(house.log("sharp_am"), r"SIGHUP: nothing changed: .*root_guids:1: .*0xdead")
            house.roots([node["leaf2"]])


if __name__ == "__main__":
    if missing := ibsim.missing():
        print(f"not installed: {', '.join(missing)}: packaging/install packaging/apt-dev.txt", file=sys.stderr)
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    unittest.main()
