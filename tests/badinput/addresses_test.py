"""A node that is told no address finds the one by which others reach it. A network namespace is its host, with the manager; sharpd and the
ranks of a job are on another, so an address of the first host alone would fail."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import ground  # noqa: E402  pylint: disable=wrong-import-position
from harness.ground import case  # noqa: E402  pylint: disable=wrong-import-position


def ip(words):
    subprocess.run(["ip", *words.split()], check=True, stdin=subprocess.DEVNULL)


class TwoHosts(ground.Scenario):
    """This process is on the first host; each test makes its network, and the second host's."""

    def setUp(self):
        self.other = ground.processes.start(["unshare", "--net", "cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        ground.until(lambda: os.readlink(f"/proc/{self.other.pid}/ns/net") != os.readlink("/proc/self/ns/net"), "a second namespace")
        self.there = ["nsenter", f"--net=/proc/{self.other.pid}/ns/net"]
        self.addCleanup(self.end)
        ip("link set lo up")

    def end(self):
        self.other.communicate()
        for name in {name for _, name in socket.if_nameindex()} & {"docker0", "mgmt0", "eth0"}:
            subprocess.run(["ip", "link", "delete", name], check=False, capture_output=True)  # the other host's end took eth0 along

    def cable(self, first, second):
        """Connects the hosts by their interfaces eth0."""
        ip(f"link add eth0 type veth peer name eth0 netns {self.other.pid}")
        for inside, address in (([], first), (self.there, second)):
            for words in (f"address add {address} dev eth0 {'nodad' if ':' in address else ''}", "link set eth0 up", "link set lo up"):
                subprocess.run([*inside, "ip", *words.split()], check=True)

    def job_with(self, listen, says):
        """Runs a job from the other host against a node that chooses its address; `says` is in the node's log."""
        name = re.sub(r"\W", "-", self.id().split(".")[-1])
        house = ground.House(name, listen=listen, node=False, sharpd=False, under={"sharpd": self.there})
        self.addCleanup(house.close)
        addresses = house.manager.split(",")
        house.start("sharp_an", "--name", "node", "--manager", addresses[-1], "--log-level", "3", *house.clear_text)
        self.assertRegex(house.log("sharp_an"), says)
        house.manager = addresses[0]
        house.start_sharpd()
        done = house.client(*self.there, ground.BIN / "example-allreduce", "3", "1000")
        self.assertEqual(done.code, 0, done.text + house.log("sharp_an"))
        self.assertIn("all sums exact", done.out)

    def bridge(self):
        """A bridge of containers that is older than eth0: it is up, and has lost its carrier with its last container."""
        ip("link add docker0 type bridge")
        ip("address add 172.17.0.1/16 dev docker0")
        ip("link add container0 type veth peer name container1")
        ip("link set container0 master docker0")
        for name in ("docker0", "container0", "container1"):
            ip(f"link set {name} up")
        ip("link delete container0")
        ground.until(lambda: b"NO-CARRIER" in subprocess.check_output(["ip", "link", "show", "docker0"]), "a bridge without a carrier")

    def test_a_bridge_of_containers_is_not_the_way_to_the_manager(self):
        self.bridge()
        self.cable("10.77.0.1/24", "10.77.0.2/24")
        self.job_with("10.77.0.1:0", r"listens on tcp:10\.77\.0\.1:\d+")

    def test_beside_its_manager_a_node_takes_an_interface_with_a_carrier(self):
        self.bridge()
        self.cable("10.77.0.1/24", "10.77.0.2/24")
        self.job_with(f"10.77.0.1:0,unix:{ground.SCRATCH}/am.sock", r"listens on tcp:10\.77\.0\.1:\d+")

    def test_of_two_networks_it_is_the_managers(self):
        """The interface that the kernel lists first leads elsewhere."""
        ip("link add mgmt0 type veth peer name mgmt1")
        ip("address add 192.168.9.1/24 dev mgmt0")
        for name in ("mgmt0", "mgmt1"):
            ip(f"link set {name} up")
        self.cable("10.77.0.1/24", "10.77.0.2/24")
        self.job_with("10.77.0.1:0", r"listens on tcp:10\.77\.0\.1:\d+")

    def test_hosts_of_ipv6_alone(self):
        self.cable("fd00:88::1/64", "fd00:88::2/64")
        self.job_with("[fd00:88::1]:0", r"listens on tcp:\[fd00:88::1\]:\d+")

    def test_a_node_waits_for_its_network(self):
        house = ground.House("early", manager=False, node=False, sharpd=False)
        self.addCleanup(house.close)
        log = open(house.folder / "sharp_an.log", "wb")
        self.addCleanup(log.close)
        early = ground.processes.start([ground.BIN / "sharp_an", "--name", "node", "--manager", "10.77.0.1:6126", "--allow-insecure",
                                       "--log-level", "3"], env=ground.environment(), stdout=log, stderr=log)
        house.processes["sharp_an"] = early
        house.says("sharp_an", r"no way to the manager at 10\.77\.0\.1:6126 yet: 10\.77\.0\.1: no way: Network is unreachable; trying again")
        self.cable("10.77.0.2/24", "10.77.0.1/24")
        house.says("sharp_an", r"listens on tcp:10\.77\.0\.2:\d+")


if __name__ == "__main__":
    if "--inside" not in sys.argv:
        words = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
        if not shutil.which("ip") or subprocess.run([*words, "true"], capture_output=True).returncode != 0:
            case.skip_or_fail("no network namespace can be made here, or `ip` is not there")
            sys.exit(77)
        ground.sweep()  # the program that follows makes a folder of its own
        os.execvp(words[0], [*words, sys.executable, __file__, "--inside"])
    sys.argv.remove("--inside")
    ground.main()
