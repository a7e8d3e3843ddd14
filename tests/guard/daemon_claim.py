#!/usr/bin/env python3
"""An ordinary user claims to be an aggregation node, also by hanging up at once: the kernel reports a connection that its process has
closed as root's."""

import socket
import struct
import threading

import common
import grpc_wire as g

FABRIC = common.ground.FABRIC.replace("nodes: {node: {switch: s}}", "nodes: {node: {switch: s}, absent: {switch: s}}")


def in_good_order(endpoint):
    connection = g.Connection(endpoint)
    connection.greet()
    connection.send(g.call("Node") + g.message(g.node_registers("absent")))
    try:
        while connection.read()[0] != g.HEADERS:
            pass
    finally:
        connection.close()


# Bytes before the call and after it: the machine's load decides how many the race needs.
AMOUNTS = ((20_000, 60_000), (200_000, 60_000), (2_000_000, 600_000))


def and_hangs_up(endpoint, before, behind, abruptly):
    """Sends so much before the call that the manager still reads when the caller is gone, and so much after it that it has not read to the
    end. The manager's first bytes are read: unread ones would make the end of the connection a reset."""
    nothing = g.frame(g.UNKNOWN, 0, 0)
    connection = g.Connection(endpoint)
    connection.greet()
    if not abruptly:
        while connection.read()[:2] != (g.SETTINGS, g.ACK):
            pass
    connection.send(nothing * (before // len(nothing)) + g.call("Node") + g.message(g.node_registers("absent")) + nothing * (behind // len(nothing)))
    if abruptly:
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def tries(endpoint, rounds):
    """Runs as many at once as the race needs."""
    done = 0

    def one(which):
        nonlocal done
        try:
            in_good_order(endpoint) if which == 0 else and_hangs_up(endpoint, *AMOUNTS[which % 3], which % 5 == 0)
        except OSError:
            pass  # the manager hung up
        done += 1

    for _ in range(rounds):
        threads = [threading.Thread(target=one, args=(which,)) for which in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return done


def attack(rows, args):
    rounds = 40 if args.long else 13
    for name, listen in (("a unix socket", None), ("TCP in clear text", "127.0.0.1:0")):
        house = common.House("daemon-claim-" + ("tcp" if listen else "unix"), listen=listen, fabric=FABRIC, node=False, sharpd=False)
        made = common.Stranger(tries, house.manager, rounds).result(120)
        assert made >= 200, made
        house.start_node()  # an honest node registers after all of them: their calls have been handled
        rows.add(f"daemon-claim: node registered by a stranger, {name}", f"of {made} tries", house.log("sharp_am").count("node absent registered"), 0)
        rows.add(f"daemon-claim: honest node turned away, {name}", "nodes", int("node node registered" not in house.log("sharp_am")), 0)
        house.close()


common.main(attack, __doc__)
