#!/usr/bin/env python3
"""Strangers use up a daemon's descriptors while it must reach its manager anew: it refuses them and lives (gRPC ends a process that has
none left)."""

import os
import re
import signal
import socket

import common

LIMIT = 256
STRANGERS = 400


def hold(family, kind, address, go):
    common.many_descriptors(1024)
    peers = []
    for _ in range(STRANGERS):
        peer = socket.socket(family, kind)
        peer.setblocking(False)
        peer.connect_ex(tuple(address) if isinstance(address, list) else address)
        peers.append(peer)
    os.write(go, b"!")
    signal.pause()


def attack(rows, _args):
    house = common.House("descriptors", descriptors=LIMIT)
    held = [common.begun(hold, socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", house.node_port)),
            common.begun(hold, socket.AF_UNIX, socket.SOCK_SEQPACKET, str(house.socket))]
    for program, words in (("sharp_an", "no room for another connection|displaced by others before it proved its identity"), ("sharpd", "no room for another client|as many clients as one user may have")):
        house.says(program, words, 20)
    house.kill("sharp_am")
    house.start_manager()
    def is_back(program):
        dead = house.processes[program].poll() is not None
        words = {"sharp_an": "node node registered", "sharpd": "the manager at .* is back"}[program]
        return dead or re.search(words, house.log("sharp_am") + house.log(program))

    for program in ("sharp_an", "sharpd"):
        common.until(lambda program=program: is_back(program), f"{program} is back or dead: {house.log(program)}", 30)
        rows.add(f"descriptors: {program} died", "daemons", int(house.processes[program].poll() is not None), 0)
    for stranger in held:
        stranger.end()


common.main(attack, __doc__)
