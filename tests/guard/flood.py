#!/usr/bin/env python3
"""Strangers without end come to a node's port: connected, with 1 byte, greeted, with half a hello, with a hello of an unknown job, with
half a proof; 2,000 connections a second. Four honest ranks add up meanwhile: none fails, and they are at most twice as slow as with the
same flood at another program's port."""

import collections
import os
import re
import socket
import statistics
import time

import common
import wire

RATE = 2000  # connections a second
HELD = 1500  # open at once: the oldest go first, if the node has not closed them
RANKS = 4


def words_of_strangers(tree_id):
    greeting = wire.greeting()
    hello = wire.frame(wire.FRAME_DATA, wire.agg(wire.HELLO, wire.hello(role=wire.NODE, number=2), tree_id=tree_id))
    unknown = wire.frame(wire.FRAME_DATA, wire.agg(wire.HELLO, wire.hello(424242), tree_id=tree_id))
    half_proof = wire.frame(wire.FRAME_DATA, wire.agg(wire.PROOF, bytes(32), tree_id=tree_id))[:50]
    return [b"", b"S", greeting, greeting + hello[:60], greeting + unknown, greeting + hello + half_proof]


def flood(port, seconds, tree_id, go):
    """Returns the number of connections made."""
    os.nice(19)
    room = min(common.many_descriptors(HELD + 100) - 100, HELD)
    kinds = words_of_strangers(tree_id)
    held, made = collections.deque(), 0
    os.write(go, b"!")
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < seconds:
        if made >= passed * RATE:
            time.sleep(0.001)
            continue
        link = socket.socket()
        link.setblocking(False)
        try:
            link.connect(("127.0.0.1", port))
        except BlockingIOError:
            pass
        except OSError:
            link.close()
            continue
        try:
            link.send(kinds[made % len(kinds)])
        except OSError:
            pass  # still connecting, or closed again: it counts
        made += 1
        held.append(link)
        if len(held) > room:
            held.popleft().close()
    return made


def listen_without_a_word(go):
    """Plays another program's port: it accepts connections and bytes, and answers nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1024)
        listener.settimeout(20)
        os.write(go, b"%d\n" % listener.getsockname()[1])
        held = collections.deque()
        while True:
            try:
                held.append(listener.accept()[0])
            except TimeoutError:
                return
            if len(held) > 512:
                held.popleft().close()


def dummy():
    heard, said = os.pipe()
    stranger = common.Stranger(listen_without_a_word, said)
    os.close(said)
    with os.fdopen(heard) as port:
        return stranger, int(port.readline())


def one_turn(house, port, seconds, tree_id):
    """Runs four ranks for so long under a flood at this port; returns (p99 in us, ranks that failed, strangers)."""
    steady = common.ground.Steady(RANKS, {"SHARP_COLL_SHARPD_SOCKET_NAME": str(house.socket), "STEADY_BUSY": "1"})
    flooder = common.begun(flood, port, seconds, tree_id)
    made = flooder.result(seconds + 60)
    code, out, err = steady.end()
    slow = [int(us) for us in re.findall(r"99 of 100 within (\d+) us", steady.head + out)]
    failed = RANKS - len(slow)
    if failed or code != 0:
        print(steady.head + out + err, flush=True)
    return max(slow, default=0), max(failed, int(code != 0)), made


def attack(rows, args):
    seconds, turns = (4.5, 7) if args.long else (2, 1)
    common.many_descriptors(16384)
    house = common.House("flood", descriptors=16384)
    tree_id = int(house.says("sharp_an", r"tree 1: id 0x([0-9a-f]+)")[1], 16)
    listener, elsewhere = dummy()
    control, flooded, failures, strangers = [], [], 0, 0
    try:
        for _ in range(turns):
            control.append(one_turn(house, elsewhere, seconds, tree_id)[0])
            p99, failed, made = one_turn(house, house.node_port, 2 * seconds, tree_id)
            flooded.append(p99)
            failures += failed
            strangers += made
    finally:
        listener.end()
    bound = re.findall(r"memory: at most (\d+) bytes", house.log("sharp_an"))
    peak = common.memory_of(house.processes["sharp_an"], "VmHWM")
    print(f"p99 in us, flood elsewhere {control}, flood at the node {flooded}; {strangers} strangers", flush=True)
    rows.add("flood: honest ranks that failed", f"of {RANKS * turns}", failures, 0)
    rows.add("flood: p99, median of turns, by the control's", "x", statistics.median(flooded) / max(1, statistics.median(control)), 2)
    rows.add("flood: the node's memory", "bytes", peak, int(bound[-1]) if bound else 0)
    done = house.job()
    rows.add("flood: an honest job failed afterwards", "exit status", done.code, 0)
    house.close()


common.main(attack, __doc__)
