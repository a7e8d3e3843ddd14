#!/usr/bin/env python3
"""Bad input, a row each: handshakes with a node, certificates, and files and directories of others. The connection or the start is refused,
one clear line gives the reason, however often it is tried, and a job that runs meanwhile is not affected. Expired certificates, which
the tools do not issue, are in tests/daemons/security_test.cpp."""

import os
import re
import select
import shutil
import socket
import ssl

import subprocess

import common
import grpc_wire as g
import tenant
import wire

TRIES = 20


# ---- handshakes, by an ordinary user who may have the job's key


class Stranger:
    """A connection that has sent hello and received the welcome."""

    def __init__(self, port, number, tree_id, address):
        self.tree_id, self.address = tree_id, address
        self.link = wire.Link(port)
        self.hello = wire.hello(number, os.urandom(16))
        self.link.send(wire.HELLO, self.hello, tree_id=tree_id)
        head, self.welcome = self.link.read()
        if head.kind != wire.WELCOME:
            raise AssertionError(f"message {head.kind} instead of a welcome")

    def proof(self, key, address=None):
        return wire.proof(key, self.tree_id, self.hello, self.welcome, address or self.address)

    def say(self, body):
        self.link.send(wire.PROOF, body, tree_id=self.tree_id)

    def is_sent_away(self):
        """Returns whether the node closes the connection, also when the stranger goes on and asks for a group."""
        try:
            self.link.send(wire.OPEN, bytes(24), tree_id=self.tree_id)
            while True:
                self.link.read()
        except TimeoutError:
            return False
        except OSError:
            return True


def replayed(one, another, key):
    """Sends one connection's proof, which is good there, on another connection too."""
    good = one.proof(key)
    one.say(good)
    another.say(good)


SAYS = {
    "a wrong key": lambda one, another, key: another.say(another.proof(os.urandom(16))),
    "a replayed proof": replayed,
    "a proof for another connection": lambda one, another, key: another.say(one.proof(key)),
    "a proof for a node at another address": lambda one, another, key: another.say(another.proof(key, "tcp:127.0.0.1:9")),
    "the node's own proof said back": lambda one, another, key: another.say(another.welcome[16:48]),
    "half a proof": lambda one, another, key: another.say(another.proof(key)[:16]),
    "no proof": lambda one, another, key: None,
}
LINES = {"half a proof": r"not the size of this kind's body", "no proof": r"hello is followed by the proof"}


def handshakes(name, port, number, tree_id, address, key_hex):
    """Returns how many of the tries were sent away."""
    gone = 0
    for _ in range(TRIES):
        one, another = (Stranger(port, number, tree_id, address) for _ in range(2))
        SAYS[name](one, another, bytes.fromhex(key_hex))
        gone += another.is_sent_away()
        one.link.close()
        another.link.close()
    return gone


def cut_short(port, number, tree_id):
    """Sends half a hello in a whole frame, and half a frame with nothing after it."""
    gone = 0
    for _ in range(TRIES):
        hello = wire.hello(number, os.urandom(16))
        for said in (wire.frame(wire.FRAME_DATA, wire.agg(wire.HELLO, hello[:20], tree_id=tree_id)),
                     wire.frame(wire.FRAME_DATA, wire.agg(wire.HELLO, hello, tree_id=tree_id))[:60]):
            link = wire.Link(port)
            link.socket.sendall(said)
            link.socket.shutdown(socket.SHUT_WR)
            try:
                while link.socket.recv(4096):
                    pass
                gone += 1
            except TimeoutError:
                pass
            except OSError:
                gone += 1
            link.close()
    return gone


class Scene:
    """Daemons with a job that runs while bad input comes."""

    def __init__(self, name, **more):
        self.house = common.House(re.sub(r"\W+", "-", name), **more)
        self.job = self.house.steady()

    def ends(self, rows, name, program, line, kept, of):
        """Adds the rows: `kept` connections of `of` were not refused, and the lines of the program's log about them."""
        found = [said for said in self.house.log(program).splitlines() if re.search(line, said)]
        rows.add(f"bad-input {name}: not refused", f"of {of}", kept, 0)
        rows.add(f"bad-input {name}: lines but for the one", "lines", abs(len(found) - 1), 0)
        code, out, err = self.job.end()
        rows.add(f"bad-input {name}: the job beside it failed", "exit status", int(code != 0 or "WRONG" in out + err), 0)
        self.house.close()


def at_the_node(rows):
    for name in (*SAYS, "a truncated handshake"):
        scene = Scene(name)
        job = tenant.Job(scene.house.socket, 9)
        if name in SAYS:
            words = (handshakes, name, job.port, job.number, job.tree_id, job.address, job.key.hex())
            line, of = LINES.get(name, "it does not have the key of its job"), TRIES
        else:
            words, line, of = (cut_short, job.port, job.number, job.tree_id), r"not the size of this kind's body", 2 * TRIES
        kept = of - common.Stranger(*words).result()
        scene.ends(rows, name, "sharp_an", line, kept, of)


# ---- certificates


def authority(name, *more):
    """Makes a directory with the files of every role, and the authority's key."""
    folder, fabric = common.ground.SCRATCH / name, common.ground.SCRATCH / f"{name}.yaml"
    fabric.write_text(common.ground.FABRIC, encoding="utf-8")
    for words in (("init", folder, "--fabric", fabric), *(("issue", folder, *who) for who in more)):
        subprocess.run([common.BIN / "sumac", "pki", *words], check=True, stdout=subprocess.DEVNULL)
    return folder


def registers(endpoint, folder, who, said, ours):
    """Returns whether the manager accepts the caller, which shows the certificate `who` of the folder (None: no certificate) and sends
    `said` after the greeting."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_REQUIRED
    context.load_verify_locations(ours / "ca.crt")
    context.set_alpn_protocols(["h2"])
    if who is not None:
        context.load_cert_chain(folder / f"{who}.crt", folder / f"{who}.key")
    try:
        connection = g.Connection(endpoint)
        connection.socket = context.wrap_socket(connection.socket)
        connection.greet()
        connection.send(said)
        while True:
            kind, flags, _, _ = connection.read()
            if kind == g.DATA:
                return True
            if kind == g.GOAWAY or kind == g.HEADERS and flags & g.END_STREAM:
                return False
    except OSError:  # ssl.SSLError is an OSError too
        return False


def at_the_manager(rows):
    ours, theirs = authority("ours", ("node", "spare")), authority("theirs")
    words = {program: ("--tls-dir", ours) for program in ("sharp_am", "sharp_an", "sharpd")}
    node = g.call("Node") + g.message(g.node_registers("node"))
    host = g.call("Host") + g.message(g.host_registers("localhost"))
    handshake = "turned away at the TLS handshake"
    for name, folder, who, said, line in (
            ("a host's certificate, as a node", ours, "host-localhost", node, "its certificate is for host localhost"),
            ("a node's certificate, as a host", ours, "node-node", host, "its certificate is for node node"),
            ("a node's certificate, as another node", ours, "node-spare", node, "its certificate is for node spare"),
            ("a certificate of another authority", theirs, "node-node", node, handshake),
            ("no certificate", ours, None, node, handshake)):
        scene = Scene(name, listen="127.0.0.1:0", words=words, clear_text=False)
        kept = sum(registers(scene.house.manager, folder, who, said, ours) for _ in range(TRIES))
        scene.ends(rows, name, "sharp_am", line, kept, TRIES)


# ---- files and directories


def listens(path, kind, end, go):
    """Listens with a stranger's own socket at the path; returns (callers, bytes that they sent)."""
    with socket.socket(socket.AF_UNIX, kind) as listener:
        listener.bind(path)
        os.chmod(path, 0o666)
        listener.listen(16)
        os.write(go, b"!")
        callers = got = 0
        while True:
            ready = select.select([listener, end], [], [])[0]
            if listener not in ready:
                return [callers, got]
            caller, _ = listener.accept()
            callers += 1
            caller.settimeout(5)
            try:
                got += len(caller.recv(4096))
            except OSError:
                pass


def one_line(rows, name, command, says, env=None, ours=r""):
    """`ours` selects the lines that count if a program writes others too."""
    done = common.ground.start(command, env, 20)
    lines = [line for line in done.err.strip().splitlines() if re.search(ours, line)]
    print(f"bad-input {name}: {' / '.join(lines)}", flush=True)
    rows.add(f"bad-input {name}: began all the same", "programs", int(done.code == 0), 0)
    rows.add(f"bad-input {name}: lines but for the one", "lines", abs(len(lines) - 1) + int(not re.search(says, done.err)), 0)


def at_a_strangers(rows, path, kind, *words, **more):
    """Adds the rows of a program that is led to a socket which a stranger has bound."""
    end, done = os.pipe()
    stranger = common.begun(listens, str(path), kind, end)
    name, command = words
    one_line(rows, name, command, f"user {common.UID} listens at", **more)
    os.write(done, b"e")
    callers, told = stranger.result()
    rows.add(f"bad-input {name}: told", f"bytes, in {callers} calls", told, 0)


def at_the_start(rows):
    readable, house = authority("readable"), common.House("start")
    for key in readable.glob("*.key"):
        key.chmod(0o644)
    theirs = common.ground.SCRATCH / "theirs-sockets"
    theirs.mkdir()
    os.chown(theirs, common.UID, common.UID)
    fabric, listen = house.folder / "fabric.yaml", "127.0.0.1:0"
    tls = ("--listen", listen, "--tls-dir", readable)
    ours = ("--tls-ca", readable / "ca.crt", "--tls-cert", readable / "host-localhost.crt", "--tls-key", shutil.copy(readable / "host-localhost.key", house.folder / "host.key"))
    os.chmod(house.folder / "host.key", 0o600)
    open_key, other_role = "others may read", "it is for host localhost, this is node node"
    one_line(rows, "a manager's key that others may read", [common.BIN / "sharp_am", "--fabric", fabric, *tls], open_key)
    one_line(rows, "a node's key that others may read", [common.BIN / "sharp_an", "--name", "node", *tls], open_key)
    one_line(rows, "a host's key that others may read", [common.BIN / "sharpd", "--host", "localhost", "--socket", house.folder / "s", "--tls-dir", readable], open_key)
    one_line(rows, "a node with a host's certificate", [common.BIN / "sharp_an", "--name", "node", "--listen", listen, *ours], other_role)
    one_line(rows, "a manager's socket in another's directory", [common.BIN / "sharp_am", "--fabric", fabric, "--listen", f"unix:{theirs}/am.sock"],
             f"{theirs} belongs to user {common.UID}")
    one_line(rows, "sharpd's socket in another's directory", [common.BIN / "sharpd", "--host", "localhost", "--manager", house.manager, "--socket", theirs / "sharpd.sock"],
             f"{theirs} belongs to user {common.UID}")
    at_a_strangers(rows, theirs / "am.sock", socket.SOCK_STREAM, "a question to another's manager",
                   [common.BIN / "sharp_cmd", "jobs", "--manager", f"unix:{theirs}/am.sock"])
    at_a_strangers(rows, theirs / "sharpd.sock", socket.SOCK_SEQPACKET, "a rank at another's sharpd", [common.BIN / "example-allreduce", "1", "10"],
                   env={"SHARP_COLL_SHARPD_SOCKET_NAME": str(theirs / "sharpd.sock")}, ours=" ERROR ")
    rows.add("bad-input an honest job failed", "exit status", house.job().code, 0)
    house.close()


def attack(rows, _args):
    at_the_node(rows)
    at_the_manager(rows)
    at_the_start(rows)


if __name__ == "__main__":
    common.main(attack, __doc__)
