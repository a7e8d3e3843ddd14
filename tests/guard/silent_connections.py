#!/usr/bin/env python3
"""Silent connections block no node: those that only sent a greeting, a hello without proof, or half a message are closed within seconds,
and meanwhile an honest job finds room for its connections."""

import os
import socket
import struct
import time

import common
import wire

CROWD = 4096
PATIENCE = 20  # seconds; a node allows 5, and this machine may be busy


def hold(port, count, bytes_hex, go):
    """Opens so many connections that send these bytes and nothing more; returns how many still exist after PATIENCE."""
    room = common.many_descriptors(count + 50) - 50
    links, said = [], bytes.fromhex(bytes_hex)
    for _ in range(min(count, room)):
        try:
            link = socket.create_connection(("127.0.0.1", port), timeout=20)
            link.sendall(said)
            links.append(link)
        except OSError:
            pass  # a connection that is refused counts as gone
    os.write(go, b"!")
    end = time.monotonic() + PATIENCE
    while links and time.monotonic() < end:
        left = []
        for link in links:
            link.setblocking(False)
            try:
                while link.recv(4096):
                    pass
            except BlockingIOError:
                left.append(link)
            except OSError:
                pass
        links = left
        time.sleep(0.2)
    return len(links)


def tree_id_of(house):
    return int(house.says("sharp_an", r"tree 1: id 0x([0-9a-f]+)")[1], 16)


def attack(rows, args):
    count = CROWD if args.long else 1200
    common.many_descriptors(3 * CROWD)
    house = common.House("silent-connections", descriptors=2 * CROWD, words={"sharp_an": ["--chunk-max", "1MiB"]})
    greeting = wire.greeting()
    tree_id = tree_id_of(house)
    said = {
        "silent": greeting,
        "with a hello of an unknown job": greeting + wire.frame(wire.FRAME_DATA, wire.agg(wire.HELLO, wire.hello(4242), tree_id=tree_id)),
        "with a hello of a node": greeting + wire.frame(wire.FRAME_DATA, wire.agg(wire.HELLO, wire.hello(0, role=wire.NODE, number=2), tree_id=tree_id)),
        "in a message without end": greeting + struct.pack("<HBBI", 0x4653, wire.FRAME_DATA, 0, 1 << 20),
    }
    for name, words in said.items():
        crowd = common.begun(hold, house.node_port, count, words.hex())
        done = house.job()
        rows.add(f"silent-connections: {name}: an honest job failed", "exit status", done.code, 0)
        rows.add(f"silent-connections: {name}: of {count} there after {PATIENCE} s", "links", crowd.result(PATIENCE + 60), 0)
    house.close()


common.main(attack, __doc__)
