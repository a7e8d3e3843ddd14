#!/usr/bin/env python3
"""An ordinary user begins jobs of 65,535 hosts at sharpd, names all hosts but the last, and begins the next; he ends his processes then.
Neither sharpd's memory nor a job of another user suffers."""

import socket
import time

import common
import tenant

HOSTS = 65535
EACH = 15  # names in one message
GROWTH = 48 << 20  # one user makes sharpd keep no more
KEPT = 16 << 20  # after his processes have ended


def collect(path, jobs, seconds):
    """Begins so many jobs on one connection, as far as sharpd accepts them; returns the names sent."""
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.settimeout(20)
    peer.connect(path)
    names = b"".join(f"{'h' * 50}{at:05}".encode().ljust(64, b"\0") for at in range(EACH))
    sent, until = 0, time.monotonic() + seconds

    def say(kind, job, body=b"", index=0, total=0, entries=0):
        peer.send((tenant.HEAD.pack(0x4853, 1, kind, index, total, entries, job) + body).ljust(tenant.MESSAGE, b"\0"))

    try:
        say(tenant.ATTACH, 0, tenant.struct.pack("<IIII", 0, HOSTS, 0, 0))
        for job in range(1, jobs + 1):
            say(tenant.BEGIN, job, tenant.struct.pack("<8IQII256s", *tenant.Quota(), 0, 0, 0, HOSTS, HOSTS, b""))
            for index in range(0, HOSTS - EACH, EACH):
                if time.monotonic() > until:
                    return sent
                say(tenant.HOST, job, names, index=index, total=HOSTS, entries=EACH)
                sent += EACH
    except OSError:
        pass  # sharpd closed the connection
    return sent


def attack(rows, args):
    processes, jobs, seconds = (16, 64, 30) if args.long else (4, 4, 5)
    house = common.House("unfinished-jobs")
    sharpd = house.processes["sharpd"]
    before = common.memory_of(sharpd)
    strangers = [common.Stranger(collect, str(house.socket), jobs, seconds) for _ in range(processes)]
    sent = sum(one.result(seconds + 60) for one in strangers)
    rows.add(f"unfinished jobs: memory, {sent} names sent", "bytes", max(0, common.memory_of(sharpd, "VmHWM") - before), GROWTH)
    rows.add("unfinished jobs: an honest job failed", "exit status", house.job().code, 0)
    rows.add("unfinished jobs: memory kept", "bytes", max(0, common.memory_of(sharpd) - before), KEPT)
    house.close()


common.main(attack, __doc__)
