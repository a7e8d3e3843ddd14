"""Simulates InfiniBand fabrics: ibsim plays the switches and adapters, opensm sets them up, ibnetdiscover prints the result. None of them
needs an InfiniBand device, a kernel module or root.
usage: ibsim.py SHAPE > FILE"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import processes  # noqa: E402  pylint: disable=wrong-import-position

TOOLS = ("ibsim", "ibsim-run", "opensm", "ibnetdiscover")
NODE = "Mellanox Technologies Aggregation Node"
# packaging/unpack installs opensm here without its service.
PRIVATE = pathlib.Path(__file__).resolve().parents[2] / "build" / "private"
PATH = os.environ.get("PATH", "") + f":/usr/sbin:/sbin:{PRIVATE}/opensm/usr/sbin"


def missing():
    return [tool for tool in TOOLS if not shutil.which(tool, path=PATH)]


class Net:
    """A fabric in the form that ibsim reads: each link appears at both its ends."""

    def __init__(self):
        self.records = {}

    def switch(self, name, description=None, node=True):
        self.records[name] = ("Switch", 36, description or name, [])
        if node:
            self.ca(f"an-{name}", NODE, [name])

    def ca(self, name, description, switches):
        self.records[name] = ("Hca", max(len(switches), 1), description, [])
        for at in switches:
            self.link(name, at)

    def link(self, a, b, width=2, speed=4):
        """Width 2 is 4x; speed 1, 2, 4 are SDR, DDR, QDR."""
        ends = [(name, len(self.records[name][3]) + 1) for name in (a, b)]
        for (name, _), (peer, port) in zip(ends, reversed(ends)):
            self.records[name][3].append(f'[{len(self.records[name][3]) + 1}]\t"{peer}"[{port}]\tw={width} s={speed}')

    def text(self):
        lines = []
        for name, (kind, ports, description, links) in self.records.items():
            lines += [f'{kind}\t{ports} "{name}"\t# "{description}"', *links, ""]
        return "\n".join(lines)


def leafspine():
    """Makes a fat tree of two levels: 4 leaves of 4 hosts, 2 spines; routed by ftree or updn."""
    net = Net()
    for i in range(2):
        net.switch(f"spine{i}")
    for leaf in range(4):
        net.switch(f"leaf{leaf}")
        for i in range(2):
            net.link(f"leaf{leaf}", f"spine{i}")
        for host in range(4):
            net.ca(f"h{leaf * 4 + host}", f"node{leaf * 4 + host} mlx5_0", [f"leaf{leaf}"])
    return net


def hypercube(dimensions=3):
    """Makes a host at each corner; routed by dor."""
    net = Net()
    for at in range(1 << dimensions):
        net.switch(f"corner{at}")
        net.ca(f"h{at}", f"node{at} mlx5_0", [f"corner{at}"])
    for at in range(1 << dimensions):
        for bit in range(dimensions):
            if at < at ^ (1 << bit):
                net.link(f"corner{at}", f"corner{at ^ (1 << bit)}")
    return net


def dragonfly(groups=3):
    """Makes a Dragonfly+: in each group 2 leaves and 2 spines, all joined; between groups the spines are joined."""
    net = Net()
    for group in range(groups):
        for i in range(2):
            net.switch(f"g{group}-spine{i}")
        for leaf in range(2):
            net.switch(f"g{group}-leaf{leaf}")
            for i in range(2):
                net.link(f"g{group}-leaf{leaf}", f"g{group}-spine{i}")
            for host in range(3):
                net.ca(f"h{group}{leaf}{host}", f"node{group}{leaf}{host} mlx5_0", [f"g{group}-leaf{leaf}"])
    for a in range(groups):
        for b in range(a + 1, groups):
            for i in range(2):
                net.link(f"g{a}-spine{i}", f"g{b}-spine{i}")
    return net


def rails():
    """Makes hosts with two adapters each, on different leaves."""
    net = Net()
    net.switch("spine")
    for leaf in range(2):
        net.switch(f"leaf{leaf}")
        net.link(f"leaf{leaf}", "spine", speed=2)
    for host in range(4):
        for rail in range(2):
            net.ca(f"h{host}r{rail}", f"node{host} mlx5_{rail}", [f"leaf{rail}"])
    return net


# Each shape has the routing engine that its operators would choose.
SHAPES = {"leafspine": (leafspine, "ftree"), "hypercube": (hypercube, "dor"), "dragonfly": (dragonfly, "updn"), "rails": (rails, "updn")}


def discover(net, routing):
    """Returns the output of ibnetdiscover for the fabric, seen from its first host, after opensm has given it addresses and routes."""
    first = next(name for name, (kind, _, description, _) in net.records.items() if kind == "Hca" and description != NODE)
    with tempfile.TemporaryDirectory(prefix="ibsim-") as folder:
        place = pathlib.Path(folder)
        (place / "net").write_text(net.text())
        # ibsim's sockets have abstract names, outside any folder: a name of our own separates parallel runs.
        environment = os.environ | {"PATH": PATH, "IBSIM_SOCKNAME": f"sumac-{os.getpid()}-{place.name}", "SIM_HOST": first,
                                    "OSM_TMP_DIR": folder, "OSM_CACHE_DIR": folder}
        log = open(place / "ibsim.log", "wb")
        simulator = processes.start(["ibsim", "-s", "-n", "net"], cwd=folder, env=environment, stdout=log, stderr=log,
                                    start_new_session=True)
        try:
            deadline = time.monotonic() + 30
            while "Network simulator ready" not in (place / "ibsim.log").read_text(errors="replace"):
                if simulator.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("ibsim did not start: " + (place / "ibsim.log").read_text(errors="replace")[-500:])
                time.sleep(0.02)

            def tool(*words):
                return subprocess.run(["ibsim-run", *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=60)

            manager = tool("opensm", "-o", "-R", routing, "-f", str(place / "opensm.log"))
            if manager.returncode != 0:
                raise RuntimeError("opensm: " + (manager.stdout + manager.stderr)[-500:])
            found = tool("ibnetdiscover")
            if found.returncode != 0:
                raise RuntimeError("ibnetdiscover: " + found.stderr[-500:])
            return found.stdout
        finally:
            simulator.send_signal(signal.SIGKILL)
            simulator.wait()
            log.close()


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in SHAPES:
        sys.exit(f"usage: ibsim.py SHAPE, one of {', '.join(SHAPES)}")
    make, engine = SHAPES[sys.argv[1]]
    print(discover(make(), engine), end="")
