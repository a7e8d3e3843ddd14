#!/usr/bin/env python3
"""Strangers cannot fill a log: their rubbish makes a line a minute with a count, and a log that was moved away is opened again on SIGHUP."""

import os
import re
import signal
import socket
import time

import common
import grpc_wire
import tenant
import wire

TRIES = 300


def rubbish_at_node(port):
    """Sends messages that no rank would send, each on a connection of its own."""
    sent = 0
    for _ in range(TRIES):
        try:
            link = wire.Link(port)
            link.send(wire.CONTRIBUTE, group_id=77)
            link.read()
            return 0
        except ConnectionError:
            sent += 1
    return sent


def silence_at_node(port):
    """Sends a greeting and nothing more; returns when the node has closed all connections."""
    links = [wire.Link(port, seconds=60) for _ in range(20)]
    closed = 0
    for link in links:
        try:
            link.read()
        except (ConnectionError, TimeoutError) as end:
            closed += not isinstance(end, TimeoutError)
    return closed


def rubbish_at_sharpd(path):
    sent = 0
    for _ in range(TRIES):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
            peer.connect(path)
            peer.settimeout(20)
            peer.send(b"rubbish")
            try:
                sent += peer.recv(64) == b""
            except ConnectionError:
                sent += 1
    return sent


def unreadable_at_manager(endpoint):
    """Registers under a name that is no text of UTF-8: libprotobuf cannot read such a message and writes a line about it itself."""
    connection = grpc_wire.Connection(endpoint)
    connection.greet()
    for at in range(TRIES):
        stream = 2 * at + 1
        connection.send(grpc_wire.call("Node", stream) + grpc_wire.message(grpc_wire.node_registers(b"\xff\xfe"), stream, True))
        while True:
            kind, flags, of, _ = connection.read()
            if of == stream and (kind == grpc_wire.RESET or flags & grpc_wire.END_STREAM):
                break
    return TRIES


def refused_begins(path):
    """Begins jobs that no quota allows, one after the other; returns how many were refused."""
    refused = 0
    for at in range(TRIES // 3):
        try:
            tenant.Job(path, 7 + at, quota=tenant.Quota(osts=1 << 20))
        except tenant.Refused:
            refused += 1
    return refused


def lines_about(log, words, since):
    return sum(bool(re.search(words, line)) for line in log[since:].splitlines())


def attack(rows, _args):
    house = common.house_with_open_manager("log-flood")
    # An ordinary user starts a daemon of the same name, as often as possible.
    daemon = [str(common.BIN / "sharp_an"), "--name", "node", "--manager", house.manager, "--listen", "127.0.0.1:0"]
    minutes = [time.monotonic()]

    def limit():
        """Returns the allowed lines: one of each kind for each minute begun."""
        return 2 + int((time.monotonic() - minutes[0]) / 60)

    for name, program, function, words, told in (
            ("node", "sharp_an", rubbish_at_node, (house.node_port,), "127.0.0.1:"),
            ("node, silent", "sharp_an", silence_at_node, (house.node_port,), "it did not prove its identity"),
            ("sharpd", "sharpd", rubbish_at_sharpd, (str(house.socket),), "uid 65534"),
            ("manager", "sharp_am", common.try_program, (daemon, 8), "rejected a caller")):
        before = len(house.log(program))
        sent = common.Stranger(function, *words).result(100)
        lines = lines_about(house.log(program), told, before)
        rows.add(f"log-flood: {name}: lines about {sent} strangers", "lines", lines, limit())
        rows.add(f"log-flood: {name}: no line at all", "daemons", int(sent > 0 and lines == 0), 0)

    before = len(house.log("sharp_am"))
    sent = common.Stranger(unreadable_at_manager, house.manager).result(100)
    rows.add(f"log-flood: manager: bytes about {sent} names of no text", "bytes", len(house.log("sharp_am")) - before, 1000)

    before = {program: len(house.log(program)) for program in ("sharp_am", "sharpd")}
    sent = common.Stranger(refused_begins, str(house.socket)).result(100)
    for program, allowed in (("sharp_am", 4), ("sharpd", 3)):
        rows.add(f"log-flood: {program}: lines about {sent} jobs that were refused", "lines", lines_about(house.log(program), "job", before[program]), allowed)
    rows.add("log-flood: no job was refused", "users", int(sent == 0), 0)

    moved = common.House("log-flood-moved", node=False, sharpd=False,
                         words={program: ["--log-file", f"{common.ground.SCRATCH}/log-flood-moved/{program}.log"] for program in ("sharp_am", "sharp_an", "sharpd")})
    moved.start_node()
    moved.start_sharpd()
    for program in ("sharp_am", "sharp_an", "sharpd"):
        path = moved.folder / f"{program}.log"
        os.rename(path, moved.folder / f"{program}.log.1")
        moved.processes[program].send_signal(signal.SIGHUP)
        try:
            common.until(lambda path=path: "SIGHUP" in common.ground.read(path).decode(), "the new file", 10)
            missing = 0
        except AssertionError:
            missing = 1
        rows.add(f"log-flood: {program} writes on to a log that was moved away", "files", missing, 0)


common.main(attack, __doc__)
