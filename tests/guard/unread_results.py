#!/usr/bin/env python3
"""Unread results fill a node's memory, and other jobs stand still. At a node with 64 MiB an ordinary user's job makes one group
after the other, each of two members: both contribute chunks of 64 KiB, one of them never reads. Then another user's two honest members
add up 10 chunks."""

import os
import time

import common
import tenant
import wire

CHUNK = 64 << 10
GROUPS = 18
EACH = 64
READS_NOTHING = {"receive_buffer": 4096}


def rank_of(job, rank, **of_link):
    member = job.member(rank, **of_link)
    member.link.socket.settimeout(1)
    return member


def drain(member, results):
    """Reads until so many results have come, or nothing more comes."""
    seen = 0
    try:
        while seen < results:
            if member.expect(wire.RESULT, wire.VERDICT, wire.OVER)[0].kind != wire.RESULT:
                break
            seen += 1
    except (OSError, AssertionError):
        pass
    return seen


def fill(path, end, tell):
    """Makes many groups that leave results unread; returns how many stood."""
    job = tenant.Job(path, 7, ranks=2 * GROUPS, quota=tenant.Quota(osts=128, groups=64), features=tenant.SAT)
    data = bytes(CHUNK)
    stood, kept = 0, []
    for turn in range(GROUPS):
        honest, liar = rank_of(job, 2 * turn), rank_of(job, 2 * turn + 1, **READS_NOTHING)
        kept += [honest, liar]
        group = honest.open(turn + 1, 2)
        if group == 0:
            break
        for rank, member in enumerate((honest, liar)):
            member.join(group, rank, 2, osts=1, window=job.window, chunk=CHUNK)
        if honest.joined() is None or liar.joined() is None:
            break
        stood += 1
        try:
            for number in range(EACH):
                for rank, member in enumerate((honest, liar)):
                    member.contribute(group, number, rank, data=data, flags=tenant.FIRST | tenant.LAST | tenant.STREAMING)
                if drain(honest, 1) == 0:
                    break
            for rank, member in enumerate((honest, liar)):
                member.contribute(group, EACH, rank, coll=tenant.LEAVE)
        except OSError:
            pass  # the node may end a link
    os.write(tell, b"!")
    os.read(end, 1)
    return stood


def honest(path, chunks=10, seconds=6):
    """Runs two members of another job; returns how many of their chunks are added up in time."""
    job = tenant.Job(path, 9, ranks=2, features=tenant.SAT)
    members = [rank_of(job, rank) for rank in range(2)]
    group = members[0].open(1, 2)
    for rank, member in enumerate(members):
        member.join(group, rank, 2, osts=1, window=job.window, chunk=CHUNK)
    windows = [member.joined() for member in members]
    if None in windows or windows[0][1] == 0:
        print(f"unread-results: another job's group got {windows}", flush=True)
        return 0
    end, done = time.monotonic() + seconds, 0
    try:
        for number in range(chunks):
            for rank, member in enumerate(members):
                member.contribute(group, number, rank, data=bytes(CHUNK), flags=tenant.FIRST | tenant.LAST | tenant.STREAMING, seconds=seconds)
            for member in members:
                member.expect(wire.RESULT)
            if time.monotonic() > end:
                break
            done += 1
    except OSError as why:
        print(f"unread-results: chunk {done}: {why}", flush=True)
    return done


def attack(rows, _args):
    house = common.House("unread-results", words={"sharp_an": ["--memory", "64MiB"]})
    end, done = os.pipe()
    stranger = common.begun(fill, str(house.socket), end)
    added = honest(house.socket)
    rows.add("unread-results: another job's chunks that stood still", "of 10", 10 - added, 0)
    os.write(done, b"e")
    print(f"unread-results: {stranger.result()} of {GROUPS} groups stood", flush=True)
    gave_up = house.log("sharp_an").count("of results unread, more than its windows allow")
    rows.add("unread-results: members that read nothing and kept their links", "members", int(gave_up == 0), 0)
    house.close()


if __name__ == "__main__":
    common.main(attack, __doc__)
