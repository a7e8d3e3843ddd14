"""A job made by hand: the messages of libsharp_coll.so to sharpd and to its node, for attacks by a user with a job."""

import collections
import os
import socket
import struct
import time

import wire

MESSAGE = 1024
HEAD = struct.Struct("<HBBIIIQ")
# These are the numbers of wire::HostKind.
ATTACH, ATTACHED, BEGIN, HOST, GRANTED, NODE, LEAF, REFUSED, END, ENDED, TREE = range(1, 12)

Answer = collections.namedtuple("Answer", "kind index total entries job body")
Quota = collections.namedtuple("Quota", "osts payload groups qps channels trees", defaults=(0,) * 6)
SAT = 1 << 2  # the job feature for streaming

# These are the numbers of wire::Coll, Op, Dtype and flags.
BARRIER, ALLREDUCE, LEAVE, LOCK = 1, 2, 8, 10
FIRST, LAST, STREAMING = 1, 2, 4


class Refused(Exception):
    """The manager refused the job; the text is its reason."""


class Job:
    """A job of one host that is begun as this process's user. `seconds`: the longest wait for the answer."""

    def __init__(self, path, number, ranks=1, quota=Quota(), features=0, seconds=40):
        self.number, self.ranks = number, ranks
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(seconds)
        self.socket.connect(str(path))
        self.say(ATTACH, struct.pack("<IIII", 0, ranks, 0, 0))
        host = self.hear(ATTACHED).body[:64]
        self.say(BEGIN, struct.pack("<8IQII256s", *quota, 0, 0, features, ranks, 1, b""))
        self.say(HOST, host, total=1, entries=1)
        granted = self.hear(GRANTED).body
        self.quota = Quota(*struct.unpack_from("<6I", granted))
        self.window, self.chunk = struct.unpack_from("<II", granted, 24)
        self.key = granted[64:80]
        tree = self.hear(TREE).body
        self.tree_id, _, self.root, nodes = struct.unpack_from("<4I", tree)
        found = [self.hear(NODE).body for _ in range(nodes)]
        parents = dict(struct.unpack_from("<II", one) for one in found)
        addresses = {struct.unpack_from("<I", one)[0]: one[72:].split(b"\0")[0].decode() for one in found}
        self.chain = list(struct.unpack_from("<I", self.hear(LEAF).body))  # nodes, from the leaf to the root
        while parents[self.chain[-1]] != self.chain[-1]:
            self.chain.append(parents[self.chain[-1]])
        self.address = addresses[self.chain[0]]
        self.port = int(self.address.rsplit(":", 1)[1])

    def say(self, kind, body=b"", **more):
        head = {"index": 0, "total": 0, "entries": 0, **more}
        job = 0 if kind == ATTACH else self.number
        message = HEAD.pack(0x4853, 1, kind, head["index"], head["total"], head["entries"], job) + body
        self.socket.send(message.ljust(MESSAGE, b"\0"))

    def hear(self, kind):
        message = self.socket.recv(MESSAGE)
        if len(message) != MESSAGE:
            raise ConnectionResetError("sharpd closed the connection")
        fields = HEAD.unpack_from(message)[2:]
        answer = Answer(*fields, message[HEAD.size :])
        if answer.kind == REFUSED:
            raise Refused(answer.body[8:].split(b"\0")[0].decode())
        if answer.kind != kind:
            raise AssertionError(f"sharpd says {answer.kind} instead of {kind}")
        return answer

    def dies(self):
        """Pretends that its process ended: sharpd sees the connection close."""
        self.socket.close()

    def member(self, rank=0, **of_link):
        return Member(self, rank, **of_link)


def everything(path):
    """Returns a job with as many OSTs and groups as one user may have."""
    for part in (1, 2, 4):
        osts, groups = 32768 // part, 512 // part
        try:
            return Job(path, 7, quota=Quota(osts=osts, groups=groups))
        except Refused as why:
            print(f"{osts} OSTs and {groups} groups, 1/{part} of the node: {why}", flush=True)
    raise AssertionError("not even a quarter")


NEVER = 60.0  # means in a row: nothing was granted


def granted_after(path, number, start, patience=NEVER):
    """Returns the seconds from `start` until this user is granted a job with the default quota, which ends at once; NEVER: not within
    `patience`. It tries at least once, which may take sharpd seconds."""
    while True:
        try:
            Job(path, number).dies()
            return time.monotonic() - start
        except Refused as why:
            print(f"job {number} after {time.monotonic() - start:.1f} s: {why}", flush=True)
        if time.monotonic() >= start + patience:
            return NEVER


def join_body(job, chain, rank, world_rank, size, osts=1, window=0, payload=128, chunk=0):
    """Returns the body of one member's join; the whole group is below the chain's first node."""
    path = b"".join(struct.pack("<II", node, size) for node in chain).ljust(64, b"\0")
    return struct.pack("<QQ10I", job, 0, rank, world_rank, size, 1, osts, window, payload, chunk, len(chain), 0) + path


class Member:
    """A rank's connection to its leaf node, the job's only one."""

    def __init__(self, job, rank, **of_link):
        self.job, self.rank = job, rank
        self.link = wire.Link(job.port, **of_link)
        hello = wire.hello(job.number, os.urandom(16), wire.CLIENT, rank)
        self.link.send(wire.HELLO, hello, tree_id=job.tree_id)
        welcome = self.expect(wire.WELCOME)[1]
        self.link.send(wire.PROOF, wire.proof(job.key, job.tree_id, hello, welcome, job.address), tree_id=job.tree_id)

    def expect(self, *kinds):
        while True:
            head, body = self.link.read()
            if head.kind in kinds:
                return head, body
            if head.kind not in (wire.WELCOME, wire.INVITED):
                raise AssertionError(f"message {head.kind} instead of {kinds}: {body[:40].hex()}")

    def open(self, token, size):
        """Asks for a group: returns its id, or 0 if the job has none left."""
        self.link.send(wire.OPEN, struct.pack("<QQII", self.job.number, token, size, 0), tree_id=self.job.tree_id)
        head, body = self.expect(wire.OPENED, wire.REFUSED)
        return struct.unpack_from("<I", body, 16)[0] if head.kind == wire.OPENED else 0

    def join(self, group, rank, size, osts=1, window=0, payload=128, chunk=0):
        body = join_body(self.job.number, self.job.chain, rank, self.rank, size, osts, window, payload, chunk)
        self.link.send(wire.JOIN, body, tree_id=self.job.tree_id, group_id=group)

    def joined(self):
        """Returns (OSTs, window) of the group that now stands; None: refused."""
        head, body = self.expect(wire.JOINED, wire.REFUSED)
        return struct.unpack_from("<II", body, 8) if head.kind == wire.JOINED else None

    def contribute(self, group, sequence, rank, coll=ALLREDUCE, data=b"", count=0, flags=FIRST | LAST, seconds=None):
        """Sends a sum of floats, or a number without data."""
        if seconds is not None:
            self.link.socket.settimeout(seconds)
        op, dtype = (2, 4) if data else (wire.NULL, wire.NULL)
        self.link.send(wire.CONTRIBUTE, data, tree_id=self.job.tree_id, group_id=group, sequence=sequence, coll=coll, op=op, dtype=dtype,
                       flags=flags, count=count or len(data) // 4, origin=rank, members=1)

    def close(self):
        self.link.close()


def latencies(house, number, seconds):
    """Returns the latencies of barriers of two members."""
    job = Job(house.socket, number, ranks=2)
    members = [job.member(rank) for rank in range(2)]
    group = members[0].open(1, 2)
    for rank, member in enumerate(members):
        member.join(group, rank, 2)
    for member in members:
        member.joined()
    took, end, at = [], time.monotonic() + seconds, 0
    while time.monotonic() < end:
        start = time.monotonic()
        for rank, member in enumerate(members):
            member.contribute(group, at, rank, coll=BARRIER)
        for member in members:
            member.expect(wire.RESULT)
        took.append(time.monotonic() - start)
        at += 1
    job.dies()
    return sorted(took)


def p99(sorted_times):
    return sorted_times[len(sorted_times) * 99 // 100]
