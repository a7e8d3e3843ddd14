"""Hosts behind one Linux bridge, without a lab: its switch is a process, and takes the time and the processor that is to be measured or
attacked here. Each host is a network namespace, which goes with the process that made it. It needs root."""

import json
import os
import re
import signal
import threading

from . import case, ground, processes

NODE, PORT_BITS = "node", 24


def in_network(path, function):
    """Returns what function() returns in the network namespace at the path. A socket that it makes stays there."""
    found = []

    def enter():
        network = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if processes.LIBC.setns(network, 0) != 0:
                raise OSError(f"cannot enter {path}")
            found.append(function())
        finally:
            os.close(network)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if not found:
        raise AssertionError(f"{path}: the thread above ended early")
    return found[0]


class Network:
    """A network namespace, held by a process of ours."""

    def __init__(self):
        self.process = processes.start(["unshare", "--net", "sh", "-c", "echo ready; exec cat"], death=signal.SIGKILL, stdin=processes.PIPE, stdout=processes.PIPE,
                                       stderr=processes.STDOUT, text=True, env=ground.environment())
        if (said := self.process.stdout.readline()) != "ready\n":
            case.skip_or_fail(f"no network namespace: {said.strip()}")
        self.path = f"/proc/{self.process.pid}/ns/net"
        self.under = ["nsenter", f"--net={self.path}"]

    def ip(self, words):
        done = ground.start([*self.under, "ip", *words.split()])
        if done.code != 0:
            case.skip_or_fail(f"ip {words}: {done.err.strip()}")

    def close(self):
        processes.end(self.process)


class Bridge:
    """The names' hosts: `network[name]`, each with the device e0 and the address `address[name]`. The bridge's own port to a host has the
    host's name, in the namespace `switch`."""

    def __init__(self, *names):
        if os.geteuid() != 0:
            case.skip_or_fail("only root makes network namespaces and loads a program into the kernel")
        self.switch, self.network, self.address = Network(), {}, {}
        self.switch.ip("link add br0 type bridge")
        self.switch.ip("link set br0 up")
        for number, name in enumerate(names, 1):
            host = self.network[name] = Network()
            self.address[name] = f"10.99.0.{number}"
            self.switch.ip(f"link add {name} type veth peer name e0 netns {host.process.pid}")
            self.switch.ip(f"link set {name} master br0 up")
            host.ip(f"addr add {self.address[name]}/{PORT_BITS} dev e0")
            host.ip("link set lo up")
            host.ip("link set e0 up")

    def close(self):
        for network in (*self.network.values(), self.switch):
            network.close()


class House(ground.House):
    """Daemons of a fabric with one node, on a bridge: a sharpd for each host. The kernel of the node answers small operations, or the program
    is skipped with the node's reason."""

    def __init__(self, name, *hosts, **more):
        self.bridge = Bridge(NODE, *hosts)
        places = ", ".join(f"{host}: {{leaf: s}}" for host in hosts)
        super().__init__(name, node=False, sharpd=False, fabric=f"name: t\nswitches: [s]\nhosts: {{{places}}}\nnodes: {{{NODE}: {{switch: s}}}}\n", **more)
        self.under["sharp_an"] = self.bridge.network[NODE].under
        self.stats = self.folder / "stats.json"
        self.start("sharp_an", "--name", NODE, "--manager", self.manager, "--listen", f"{self.bridge.address[NODE]}:0", "--log-level", "3", "--hop", "auto",
                   "--stats-file", self.stats)
        self.node_port = int(self.says("sharp_an", r"listens on tcp:[0-9.]+:(\d+)")[1])
        if refused := re.search("SUMAC_NODE_HOP=auto: .*", self.log("sharp_an")):
            case.skip_or_fail(refused[0])
        for host in hosts:
            self.start("sharpd", "--host", host, "--manager", self.manager, "--socket", self.socket_of(host), "--log-level", "3", name=host)

    def socket_of(self, host):
        return self.folder / f"{host}.sock"

    def steady_on(self, *hosts, **env):
        """A job with a rank on each of the hosts."""
        networks = ":".join(self.bridge.network[host].path for host in hosts)
        return ground.Steady(len(hosts), {"STEADY_NETWORKS": networks, **env}, [self.socket_of(host) for host in hosts])

    def counts(self):
        """Returns the counters of the node's kernel."""
        self.stats.unlink(missing_ok=True)
        self.processes["sharp_an"].send_signal(signal.SIGUSR1)
        text = ground.until(lambda: ground.read(self.stats), "the node writes its statistics")
        return json.loads(text)["trees"][0]["hop"]

    def close(self):
        super().close()
        self.bridge.close()
