"""Faults of a cluster, made in a lab. Each is a generator that makes the fault, yields (options of the doctor), and undoes it; `Fault` says
which finding must name it, by which words, and with which remedy."""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

FAULTS = []


@dataclasses.dataclass
class Fault:
    name: str
    make: object
    where: str      # the host whose finding it is; "" between hosts
    subject: str
    health: str
    found: str      # expressions that finding and remedy must match
    remedy: str
    also: tuple     # subjects of further findings that are true while the fault lasts
    quick: bool     # it belongs to `make test`


def fault(name, where, subject, health, found, remedy, also=(), quick=False):
    def add(make):
        FAULTS.append(Fault(name, contextlib.contextmanager(make), where, subject, health, found, remedy, also, quick))
        return make
    return add


class NotHere(Exception):
    """This machine can't make the fault; the text has the reason."""


def need(program):
    if shutil.which(program) is None:
        raise NotHere(f"no {program}: make setup-toolkit")


# Clocks

def shifted(lab, host, by):
    need("faketime")
    with lab.before(host, ["env", "FAKETIME_DONT_FAKE_MONOTONIC=1", "faketime", "-f", by]):
        yield {}


@fault("a clock 10 minutes ahead", "", "clocks", "BAD", r"clock of h3 is 10 minutes ahead", r"chrony", quick=True)
def clock_ahead(lab):
    yield from shifted(lab, "h3", "+600s")


@fault("a clock 2 seconds behind", "", "clocks", "note", r"clock of h2 is 2\.0 s behind", r"chrony")
def clock_behind(lab):
    yield from shifted(lab, "h2", "-2s")


# MTU

def lower_mtu(lab):
    lab.run("h3", "ip", "link", "set", "dev", "lab0", "mtu", "1400")
    try:
        yield {}
    finally:
        lab.run("h3", "ip", "link", "set", "dev", "lab0", "mtu", "9000")


fault("an interface with a smaller MTU", "", "MTU", "note", r"9000: h\[1-2,4\]; 1400: h3", r"ip link set dev DEVICE mtu 9000` on h3", also=("path MTU",),
      quick=True)(lower_mtu)
fault("an interface with a smaller MTU, seen from another host", "h1", "path MTU", "BAD", r"more than 1400 bytes to h3 .* vanish, lab0 has MTU 9000",
      r"ip link set dev lab0 mtu 1400", also=("MTU",))(lower_mtu)


@contextlib.contextmanager
def filtered(lab, host, rule):
    need("nft")
    table = "table inet doctor { chain in { type filter hook input priority 0; " + rule + "; }; }"
    lab.run(host, "nft", table)
    try:
        yield
    finally:
        lab.run(host, "nft", "delete table inet doctor")


@fault("a path that drops packets of more than 1500 bytes", "h1", "path MTU", "BAD", r"more than 1500 bytes to h2 .* vanish", r"tcp_mtu_probing", also=("sharp_am",))
def path_drops(lab):
    with filtered(lab, "h2", "meta length > 1500 drop"):
        yield {}


# Names

def hosts_file(lab, host, change):
    text = lab.run(host, "cat", "/etc/hosts")
    path = lab.folder / f"hosts-{host}"
    path.write_text(change(text))
    with lab.shell(host, f"mount --bind {path} /etc/hosts"):
        yield {}


@fault("a host that does not know its own name", "h1", "host names", "BAD", r"own name h1 does not resolve", r"a line `10\.77\.0\.1 h1` in /etc/hosts",
       quick=True)
def no_own_name(lab):
    yield from hosts_file(lab, "h1", lambda text: text.replace("10.77.0.1 h1\n", ""))


@fault("a host whose name is only 127.0.1.1", "h1", "host names", "BAD", r"own name h1 is 127\.0\.1\.1", r"a line `10\.77\.0\.1 h1` in /etc/hosts")
def loopback_name(lab):
    yield from hosts_file(lab, "h1", lambda text: text.replace("10.77.0.1 h1\n", "127.0.1.1 h1\n"))


@fault("a host whose name is no address of its own", "h1", "host names", "BAD", r"own name h1 is 10\.77\.3\.9, which is no address of this machine",
       r"/etc/hosts")
def foreign_own_name(lab):
    yield from hosts_file(lab, "h1", lambda text: text.replace("10.77.0.1 h1\n", "10.77.3.9 h1\n"))


@fault("a name that does not resolve on one host", "h2", "host names", "BAD", r"host h4 does not resolve", r"a line `ADDRESS h4` in /etc/hosts")
def unknown_name(lab):
    yield from hosts_file(lab, "h2", lambda text: text.replace("10.77.0.4 h4\n", ""))


@fault("a name that leads to another host", "", "host names", "BAD", r"h4 is 10\.77\.0\.3 on h2, but h4 has no such address", r"line of h4 in /etc/hosts of h2",
       quick=True)
def wrong_name(lab):
    yield from hosts_file(lab, "h2", lambda text: text.replace("10.77.0.4 h4\n", "10.77.0.3 h4\n"))


@fault("two hosts of one name", "", "host names", "BAD", r"h1 and h2 call themselves h1", r"hostnamectl set-hostname", also=("fabric file", "certificates"))
def same_name(lab):
    with lab.before("h2", ["unshare", "-u", "sh", "-ec", 'hostname h1; exec "$@"', "sh"]):
        yield {}


# Ports

@fault("a port where nobody listens", "h1", "daemon ports", "BAD", r"sharp_am at manager:6127 is refused", r"start the daemon on manager", also=("sharp_am",),
       quick=True)
def refused_port(_):
    yield {"manager": "manager:6127"}


def address_of(lab, node):
    return re.search(rf"^\s+node\s+{node}\s+(\S+)", subprocess.run([lab.sumac, "lab", "status", "--name", lab.name], capture_output=True, text=True,
                                                                  check=True).stdout, re.MULTILINE)[1]


@fault("a firewall before a node", "h1", "daemon ports", "BAD", r"sharp_an an-leaf1 at \S+ does not answer: a firewall", r"nft add rule .* tcp dport \d+ accept")
def filtered_port(lab):
    with filtered(lab, "an-leaf1", "tcp flags & (syn|ack) == syn drop"):
        yield {}


@fault("no route to a node", "h4", "daemon ports", "BAD", r"sharp_an an-leaf1 at \S+ can't be reached", r"ip route get 10\.77\.0\.6")
def no_route(lab):
    address = address_of(lab, "an-leaf1")
    lab.run("h4", "ip", "route", "add", "unreachable", address)
    try:
        yield {}
    finally:
        lab.run("h4", "ip", "route", "del", "unreachable", address)


# Nodes and the fabric file

@fault("two processes of one node", "h4", "node names", "BAD", r"node an-leaf1 runs here \(pid \d+\), but the manager knows it at 10\.77\.0\.6", r"--name NODE",
       quick=True)
def two_nodes(lab):
    twin = lab.folder / "twin"
    twin.mkdir(exist_ok=True)
    for name in ("ca.crt", "node-an-leaf1.crt", "node-an-leaf1.key"):
        (twin / name).write_text(lab.run("an-leaf1", "cat", f"/run/sumac/tls/{name}"))
        (twin / name).chmod(0o600)
    daemon = lab.start("h4", [lab.build / "bin" / "sharp_an", "--name", "an-leaf1", "--manager", "manager:6126", "--device", "lab0", "--tls-dir", twin],
                       "is registered already")
    try:
        yield {}
    finally:
        lab.stop(daemon)


def fabric_without(lab, change):
    path = lab.folder / "fabric.yaml"
    path.write_text(change(lab.fabric.read_text()))
    return {"fabric": path}


@fault("a host that the fabric file lacks", "", "fabric file", "BAD", r"has no host h4", r"add `h4: \{leaf: SWITCH\}` below `hosts:`", quick=True)
def missing_host(lab):
    yield fabric_without(lab, lambda text: text.replace("h[3-4]", "h3"))


@fault("a node that stands twice in the fabric file", "", "fabric file", "BAD", r"fabric\.yaml: the name an-leaf1 is used twice", r"sumac fabric show")
def node_twice(lab):
    yield fabric_without(lab, lambda text: text.replace("  an-leaf2: {switch: leaf2}", "  an-leaf1: {switch: leaf2}"))


# TCP settings

def setting(name, value, words):
    def change(lab):
        before = lab.run("h2", "sysctl", "-n", name).strip()
        lab.run("h2", "sysctl", "-q", "-w", f"{name}={value}")
        try:
            yield {}
        finally:
            lab.run("h2", "sysctl", "-q", "-w", f"{name}={before}")
    pattern = re.escape(f"{name} = {value}") + ".*" + words
    fault(f"{name} = {value}", "h2", "TCP settings", "note", pattern, rf"sysctl -w {re.escape(name)}=", also=("settings",))(change)
    return change


setting("net.ipv4.tcp_window_scaling", "0", "64 KiB are under way")
setting("net.ipv4.tcp_sack", "0", "a lost packet")
setting("net.ipv4.tcp_moderate_rcvbuf", "0", "do not grow")
setting("net.ipv4.ip_no_pmtu_disc", "1", "path")
setting("net.ipv4.tcp_rmem", "4096 65536 262144", "256 KiB under way")
setting("net.ipv4.tcp_wmem", "4096 16384 131072", "128 KiB under way")
setting("net.core.somaxconn", "128", "wait a second")
setting("net.ipv4.ip_local_port_range", "40000 41000", "1001 ports")
setting("net.ipv4.ip_local_port_range", "1024 60999", "6126")


@fault("a setting that differs", "", "settings", "note", r"tcp_slow_start_after_idle differs: 1: h\[1-3\]; 0: h4", r"sysctl -w \S+=.1.` on h4")
def differs(lab):
    lab.run("h4", "sysctl", "-q", "-w", "net.ipv4.tcp_slow_start_after_idle=0")
    try:
        yield {}
    finally:
        lab.run("h4", "sysctl", "-q", "-w", "net.ipv4.tcp_slow_start_after_idle=1")


# The machine

@fault("a small /dev/shm", "h3", "/dev/shm", "note", r"^1 MiB free", r"remount,size=1g /dev/shm", quick=True)
def small_shm(lab):
    with lab.shell("h3", "mount -t tmpfs -o size=1m tmpfs /dev/shm"):
        yield {}


@fault("processors that are hidden", "h3", "processors", "note", r"1 of \d+ online", r"taskset -p")
def hidden_processors(lab):
    if os.cpu_count() == 1:
        raise NotHere("one processor cannot be hidden")
    with lab.before("h3", ["taskset", "-c", "0"]):
        yield {}


@fault("few open files", "h3", "open files", "note", r"limit 512 \(at most 512\)", r"limits\.conf")
def few_files(lab):
    with lab.before("h3", ["sh", "-ec", 'ulimit -n 512; exec "$@"', "sh"]):
        yield {}


def in_cgroup(lab, controller, limits):
    """The doctor of h3 in a cgroup of its own, whose file system is mounted in its mounts alone."""
    folder, group = lab.folder / "cgroup", f"{lab.name}-{controller}"
    folder.mkdir(exist_ok=True)
    table = pathlib.Path("/proc/cgroups").read_text()
    version_1 = re.search(rf"^{controller}\s+[1-9]", table, re.MULTILINE)
    mount = f"mount -t cgroup -o {controller} none {folder}" if version_1 else f"mount -t cgroup2 none {folder}"
    writes = "\n".join(f"echo {value} > {folder}/{group}/{name}" for name, value in limits[1 if version_1 else 2].items())
    enable = "" if version_1 else f"grep -qw {controller} {folder}/cgroup.subtree_control"
    try:
        lab.run("h3", "unshare", "-m", "sh", "-ec", f"{mount}\n{enable}\nmkdir {folder}/{group}")
    except AssertionError as why:
        raise NotHere(f"no cgroup can be made for {controller}: {str(why)[-160:]}") from why
    try:
        with lab.shell("h3", f"{mount}\n{writes}\necho $$ > {folder}/{group}/cgroup.procs"):
            yield {}
    finally:
        lab.run("h3", "unshare", "-m", "sh", "-ec", f"{mount}\nuntil rmdir {folder}/{group} 2>/dev/null; do [ -e {folder}/{group} ] || break; done")


@fault("a cgroup that grants half a processor", "h3", "processors", "note", r"quota grants 0\.5", r"--cpus N")
def cpu_quota(lab):
    yield from in_cgroup(lab, "cpu", {1: {"cpu.cfs_quota_us": 50000}, 2: {"cpu.max": '"50000 100000"'}})


@fault("a cgroup that grants 128 MiB", "h3", "memory", "note", r"the cgroup grants 128 MiB", r"--memory")
def memory_limit(lab):
    yield from in_cgroup(lab, "memory", {1: {"memory.limit_in_bytes": 128 << 20}, 2: {"memory.max": 128 << 20}})


@fault("no MPI", "h2", "MPI", "BAD", r"no mpirun in PATH", r"apt-get install openmpi-bin", also=("versions",))
def no_mpi(lab):
    with lab.before("h2", ["env", "PATH=/nowhere"]):
        yield {}


# Versions

@fault("a host with another version of Sumac", "", "versions", "note", r"Sumac: \S+: h\[1,3-4\]; 0\.0\.9: h2", r"on h2", also=("versions",), quick=True)
def other_host(lab):
    lab.state["program"]["h2"] = str(lab.build / "tests" / "sumac-other-version")
    try:
        yield {}
    finally:
        del lab.state["program"]["h2"]


def sharpds(lab):
    return json.loads(lab.run("h1", lab.build / "bin" / "sharp_cmd", "topology", "--json", "--manager", "manager:6126"))["sharpds"]


def second_sharpd(lab, program, more=()):
    """A second sharpd on h4; returns when the manager knows it."""
    before = sharpds(lab)
    daemon = lab.start("h4", [program, "--host", "h4", "--socket", "/run/sumac/other.sock", "--manager", "manager:6126",
                              "--tls-dir", "/run/sumac/tls", "--log-level", "3", *more], "listens at")
    end = time.monotonic() + 30
    while sharpds(lab) == before:
        if time.monotonic() > end:
            raise AssertionError("the manager does not know the second sharpd of h4 after 30 s")
    return daemon


@fault("a daemon of another version", "h1", "versions", "note", r"sharpd is 0\.0\.9 on 1 hosts \(h4\)", r"install one version everywhere")
def other_daemon(lab):
    daemon = second_sharpd(lab, lab.build / "tests" / "sharpd-other-version")
    try:
        yield {}
    finally:
        lab.stop(daemon)


@fault("a library of another build", "", "versions", "note", r"libsharp_coll\.so: file \w+: h\[1-2,4\]; file \w+: h3", r"install Sumac again on h3")
def other_library(lab):
    real = (lab.build / "lib" / "libsharp_coll.so").resolve()
    copy = lab.folder / "libsharp_coll.so"
    shutil.copy(real, copy)
    with open(copy, "ab") as file:
        file.write(b"\0")
    with lab.shell("h3", f"mount --bind {copy} {real}"):
        yield {}


# Certificates. The doctor finds another authority than the manager's, which it says too.

ANOTHER_AUTHORITY = ("sharp_am", "node names", "daemon ports", "certificates")


def pki(lab, days, at=None):
    """Makes an authority and the certificate of host h1, at another time if that is said."""
    folder = lab.folder / "pki"
    shutil.rmtree(folder, ignore_errors=True)
    clock = []
    if at:
        need("faketime")
        clock = ["faketime", at]
    for words in (["init", folder], ["issue", "--days", str(days), folder, "host", "h1"]):
        subprocess.run([*clock, lab.sumac, "pki", *words], check=True, capture_output=True)
    return folder


def with_pki(lab, folder):
    return lab.before("h1", ["env", f"SUMAC_TLS_DIR={folder}"])


@fault("a certificate that ends in 5 days", "h1", "certificates", "note", r"host-h1\.crt ends in [45] days", r"sumac pki issue --renew DIR host h1",
       also=ANOTHER_AUTHORITY, quick=True)
def certificate_ends(lab):
    with with_pki(lab, pki(lab, 5)):
        yield {}


@fault("a certificate that has ended", "h1", "certificates", "BAD", r"host-h1\.crt ended on", r"sumac pki issue --renew DIR host h1", also=ANOTHER_AUTHORITY)
def certificate_ended(lab):
    with with_pki(lab, pki(lab, 30, "-1 year")):
        yield {}


@fault("a certificate that is not yet valid", "h1", "certificates", "BAD", r"host-h1\.crt is valid from .* on only", r"set this host's clock",
       also=ANOTHER_AUTHORITY)
def certificate_early(lab):
    with with_pki(lab, pki(lab, 300, "+10 days")):
        yield {}


@fault("a key that others may read", "h1", "certificates", "BAD", r"host-h1\.key may be read or changed by others \(mode 0644\)", r"chmod 600", also=ANOTHER_AUTHORITY)
def open_key(lab):
    folder = pki(lab, 300)
    (folder / "host-h1.key").chmod(0o644)
    with with_pki(lab, folder):
        yield {}


@fault("a certificate under the name of another host", "h1", "certificates", "BAD", r"host-h2\.crt is for host h1", r"copy host-h2\.crt", also=ANOTHER_AUTHORITY)
def renamed_certificate(lab):
    folder = pki(lab, 300)
    shutil.copy(folder / "host-h1.crt", folder / "host-h2.crt")
    with with_pki(lab, folder):
        yield {}


@fault("a certificate of another authority", "h1", "certificates", "BAD", r"host-h1\.crt: it is not of the authority beside it", r"one `sumac pki` directory",
       also=ANOTHER_AUTHORITY)
def mixed_authorities(lab):
    folder = pki(lab, 300)
    (folder / "ca.crt").write_text(lab.run("h1", "cat", "/run/sumac/tls/ca.crt"))
    with with_pki(lab, folder):
        yield {}


@fault("a token that others may read", "h4", "certificates", "BAD", r"/token may be read or changed by others \(mode 0644\)", r"chmod 600 \S+/token")
def open_token(lab):
    token = lab.folder / "token"
    token.write_text("0123456789abcdef0123456789abcdef\n")
    token.chmod(0o600)
    daemon = second_sharpd(lab, lab.build / "bin" / "sharpd", ["--metrics-listen", "127.0.0.1:0", "--metrics-token", token])
    try:
        token.chmod(0o644)
        yield {}
    finally:
        lab.stop(daemon)


# Hosts and daemons that do not answer

@fault("a host that is not there", "", "host h9", "BAD", r"launcher ended with .*h9", r"must work without a question", also=("host names", "fabric file"))
def unknown_host(_):
    yield {"hosts": "h[1-4],h9"}


@fault("a host that does not answer", "", "host h3", "BAD", r"no answer within 3 s", r"is the host on\?")
def silent_host(lab):
    lab.state["silent"].append("h3")
    try:
        yield {"more": ["--timeout", "3"]}
    finally:
        lab.state["silent"].remove("h3")


@fault("a sharpd that is stopped", "h2", "sharpd", "BAD", r"is there, but sharpd does not answer", r"kill -CONT")
def stopped_sharpd(lab):
    pid = lab.pid("sharpd h2")
    os.kill(pid, 19)
    try:
        yield {}
    finally:
        os.kill(pid, 18)


# The last one: it can't be undone.
@fault("a node that ended", "h1", "node names", "BAD", r"not registered at the manager: an-leaf2", r"sharp_an --name NODE", also=("daemon ports",))
def ended_node(lab):
    os.kill(lab.pid("sharp_an an-leaf2"), 15)
    while next(one["alive"] for one in lab.status()["daemons"] if one["name"] == "sharp_an an-leaf2"):
        pass
    yield {}
