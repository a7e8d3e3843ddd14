#!/usr/bin/env python3
"""Writes seeds of the fuzzers that read several messages (or texts) from one input; each target's source defines the meaning of a byte."""
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


def word(n: int) -> bytes:
    return n.to_bytes(2, "little")


def varint(n: int) -> bytes:
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def message(*fields: tuple[int, object]) -> bytes:
    """Encodes a protobuf message from (number, int | str | bytes)."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def step(what: int, stream: int, data: bytes) -> bytes:
    return bytes([what, stream]) + word(len(data)) + data


VERSION = 1  # kControlVersion
node = [message((1, VERSION), (2, name), (3, message((2, "tcp:10.0.0.1:7000"))), (4, 512), (5, 512), (6, 1024), (8, 1 << 40))
        for name in ("an-root", "an-leaf1", "an-leaf2")]
host = message((1, VERSION), (2, "h1"), (3, 9))
request = message((1, 128), (2, 256), (3, 8))
begin = message((1, 3), (2, 42), (3, 3), (4, "h1"), (4, "h2"), (4, "h3"), (5, request), (6, "h1 pid 1 uid 0"), (7, 1000))
end = message((1, 3), (2, 42))
renew = message((1, b"\x03\xeb\x07"))
up = message((1, 1))

control = {
    "begin": b"\x01" + step(5, 6, host) + step(6, 6, begin) + b"".join(step(1, n, message((1, k))) for n in range(3) for k in range(1, 6)),
    "from-nothing": b"\x00" + b"".join(step(0, i, n) for i, n in enumerate(node)) + step(3, 1, up) + step(3, 2, up)
    + step(5, 6, host) + step(6, 6, begin),
    "ack-and-end": b"\x01" + b"".join(step(1, n, message((1, k))) for k in range(1, 5) for n in range(3)) + step(8, 4, renew) + step(7, 4, end),
    "nodes-go": b"\x01" + step(4, 0, b"") + step(0, 7, node[0]) + step(4, 1, b"") + step(9, 4, b"") + step(5, 0x80 | 0x3F, host),
    "leases-end": b"\x01" + step(2, 1, message((1, 2), (2, "busy"))) + step(8, 0xBF, renew) * 4,
    "other-version": b"\x00" + step(0, 0, message((1, 2), (2, "an-root"))) + step(5, 1, message((1, 99))),
}


def host_frame(name: str) -> bytes:
    data = (HERE / "host" / f"host-{name}").read_bytes().rstrip(b"\0")
    return b"\x00" + word(len(data)) + data


def manager_says(data: bytes) -> bytes:
    return b"\x02" + word(len(data)) + data


grant = message((1, 128), (2, 256), (3, 8))
tree_node = message((1, 1), (2, 1), (3, "an-root"), (4, "tcp:10.0.0.1:7000"))
tree = message((1, 5), (2, 1), (6, tree_node), (7, b"\x01\x01\x01"))
granted = message((2, message((1, 1), (2, grant), (3, bytes(range(16))), (4, tree))))
session = {
    "life-of-a-job": host_frame("attach") + manager_says(message((1, message((1, 8000), (2, 2000))))) + host_frame("job_begin")
    + host_frame("job_host") + manager_says(granted) + host_frame("job_end") + manager_says(message((4, message((2, 1))))),
    "refused": host_frame("attach") + host_frame("job_begin") + host_frame("job_host")
    + manager_says(message((3, message((1, 35), (2, "no"), (3, 1))))),
    "refused-in-two-lines": host_frame("attach") + host_frame("job_begin") + host_frame("job_host")
    + manager_says(message((3, message((1, 35), (2, "no\nfor a reason"), (3, 1))))),
    "manager-goes": host_frame("attach") + host_frame("job_begin") + host_frame("job_host") + b"\x44\x00\x00" + b"\x04\x00\x00",
    "offence": host_frame("job_end"),
}

SEEDS = {
    "control": control,
    "session": session,
    "client": {
        "joined": b"\x20\x01" + b"\x2a" + b"\0" * 31,
        "verdict": b"\x20\x02" + b"\x02\0\0\0\x05\0\0\0\x01\0\0\0" + b"\0" * 20,
        "result": b"\x00\x00\x00\x02\x10\x00\x03\x80\x00" * 4,
        "welcome": b"\x80\x09\x00" + bytes(range(1, 49)) + b"\x02\0\0\0\x64\0\0\0\x01\0\0\0\0\0\0\0",
    },
    "node": {"contributions": bytes([0, 4, 0, 2, 1, 7, 8, 1, 4, 0, 2, 1, 7, 8, 2, 4, 0, 2, 1, 7, 8]), "leave": bytes([0, 4, 0, 8, 1, 4, 0, 8]),
             "handshake": bytes([0x93, 1, 0]) + bytes(40) + bytes([1, 5, 0]) + bytes([0x13, 9, 0]) + bytes(range(32)) + b"\0",
             "handshake-of-a-node": bytes([0x93, 1, 0]) + bytes(40) + bytes([0, 5, 1]) + bytes([0x13, 9, 0]) + bytes(32) + b"\0",
             "open-without-proof": bytes([0x93, 1, 0]) + bytes(40) + bytes([1, 5, 0]) + bytes([0x13, 2, 0]) + bytes([42]) + bytes(23) + b"\1"},
    "reservations": {"two": b"weather uid=1000: h1 h2\n# more\nfluids: h3\n", "twice": b"a: h h\n", "nameless": b": h\n"},
    "names": {
        "node": b"sumac://node/an-leaf1",
        "role": b"sumac://root/x",
        "address": b"127.0.0.1:6126",
        "ipv6": b"[::1]:6126",
        "unix": b"unix:/run/sumac/am.sock",
        "away": b"am.cluster:6126",
    },
    "host_list": {"slurm": b"n[001-003,7],m[1-2]-ib0:4", "file": b"a slots=2\nb # two\n", "ends": b"a[1-", "large": b"n[0-99999999]"},
    "options": {
        "files": b"osts_per_group 8\nfabric f.yaml\nlisten [::1]:0\nlease 8s\nchunk 64k\nhost h1\nname an\npayload_max 1KiB\n",
        "variables": b"SHARP_COLL_JOB_QUOTA_OSTS 128\nSHARP_COLL_SAT_THRESHOLD 16k\nHCOLL_SBGP basesmuma,p2p\nHCOLL_BCOL basesmuma,ucx_p2p\n",
        "levels": b"basesmsocket,basesmuma,p2p\nbasesmuma,basesmuma,ucx_p2p",
        "twice": b"name a\nname b\n",
        "absurd": b"ost_count 99999999999999999999\nspin -1\n",
    },
    "tuning": {
        "content": b'{"machine": "cpu x", "choices": [{"collective": "allreduce", "ranks": 2, "oversubscribed": false, "from_bytes": 0,'
        b' "algorithm": "flat"}]}',
        "half": b'{"sumac_tuning": 1,\n "content": {"mach',
        "other": b'{"sumac_tuning": 2}',
    },
    "fabric": {
        "three-levels": b"name: t\nswitches: [root, leaf1, leaf2]\nlinks: [{a: leaf1, b: root, rate: 1Gbit/s, delay: 50us}, {a: leaf2, b: root}]\n"
        b"hosts: {h1: {leaf: leaf1}, h2: {leaf: leaf1}, h3: {leaf: leaf2}}\nnodes: {an: {switch: root}, an1: {host: h1}}\n",
        "loop": b"name: t\nswitches: [a]\nlinks: [{a: a, b: a}]\nhosts: {h: {leaf: a}}\nnodes: {an: {switch: a}}\n",
        "anchors": b"a: &a [x]\nb: [*a, *a]\nc: [*b",
        "not-yaml": b"{[: - ]",
    },
    "state": {
        "not-a-file-of-ours": b"\x00hello",
        "empty": b"\x00",
        "as-it-is": b"\x01SELECT 1",
        "other-fabric": b"\x01UPDATE state SET fabric = 'x'",
        "no-state": b"\x01DELETE FROM state",
        "shares": b"\x01UPDATE jobs SET shares = '1 2 99999999999'",
        "far-leaf": b"\x01UPDATE jobs SET shares = '1 4 0 7 1 3 1 0 1 4000000000'",
        "key": b"\x01UPDATE jobs SET job_key = x'00'",
        "twice": b"\x01UPDATE jobs SET life = 1, ticket = 1",
        "huge": b"\x01UPDATE jobs SET osts = -1, max_groups = 9223372036854775807",
        "older": b"\x01PRAGMA user_version = 0",
        "newer": b"\x01PRAGMA user_version = 99",
    },
    "job": {"other-version": b"\0SUMAJ2\0\0" + b"\0" * 64, "good": b"\x01\0\0", "cut": b"\x01\x05\0", "changed": b"\x01\0\0\x08\0\xff\x30\0\x02"},
}

for folder, seeds in SEEDS.items():
    (HERE / folder).mkdir(exist_ok=True)
    for name, data in seeds.items():
        (HERE / folder / name).write_bytes(data)
