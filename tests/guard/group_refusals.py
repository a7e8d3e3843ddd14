#!/usr/bin/env python3
"""A peer without a key makes the tree's root remember refusals, for jobs that do not exist. An ordinary user asks for thousands
of groups: of jobs that were never begun, without a key, and of a job of the user's own, which has no group left. The answers that the
root remembers for another user's groups stay, a job that begins later gets its groups, and the node's memory does not grow."""

import os
import socket
import struct

import common
import tenant
import wire

OPENS = 10000  # the root once remembered 4096
EACH = 25  # Opens that one connection brings
LATER = 4242  # a job that begins after its tokens have been asked for
TOKENS = range(1, 9)
GROWTH = 1 << 20


def ask_for(port, tree_id, job, opens):
    """Sends hello for this job and asks for groups, without a proof and without end; returns how many Opens the node accepted."""
    hello = wire.frame(wire.FRAME_DATA, wire.agg(wire.HELLO, wire.hello(job, os.urandom(16)), tree_id=tree_id))
    taken = 0
    for first in range(1, opens + 1, EACH):
        bodies = (struct.pack("<QQII", job, token, 1, 0) for token in range(first, first + EACH))
        said = b"".join(wire.frame(wire.FRAME_DATA, wire.agg(wire.OPEN, body, tree_id=tree_id)) for body in bodies)
        with socket.create_connection(("127.0.0.1", port), 10) as link:
            link.sendall(wire.greeting() + hello + said)
            taken += refusals(link)
    return taken


def refusals(stranger):
    """Returns how many Opens are answered before the node hangs up or has answered all."""
    link = wire.Link.adopt(stranger)
    count = 0
    try:
        link.read_frame()
        while count < EACH:
            head, body = link.read()
            count += head.kind == wire.REFUSED and body[32] == wire.OPEN
    except OSError:
        pass
    return count


def ask_as_tenant(path, opens):
    """Uses a job of the user's own, with one group: every further Open is refused, and remembered for a while."""
    member = tenant.Job(path, 7, quota=tenant.Quota(osts=1, groups=1)).member()
    refused = 0
    for first in range(1, opens + 1, EACH):
        for token in range(first, first + EACH):
            member.link.send(wire.OPEN, struct.pack("<QQII", 7, token, 1, 0), tree_id=member.job.tree_id)
        for _ in range(EACH):
            refused += member.expect(wire.OPENED, wire.REFUSED)[0].kind == wire.REFUSED
    return refused


def past(member, token):
    """Returns the id of a group that has stood and left."""
    group = member.open(token, 1)
    member.join(group, 0, 1)
    if member.joined() is None:
        raise AssertionError("the group does not stand")
    member.contribute(group, 0, 0, coll=tenant.LEAVE)
    member.expect(wire.RESULT)
    return group


def attack(rows, args):
    opens = 10 * OPENS if args.long else OPENS
    house = common.House("group-refusals")
    node, job = house.processes["sharp_an"], tenant.Job(house.socket, 9)
    member = job.member()
    answers = {token: past(member, token) for token in TOKENS}
    changed = lambda: sum(member.open(token, 1) != group for token, group in answers.items())  # noqa: E731

    if changed() != 0:
        raise AssertionError("the root does not remember what it answered")
    warm = min(opens, 500)  # memory of the first links is no growth
    common.Stranger(ask_for, house.node_port, job.tree_id, 3, warm).result()
    before = common.memory_of(node)
    taken = common.Stranger(ask_for, house.node_port, job.tree_id, LATER, opens).result(120)
    print(f"group-refusals: {taken} of {opens} Opens without a key were answered", flush=True)
    rows.add("group-refusals: answers to others pushed out, without a key", f"of {len(answers)}", changed(), 0)
    common.Stranger(ask_for, house.node_port, job.tree_id, LATER, EACH).result()  # the last token that was refused
    late = tenant.Job(house.socket, LATER).member()
    rows.add("group-refusals: groups of a later job refused beforehand", f"of {len(TOKENS)}", sum(late.open(token, 1) == 0 for token in TOKENS), 0)
    rows.add("group-refusals: memory of the node, grown", "bytes", max(0, common.memory_of(node) - before), GROWTH)
    refused = common.Stranger(ask_as_tenant, str(house.socket), OPENS).result(120)
    print(f"group-refusals: {refused} of {OPENS} Opens of a job without a group left", flush=True)
    rows.add("group-refusals: answers to others pushed out, by another job", f"of {len(answers)}", changed(), 0)
    rows.add("group-refusals: an honest job failed", "exit status", house.job().code, 0)
    house.close()


if __name__ == "__main__":
    common.main(attack, __doc__)
