#!/usr/bin/env python3
"""A user takes the shares of all users whose ids the machine gave him for his user namespaces (/etc/subuid): the connections of sharpd and
of the manager, and the OSTs. They count as his own, so another user is served."""

import os
import socket

import common
import grpc_wire
import tenant

FIRST, COUNT = 100000, 65536
OTHER = 65533  # another ordinary user
CLIENTS, OF_USER = 32, 8
OF_MANAGER, OF_CALLER = 512, 64
GIVEN = f"nobody:{FIRST}:{COUNT}\n"


def attached(path):
    """Returns a client that sharpd serves, or None."""
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.settimeout(5)
    try:
        peer.connect(path)
        head = tenant.HEAD.pack(0x4853, 1, tenant.ATTACH, 0, 0, 0, 0)
        peer.send((head + tenant.struct.pack("<IIII", 0, 1, 0, 0)).ljust(tenant.MESSAGE, b"\0"))
        return peer if len(peer.recv(tenant.MESSAGE)) == tenant.MESSAGE else None
    except OSError:
        return None


def take_clients(path, go):
    held = [attached(path) for _ in range(2 * OF_USER)]
    os.write(go, b"!")
    common.hold(held)


def take_callers(path, go):
    held = []
    for _ in range(OF_CALLER + 8):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        peer.connect(path)
        held.append(peer)
    os.write(go, b"!")
    common.hold(held)


def take_osts(path, go):
    """Holds a job with as many OSTs as one user may have, if it is granted one."""
    held = []
    for share in (256, 128, 64, 32):
        try:
            held.append(tenant.Job(path, os.getuid(), quota=tenant.Quota(osts=64 * share, groups=share)))
            break
        except tenant.Refused:
            continue
    os.write(go, b"!")
    common.hold(held)


def is_served(path):
    return attached(path) is not None


def is_answered(endpoint):
    try:
        connection = grpc_wire.Connection(endpoint)
        connection.greet()
        connection.send(grpc_wire.call("Ping") + grpc_wire.message(b"", 1, True))
        while True:
            kind, flags, stream, _ = connection.read()
            if stream == 1 and kind == grpc_wire.DATA:
                return True
            if stream == 1 and flags & grpc_wire.END_STREAM:
                return False
    except OSError:
        return False


def is_granted(path):
    try:
        tenant.Job(path, 9)
        return True
    except (OSError, tenant.Refused) as why:
        print(f"another user's job: {why}", flush=True)
        return False


def attack(rows, _args):
    given = common.ground.SCRATCH / "subuid"
    given.write_text(GIVEN, encoding="utf-8")
    # The machine's own file stays as it is: the daemons see ours in its place.
    under = ("unshare", "--mount", "sh", "-c", f'mount --bind {given} /etc/subuid && exec "$@"', "sh")
    if not os.path.exists("/etc/subuid"):
        common.case.skip_or_fail("this machine has no /etc/subuid")
    house = common.House("subordinate", under={"sharpd": under, "sharp_am": under},
                         words={"sharpd": ["--clients-max", CLIENTS, "--user-clients-max", OF_USER]})
    for name, take, where, asks, asked, users in (
            ("OSTs", take_osts, str(house.socket), is_granted, str(house.socket), 4),
            ("sharpd's connections", take_clients, str(house.socket), is_served, str(house.socket), CLIENTS // OF_USER),
            ("the manager's connections", take_callers, house.manager[5:], is_answered, house.manager, OF_MANAGER // OF_CALLER)):
        strangers = [common.begun(take, where, uid=FIRST + at) for at in range(users)]
        rows.add(f"subordinate ids: {name}: another user is not served", "users", int(not common.Stranger(asks, asked, uid=OTHER).result()), 0)
        for stranger in strangers:
            stranger.end()
    house.close()


common.main(attack, __doc__)
