#!/usr/bin/env python3
"""Jobs take unequal turns at a node. 60 connections of one job ask for groups without end while another job asks for one; 16 groups
of a job with a tenth of the quota leave the next job's window whole; and only as many groups may stream as the node has stream slots."""

import os
import socket
import statistics
import time

import common
import tenant
import wire

CHUNK = 64 << 10


def flood(path, end, tell):
    """Sends Opens on 60 connections, as fast as the node accepts them, until stopped; the answers are discarded."""
    job = tenant.Job(path, 7, ranks=60)
    links = [job.member(rank).link.socket for rank in range(60)]
    questions = b"".join(
        wire.frame(wire.FRAME_DATA, wire.agg(wire.OPEN, wire.struct.pack("<QQII", job.number, 1 + token, 2, 0), tree_id=job.tree_id))
        for token in range(2000))
    at = [0] * len(links)
    os.set_blocking(end, False)
    for link in links:
        link.setblocking(False)
    asked, begun = 0, False
    while True:
        try:
            if os.read(end, 1):
                return asked * 2000 // len(questions)
        except BlockingIOError:
            pass
        for rank, link in enumerate(links):
            try:
                while len(link.recv(1 << 20)) == 1 << 20:
                    pass
            except BlockingIOError:
                pass
            try:
                sent = link.send(memoryview(questions)[at[rank] :])
            except BlockingIOError:
                continue
            at[rank] = (at[rank] + sent) % len(questions)
            asked += sent
        if not begun and asked > 20 * len(questions):
            begun = True
            os.write(tell, b"!")


def opens(house, during):
    """Returns the seconds of each question of a lone member of another job, which asks one after the other for so long."""
    job = tenant.Job(house.socket, 9, quota=tenant.Quota(groups=2))
    seconds, start = [], time.monotonic()
    end = start + during
    try:
        member = job.member()
        member.link.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while (start := time.monotonic()) < end:
            if member.open(1, 1) == 0:
                raise AssertionError("no group left")
            seconds.append(time.monotonic() - start)
    except TimeoutError:
        seconds.append(time.monotonic() - start)
    job.dies()
    return seconds


def streams(path, number, groups, window, contribute):
    """Makes groups of one member; returns their windows, and how many streamed one chunk."""
    job = tenant.Job(path, number, ranks=groups, features=tenant.SAT)
    windows, streamed, kept = [], 0, [job]
    for turn in range(groups):
        member = job.member(turn)
        kept.append(member)
        group = member.open(turn + 1, 1)
        member.join(group, 0, 1, osts=1, window=window, chunk=CHUNK)
        joined = member.joined()
        windows.append(joined[1] if joined else 0)
        if contribute and windows[-1] > 0:
            try:
                member.contribute(group, 0, 0, data=bytes(CHUNK), flags=tenant.FIRST | tenant.LAST | tenant.STREAMING, seconds=10)
                streamed += member.expect(wire.RESULT)[0].kind == wire.RESULT
            except (OSError, AssertionError):
                pass
    return windows, streamed, kept


def attack(rows, args):
    house = common.House("job-turns", words={"sharp_an": ["--memory", "64MiB"]})
    quiet = opens(house, 0.2)
    end, done = os.pipe()
    stranger = common.begun(flood, str(house.socket), end)
    waited = opens(house, 10 if args.long else 2)
    os.write(done, b"e")
    print(f"job-turns: {stranger.result()} questions of the flood; alone {1e3 * statistics.median(quiet):.2f} ms, "
          f"beside it median {1e3 * statistics.median(waited):.2f}, longest {1e3 * max(waited):.1f} ms", flush=True)
    rows.add("job-turns: another job's Open beside a flood", "s, the longest", max(waited), 0.5)
    house.close()
    house = common.House("f13w", words={"sharp_an": ["--memory", "64MiB"]})
    first, _, kept = streams(house.socket, 11, 16, 16, False)
    second, _, more = streams(house.socket, 12, 1, 16, False)
    print(f"job-turns: windows {first}, then {second}", flush=True)
    rows.add("job-turns: chunks that the next job's window lacks", "of 16", 16 - second[0], 0)
    house.close()
    del kept, more
    house = common.House("f13s", words={"sharp_an": ["--streams", "2"]})
    _, streamed, kept = streams(house.socket, 13, 5, 2, True)
    rows.add("job-turns: groups that stream without a place", "of 3", max(0, streamed - 2), 0)
    del kept
    house.close()


if __name__ == "__main__":
    common.main(attack, __doc__)
