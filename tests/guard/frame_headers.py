#!/usr/bin/env python3
"""A header alone, the begin of a frame, takes the whole buffer. At a node with chunks of 1 MiB an ordinary user makes 1,072
connections of 24 bytes each: the greeting, and the header of a message of 1 MiB, or smaller near the end, whose rest never comes. Then
the user does the same after the proofs of an own job, as often as the node accepts it. Meanwhile a hello is answered."""

import os
import re
import socket
import struct
import time

import common
import tenant
import wire

CROWD = 1072
LATE = 10.0
SIZES = [1 << 20] * 1024 + [64 << 10] * 15 + [4 << 10] * 4 + [1 << 10] * 6 + [200] * (CROWD - 1049)
BEGUN = [struct.pack("<HBBI", 0x4653, wire.FRAME_DATA, 0, size) for size in SIZES]


def begin(port, count, end, go):
    """Opens so many strangers' connections, each with the first 24 bytes; they stay as long as the node allows."""
    common.many_descriptors(count + 50)
    links = []
    for begun in BEGUN[:count]:
        try:
            link = socket.create_connection(("127.0.0.1", port), timeout=20)
            link.sendall(wire.greeting() + begun)
            links.append(link)
        except OSError:
            pass  # the node refused the connection
    os.write(go, b"!")
    os.read(end, 1)
    return len(links)


def begin_as_tenant(path, count, end, go):
    """Starts so many members of the user's job, each in the middle of a message, as far as the node accepts them."""
    common.many_descriptors(count + 50)
    job = tenant.Job(path, 7, ranks=count)
    members = []
    try:
        for rank in range(count):
            members.append(job.member(rank))
            members[-1].link.socket.sendall(BEGUN[rank])
    except OSError as why:
        print(f"frame-headers: member {len(members)}: {why}", flush=True)
    os.write(go, b"!")
    os.read(end, 1)
    return len(members)


def answered(job):
    """Returns the seconds until a member of the job is welcome."""
    start = time.monotonic()
    while time.monotonic() < start + LATE:
        try:
            job.member()
            return time.monotonic() - start
        except (OSError, AssertionError):
            time.sleep(0.05)
    return LATE


def attack(rows, _args):
    common.many_descriptors(3 * CROWD)
    house = common.House("frame-headers", descriptors=4 * CROWD, words={"sharp_an": ["--chunk-max", "1MiB"]})
    job = tenant.Job(house.socket, 9)
    end, done = os.pipe()
    for name, crowd, where in (("strangers", begin, house.node_port), ("members of another user's job", begin_as_tenant, str(house.socket))):
        stranger = common.begun(crowd, where, CROWD, end)
        rows.add(f"frame-headers: hello beside begun messages of {name}", "s until it is answered", answered(job), 2.0)
        os.write(done, b"e")
        print(f"frame-headers: {stranger.result()} of {CROWD} {name}", flush=True)
    bound = int(re.findall(r"memory: at most (\d+) bytes", house.log("sharp_an"))[-1])
    rows.add("frame-headers: the node's memory", "bytes", common.memory_of(house.processes["sharp_an"], "VmHWM"), bound)
    rows.add("frame-headers: an honest job failed", "exit status", house.job().code, 0)
    house.close()


if __name__ == "__main__":
    common.main(attack, __doc__)
