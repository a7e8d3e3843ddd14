#!/usr/bin/env python3
"""One user's programs neither fill sharpd nor keep it from starting: each user has a share of its connections, a client that never sends
attach loses its connection within seconds, and only the owner may open the lock file of the start."""

import fcntl
import os
import socket
import subprocess
import struct
import time

import common
import tenant

CROWD = 4200  # sharpd takes 4096 connections
MEMBER, JOB = 12, 5
DEPARTED = 1100  # sharpd watches 1024 processes that closed their connection
OTHER = 65533  # another ordinary user
SILENCE = 20  # seconds; sharpd allows 5, and this machine may be busy


def connected(path):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.connect(path)  # connect() waits if many connect at once
    peer.settimeout(20)
    return peer


def hold_and_wait(path, go):
    """Connects without end and sends nothing; then counts the open connections, until none is left or the time is over."""
    room = common.many_descriptors(CROWD + 50) - 50
    peers = [connected(path) for _ in range(min(CROWD, room))]
    os.write(go, b"!")
    end = time.monotonic() + SILENCE
    while peers and time.monotonic() < end:
        left = []
        for peer in peers:
            peer.setblocking(False)
            try:
                peer.recv(64)  # the end; sharpd has nothing to send to us
            except BlockingIOError:
                left.append(peer)
            except ConnectionError:
                pass
        peers = left
        time.sleep(0.2)
    return len(peers)


def attached(path, world_rank):
    peer = connected(path)
    head = tenant.HEAD.pack(0x4853, 1, tenant.ATTACH, 0, 0, 0, 0)
    peer.send((head + struct.pack("<IIII", world_rank, CROWD, 0, 0)).ljust(tenant.MESSAGE, b"\0"))
    peer.recv(tenant.MESSAGE)
    head = tenant.HEAD.pack(0x4853, 1, MEMBER, 0, 0, 0, JOB)
    peer.send((head + struct.pack("<II16s", world_rank, 0, b"k" * 16)).ljust(tenant.MESSAGE, b"\0"))
    return peer


def depart(path, ranks, go):
    """Becomes a member of a job so often, and closes each connection without leaving the job; the process goes on."""
    for rank in ranks:
        attached(path, rank).close()
    os.write(go, b"!")
    common.hold()


def hold_lock(folder, go):
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.write(go, b"!")
    common.hold()


def attack(rows, _args):
    common.many_descriptors(8192)  # sharpd inherits our limit of descriptors
    house = common.House("sharpd-places", manager=False, node=False, sharpd=False)
    house.start_sharpd()
    crowd = common.begun(hold_and_wait, str(house.socket))
    turned_away = 0
    for _ in range(10):
        with connected(str(house.socket)) as peer:
            peer.settimeout(1)
            try:
                turned_away += peer.recv(64) == b""
            except TimeoutError:
                pass
            except ConnectionError:
                turned_away += 1
    rows.add(f"sharpd-places: {CROWD} of a user: another user's turned away", "of 10", turned_away, 0)
    rows.add(f"sharpd-places: silent ones still there after {SILENCE} s", "clients", crowd.result(100), 0)
    many = common.begun(depart, str(house.socket), range(DEPARTED))
    one = common.begun(depart, str(house.socket), [CROWD - 1], uid=OTHER)
    before = house.descriptors_of("sharpd")
    one.end()
    try:
        house.says("sharpd", f"rank {CROWD - 1} of job {JOB} died", 10)
        untold = 0
    except AssertionError:
        untold = 1
    rows.add(f"sharpd-places: {DEPARTED} departed ranks of a user: another's death is not told", "ranks", untold, 0)
    rows.add("sharpd-places: descriptors held for departed ranks of a user", "descriptors", before, 400)
    many.end()
    house.kill("sharpd")

    lock = common.begun(hold_lock, str(house.folder))
    command = [common.BIN / "sharpd", "--host", "localhost", "--manager", house.manager, "--socket", house.socket, "--ready-fd", "1"]
    with common.ground.processes.start(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=common.ground.environment()) as process:
        said = process.stdout.readline()
        process.kill()
    rows.add("sharpd-places: kept from starting by a stranger's lock", "daemons", int(said != b"ready\n"), 0)
    lock.end()


common.main(attack, __doc__)
