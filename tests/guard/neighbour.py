#!/usr/bin/env python3
"""neighbour: a job never reads, opens groups without end, asks for every quota and dies in the middle of an operation. Another user's job
gets its default quota at once, the same user's after at most 30 s. Long form: also the honest job's p99 is at most 2 x a quiet control."""

import os
import time

import common
import tenant
import wire

CHUNK = 64 << 10


def bad(path, tell, end, long):
    os.nice(19)  # its use of the processors is not under test
    job = tenant.everything(path)
    members = [job.member(rank) for rank in range(16)]
    os.write(tell, b"r")
    groups, token, stop = 0, 0, False
    os.set_blocking(end, False)
    while not stop:
        try:
            stop = bool(os.read(end, 1))
        except BlockingIOError:
            pass
        for rank, member in enumerate(members):
            token += 1
            try:
                group = member.open(token, 1)
                if group:
                    groups += 1
                    member.join(group, 0, 1, osts=4)
                    if member.joined() is not None:
                        for number in range(3):
                            member.contribute(group, number, 0, data=bytes(128))
                        member.link.send(wire.CONTRIBUTE, b"", tree_id=job.tree_id, group_id=group, sequence=3, coll=tenant.BARRIER, origin=0, members=1)
            except (OSError, AssertionError):
                members[rank] = revived(job, rank)
        if not long and groups:
            break
    job.dies()  # in the middle of an operation: no member has left
    start = time.monotonic()
    os.write(tell, b"d")
    return {"groups": groups, "seconds": tenant.granted_after(path, 8, start) if long else 0}


def revived(job, rank):
    try:
        return job.member(rank)
    except (OSError, AssertionError):
        time.sleep(0.05)  # it is sent away for now; a single refusal is no failure
        return job.member(rank)


def attack(rows, args):
    house = common.House("neighbour")
    seconds = 10 if args.long else 1
    quiet = tenant.latencies(house, 20, seconds)
    heard, tell = os.pipe()
    end, done = os.pipe()
    stranger = common.Stranger(bad, str(house.socket), tell, end, args.long)
    os.close(tell)
    if os.read(heard, 1) != b"r":
        stranger.result()
    if args.long:
        beside = tenant.latencies(house, 21, seconds)
        print(f"neighbour: p99 alone {1e6 * tenant.p99(quiet):.0f} us, beside {1e6 * tenant.p99(beside):.0f} us; {len(beside)} barriers", flush=True)
        rows.add("neighbour p99 of an honest job", "x of a quiet control", tenant.p99(beside) / tenant.p99(quiet), 2)
    os.write(done, b"e")
    if os.read(heard, 1) != b"d":
        stranger.result()
    waited = tenant.granted_after(house.socket, 22, time.monotonic(), patience=0)
    rows.add("neighbour another user's default quota", "s until it is granted", waited, 2.5)
    got = stranger.result(120)
    print(f"neighbour: {got}", flush=True)
    if args.long:
        rows.add("neighbour the same user's default quota", "s until it is granted", got["seconds"], 31)
    house.close()


if __name__ == "__main__":
    common.main(attack, __doc__)
