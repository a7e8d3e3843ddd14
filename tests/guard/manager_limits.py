#!/usr/bin/env python3
"""An ordinary user opens streams at the manager without end, and asks for its status without end."""

import time

import common
import grpc_wire as g

STREAMS, LIMIT = 200, 64
ASKED, RATE = 300, 10


def streams(endpoint):
    """Returns how many of the streams stay open, on as many connections as the manager accepts."""
    connections, begun, ended = [], 0, 0
    for _ in range(4):
        connection = g.Connection(endpoint)
        connection.greet()
        connections.append(connection)
        for i in range(STREAMS // 4):
            connection.send(g.call("Host", 2 * i + 1))
            begun += 1
    until = time.monotonic() + 20
    for connection in connections:
        connection.socket.settimeout(0.1)
    while begun - ended > LIMIT and time.monotonic() < until:
        for connection in connections:
            try:
                while True:
                    kind, flags, stream, _ = connection.read()
                    ended += stream != 0 and kind == g.HEADERS and flags & g.END_STREAM != 0
            except TimeoutError:
                continue
    return begun - ended


def status(endpoint):
    """Returns how many answers exceed those that the time allows."""
    connection = g.Connection(endpoint)
    connection.greet()
    start, answers = time.monotonic(), 0
    for i in range(ASKED):
        connection.send(g.call("Status", 2 * i + 1) + g.message(b"", 2 * i + 1, True))
        while True:
            kind, flags, stream, _ = connection.read()
            answers += kind == g.DATA and stream == 2 * i + 1
            if stream == 2 * i + 1 and (kind == g.RESET or flags & g.END_STREAM):
                break
    allowed = RATE + RATE * (time.monotonic() - start)
    return max(0, answers - int(allowed) - 1)


def attack(rows, _args):
    house = common.house_with_open_manager("manager-limits")
    rows.add("manager-limits: streams that a stranger holds", f"of {STREAMS}", common.Stranger(streams, house.manager).result(), LIMIT)
    rows.add("manager-limits: answers beyond 10 a second", f"of {ASKED}", common.Stranger(status, house.manager).result(), 0)
    rows.add("manager-limits: an honest job failed", "exit status", house.job().code, 0)
    asked = [common.ground.start([common.BIN / "sharp_cmd", "jobs", "--manager", house.manager]).code for _ in range(20)]
    rows.add("manager-limits: root was not answered", "of 20", sum(code != 0 for code in asked), 0)
    house.close()


common.main(attack, __doc__)
