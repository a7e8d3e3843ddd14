"""A stranger listens at a dead node's port, answers like a node, keeps the received bytes, and sends them elsewhere in order to pass for
their sender."""

import hmac
import os
import socket
import struct
import threading
import time

import common
import tenant
import wire

FABRIC = """name: two
switches: [top, low]
links: [{a: low, b: top}]
hosts: {localhost: {leaf: low}}
nodes: {an-root: {switch: top}, an-leaf: {switch: low}}
root: an-root
"""


class Tree(common.House):
    """A root with one leaf below it; a restarted node gets its former port and log."""

    def __init__(self, name, **more):
        super().__init__(name, node=False, sharpd=False, fabric=FABRIC, **more)
        self.ports = {}
        for node in ("an-root", "an-leaf"):
            self.stand(node)
        common.until(lambda: "connected to the parent an-root" in self.log("an-leaf"), "the leaf is connected")
        self.start_sharpd()

    def stand(self, node):
        """Starts one of several nodes, as start_node() does."""
        port = self.ports.get(node, 0)
        self.start("sharp_an", "--name", node, "--manager", self.manager, "--listen", f"127.0.0.1:{port}", "--log-level", "3", *self.clear_text)
        self.processes[node] = self.processes.pop("sharp_an")
        os.rename(self.folder / "sharp_an.log", self.folder / f"{node}.log")
        self.ports[node] = int(common.re.findall(r"listens on tcp:127\.0\.0\.1:(\d+)", self.log(node))[-1])

    def close(self):
        for node in ("an-leaf", "an-root"):
            if node in self.processes:
                self.kill(node, common.signal.SIGTERM)
        super().close()


# ---- at the port


def serve(port, seconds, go):
    """Claims towards every caller to be this node; returns (the bytes of each, in hex, with the tree's id; how many sent more than hello)."""
    heard, believed, workers = [], set(), []
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(64)
        os.write(go, b"!")
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            listener.settimeout(left)
            try:
                child, _ = listener.accept()
            except TimeoutError:
                break
            child.settimeout(max(0.05, end - time.monotonic()))
            workers.append(threading.Thread(target=converse, args=(wire.Link.adopt(child), len(workers), heard, believed)))
            workers[-1].start()
    for worker in workers:
        worker.join()
    return heard, len(believed)


def converse(link, number, heard, believed):
    """Answers as a node that has proven itself would."""
    try:
        link.read_frame()
        link.socket.sendall(wire.frame(wire.FRAME_WELCOME, struct.pack("<HHI", 1, 0, 1 << 20)))
        head, hello = link.read()
        if head.kind != wire.HELLO:
            return
        said = [head.tree_id, hello.hex()]
        heard.append(said)
        if struct.unpack_from("<H", hello, 36)[0] == 0:
            welcome = struct.pack("<Q16sIIHHI", 0, bytes(16), wire.NODE, 1, 1, 3, 0)
        else:
            guess = (os.urandom(32), bytes(32), 2 * hello[8:24])[number % 3]
            welcome = struct.pack("<16s32sIIHHI", hello[8:24], guess, wire.NODE, 1, 1, 3, 0)
        link.send(wire.WELCOME, welcome, tree_id=head.tree_id)
        while True:
            head, body = link.read()
            believed.add(number)
            said[1] += body.hex()
            lie(link, head, body)
    except OSError:
        pass
    finally:
        link.close()


def lie(link, head, body):
    """Pretends that a group stands at once, and answers 1000 for every number."""
    common_fields = {"tree_id": head.tree_id, "group_id": head.group_id}
    if head.kind == wire.OPEN:
        link.send(wire.OPENED, body[:16] + struct.pack("<II", 1 << 16 | 1, 0), tree_id=head.tree_id)
    elif head.kind == wire.JOIN:
        osts, window, payload, chunk = struct.unpack_from("<4I", body, 32)
        answer = struct.pack("<Q6I", *struct.unpack_from("<Q", body), osts, window, payload, chunk, 0, 1)
        link.send(wire.JOINED, answer, version=head.version, flags=head.flags, **common_fields)
    elif head.kind == wire.CONTRIBUTE:
        link.send(wire.RESULT, struct.pack("<q", 1000) * (len(body) // 8), version=head.version, sequence=head.sequence, coll=head.coll, op=head.op,
                  dtype=head.dtype, flags=head.flags & (tenant.FIRST | tenant.LAST), count=head.count, first=head.first, **common_fields)


# ---- elsewhere, with the received bytes


def greet(port, tree_id, hello, keys):
    """Yields a link whose hello the node answered, one for each of the keys to prove it with."""
    for key in keys:
        try:
            link = wire.Link(port)
            link.send(wire.HELLO, hello, tree_id=tree_id)
            head, welcome = link.read()
            if head.kind != wire.WELCOME:
                continue
            link.send(wire.PROOF, wire.proof(key, tree_id, hello, welcome, f"tcp:127.0.0.1:{port}"), tree_id=tree_id)
            yield link
        except OSError:
            pass


def guesses(said):
    """Returns the possible keys in the received bytes: every 16 bytes that begin at a word."""
    return [said[at : at + 16] for at in range(0, len(said) - 15, 8)]


def says_it_again(said, role, number):
    """Returns the hello of another sender, with received bytes where the key once was."""
    job = struct.unpack_from("<Q", said)[0]
    return wire.hello(job if role == wire.CLIENT else 0, said[8:24], role, number)


def passes(port, tree_id, said_hex, role, number, job, key_hex=None):
    """Returns whether the node gives answers about a job to a stranger that claims to be this rank or node, with received bytes or with the
    key."""
    said = bytes.fromhex(said_hex)
    keys = guesses(said) if key_hex is None else [bytes.fromhex(key_hex)]
    for link in greet(port, tree_id, says_it_again(said, role, number), keys):
        try:
            link.send(wire.OPEN, struct.pack("<QQII", job, 1, 1, 0), tree_id=tree_id)
            head, answer = link.read()
            if head.kind == wire.OPENED or head.kind == wire.REFUSED and answer[32] == wire.OPEN:
                return True
        except OSError:
            pass
    return False


def must_pass(*words):
    """Checks with the right key that the same words are accepted, so that a refusal is due to the key."""
    if not passes(*words):
        raise AssertionError("not even the right key opens the door")


def adds_1000(port, tree_id, heard, group, chain, job, end, go):
    """Joins, as node 77, the forming group of another user's job for its rank 1 and contributes 1000; returns how often that was accepted."""
    joined, links = 0, []
    for said_hex in heard:
        said = bytes.fromhex(said_hex)
        for link in greet(port, tree_id, says_it_again(said, wire.NODE, 77), guesses(said)):
            links.append(link)
            try:
                link.socket.settimeout(1)
                link.send(wire.JOIN, tenant.join_body(job, chain, 1, 1, 2), tree_id=tree_id, group_id=group)
                while (answer := link.read()[0].kind) not in (wire.JOINED, wire.REFUSED):
                    pass
                if answer == wire.JOINED:
                    joined += 1
                    link.send(wire.CONTRIBUTE, struct.pack("<f", 1000), tree_id=tree_id, group_id=group, coll=tenant.ALLREDUCE, op=2, dtype=4,
                              flags=tenant.FIRST | tenant.LAST, count=1, origin=1, members=1)
            except OSError:
                pass
    os.write(go, b"!")
    os.read(end, 1)  # the links stay open until the test ends them
    return joined


def pair_key(own, tree_id, child, parent):
    """Returns the key of a node and its parent, made from the parent's own (docs/reference.md)."""
    return hmac.digest(own, b"sumac pair v1  \n" + struct.pack("<III", tree_id, child, parent), "sha256")[:16]
