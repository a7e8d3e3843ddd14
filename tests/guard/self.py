#!/usr/bin/env python3
"""Tests the attacks' own tools: daemons start, a stranger is another user, a link is greeted, and a violated row is detected."""

import os

import common
import wire


def who():
    return [os.getuid(), os.geteuid(), os.getgid(), os.getgroups()]


def greeted(port):
    link = wire.Link(port)
    link.close()
    return True


def attack(rows, _args):
    house = common.House("self")
    done = house.job()
    rows.add("self: an honest job failed", "exit status", done.code, 0)
    rows.add("self: a stranger is not uid 65534", "strangers", int(common.Stranger(who).result() != [common.UID, common.UID, common.UID, []]), 0)
    rows.add("self: the node greets no stranger", "links", int(not common.Stranger(greeted, house.node_port).result()), 0)
    for number, limit, violated in ((0, 0, False), (1, 0, True), (1.5, 1.5, False), (float("nan"), 1, True)):
        row = {"case": "x", "unit": "y", "sumac": number, "limit": limit}
        assert common.exceeds(row) == violated and ("VIOLATED" in common.line_of(row)) == violated, row
    house.close()


common.main(attack, __doc__)
