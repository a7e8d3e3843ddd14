#!/usr/bin/env python3
"""An ordinary user binds a dead parent's port: the child that comes back tells him nothing by which he passes for a node, towards the child or towards
the parent when it stands again."""

import os
import re
import socket
import struct
import time

import common
import wire

FABRIC = """name: two
switches: [top, low]
links: [{a: low, b: top}]
hosts: {localhost: {leaf: low}}
nodes: {an-root: {switch: top}, an-leaf: {switch: low}}
root: an-root
"""
JOB = 4242  # which nobody has begun: that the node speaks of it at all shows that it believes us


def listen_in(port, seconds, go):
    """Listens there: returns the bodies of what children say first, and how many said more after a welcome that nobody could prove."""
    hellos, believed = [], 0
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(16)
        os.write(go, b"!")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            listener.settimeout(max(0.05, end - time.monotonic()))
            try:
                child, _ = listener.accept()
            except TimeoutError:
                break
            link = wire.Link.__new__(wire.Link)
            link.socket, link.have = child, b""
            child.settimeout(5)
            try:
                link.read_frame()
                child.sendall(wire.frame(wire.FRAME_WELCOME, struct.pack("<HHI", 1, 0, 1 << 20)))
                head, body = link.read()
                if head.kind != wire.HELLO:
                    continue
                hellos.append([head.tree_id, body.hex()])
                old = struct.unpack_from("<H", body, 36)[0] == 0
                welcome = (struct.pack("<Q16sIIHHI", 0, bytes(16), wire.NODE, 1, 1, 3, 0) if old else
                           struct.pack("<16s32sIIHHI", body[8:24], os.urandom(32), wire.NODE, 1, 1, 3, 0))
                link.send(wire.WELCOME, welcome, tree_id=head.tree_id)
                link.read()
                believed += 1
            except OSError:
                pass
            finally:
                child.close()
    return hellos, believed


def pass_for_a_node(port, tree_id, hello_hex, number):
    """Says it is node `number`, and proves it with what was heard; True where the node then speaks with us of a job."""
    heard = bytes.fromhex(hello_hex)
    old = struct.unpack_from("<H", heard, 36)[0] == 0
    body = wire.hello(0, heard[8:24], wire.NODE, number, handshake=0 if old else 2)
    try:
        link = wire.Link(port)
        link.send(wire.HELLO, body, tree_id=tree_id)
        head, welcome = link.read()
        if head.kind != wire.WELCOME:
            return False
        if not old:
            link.send(wire.PROOF, wire.proof(heard[8:24], tree_id, body, welcome, f"tcp:127.0.0.1:{port}"), tree_id=tree_id)
        link.send(wire.OPEN, struct.pack("<QQII", JOB, 1, 1, 0), tree_id=tree_id)
        head, answer = link.read()
        return head.kind == wire.OPENED or head.kind == wire.REFUSED and answer[32] == wire.OPEN
    except OSError:
        return False


def attack(rows, args):
    seconds = 30 if args.long else 6
    house = common.House("impostor-node", node=False, fabric=FABRIC)
    house.start_node("an-root")
    root, port = house.processes.pop("sharp_an"), house.node_port
    os.rename(house.folder / "sharp_an.log", house.folder / "an-root.log")
    house.start_node("an-leaf")
    house.says("sharp_an", "connected to the parent an-root")
    root.kill()
    root.wait()
    listener = common.begun(listen_in, port, seconds)
    hellos, believed = listener.result(seconds + 60)
    rows.add("impostor-node: children that came to him, none", "0 of 1", int(not hellos), 0)
    rows.add("impostor-node: children that took him for the node", "children", believed, 0)
    with open(house.folder / "an-root.log", "ab") as log:
        command = [str(word) for word in (common.BIN / "sharp_an", "--name", "an-root", "--manager", house.manager, "--listen", f"127.0.0.1:{port}")]
        house.processes["an-root"] = common.subprocess.Popen(command, stdin=common.subprocess.DEVNULL, stdout=log, stderr=log,
                                                             env=common.ground.environment(), preexec_fn=common.ground.dies_with_us)
    found = common.until(lambda: re.findall(r"tree 1: id 0x([0-9a-f]+), this node is its root", common.ground.read(house.folder / "an-root.log").decode()),
                         "the root stands again")
    tree_id = int(found[-1], 16)
    passed = sum(common.Stranger(pass_for_a_node, port, tree_id, body, number).result()
                 for _, body in hellos[:5] for number in (1, 2, 77))
    rows.add("impostor-node: passed for a node by what he heard", f"of {3 * len(hellos[:5])}", passed, 0)
    common.until(lambda: "connected to the parent an-root" in house.log("sharp_an")[-4000:], "the honest child is back")
    done = house.job()
    rows.add("impostor-node: an honest job failed afterwards", "exit status", done.code, 0)
    house.processes.pop("an-root").kill()


common.main(attack, __doc__)
