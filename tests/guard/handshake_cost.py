#!/usr/bin/env python3
"""handshake-cost: the cost of proven keys, fair rotation and heartbeats for an honest job, compared with a build of the tree before them.
Round trips of a communicator are counted on the wire, and need no other tree. The long form with `--before BUILD` also counts the
instructions of an operation at rank and node (callgrind), and times communicators, both trees alternately. These commands make the other
tree:
    git worktree add ../before dd5dec9 && cmake -S ../before --preset dev && cmake --build ../before/build/dev --target programs
    tests/guard/handshake_cost.py --long --before ../before/build/dev
"""

import ctypes
import itertools
import os
import pathlib
import re
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import time

import common
import wire

PROGRAM = common.BIN.parent / "tests" / "guard" / "handshake-cost"
# Round trips counted at dd5dec9: greeting, open and join of a connection's first communicator; open and join of a later
# one.
BEFORE_FIRST, BEFORE_LATER = 3, 2
SIZES = {"8 B": 8, "64 KiB": 64 << 10}
COUNTS = 200, 1200  # start and end of a job cancel in the difference
# On one processor no process spins, and a sender is done before its receiver runs, so that each message is read at
# once.
ON_ONE = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
STREAMS = {"SHARP_COLL_ENABLE_SAT": "1"}
REPEATS = 3
TURNS, COMMUNICATORS = 41, 200
KINDS = {getattr(wire, name): name.lower() for name in ("HELLO", "OPEN", "JOIN", "CONTRIBUTE", "NAME", "PROOF", "OPENED", "JOINED", "REFUSED", "RESULT",
                                                        "WELCOME", "INVITED")}


class Build:
    """A tree's programs, and the address at which its daemons meet."""

    def __init__(self, name, folder):
        self.name = name
        self.folder = pathlib.Path(folder).resolve()
        if not (self.folder / "bin" / "sharp_an").exists():
            sys.exit(f"handshake-cost: no {self.folder}/bin/sharp_an: build the target programs there")
        config = subprocess.run([self.folder / "bin" / "sharp_am", "--show-config"], capture_output=True, text=True, check=True).stdout
        # Each tree's daemons meet at their own default address.
        self.meets = {} if "SUMAC_AM_LISTEN=unix:" in config else {"listen": "127.0.0.1:0", "clear_text": False}

    def house(self, label, **more):
        return common.House(f"{label}-{self.name}", programs=self.folder / "bin", **self.meets, **more)

    def job(self, house, *words, under=(), env=None):
        """Returns the output of a job that uses this build's library."""
        done = subprocess.run([*map(str, under), str(PROGRAM), str(house.socket), *map(str, words)], capture_output=True, text=True, timeout=400,
                              env=common.ground.environment({"LD_LIBRARY_PATH": str(self.folder / "lib"), **(env or {})}), check=False)
        if done.returncode != 0:
            raise AssertionError(f"{self.name}: handshake-cost {words} ended with {done.returncode}: {done.stderr}{house.log('sharp_an')}")
        return done.stdout


# Round trips, counted


class Wiretap:
    """Records all traffic on loopback from and to a port, in order."""

    # The kernel's filter program accepts TCP over IPv4 from or to this port, whole.
    FILTER = ((0x28, 0, 0, 12), (0x15, 0, 8, 0x0800), (0x30, 0, 0, 23), (0x15, 0, 6, socket.IPPROTO_TCP), (0xB1, 0, 0, 14),
              (0x48, 0, 0, 14), (0x15, 2, 0, None), (0x48, 0, 0, 16), (0x15, 0, 1, None), (0x06, 0, 0, 0xFFFFFFFF), (0x06, 0, 0, 0))
    SO_ATTACH_FILTER, SO_RCVBUFFORCE = 26, 33

    def __init__(self, port):
        self.port = port
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)  # the socket receives nothing before bind
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line[:3], port if line[3] is None else line[3]) for line in self.FILTER))
        self.socket.setsockopt(socket.SOL_SOCKET, self.SO_ATTACH_FILTER, struct.pack("HL", len(self.FILTER), ctypes.addressof(code)))
        self.socket.setsockopt(socket.SOL_SOCKET, self.SO_RCVBUFFORCE, 8 << 20)
        self.socket.bind(("lo", 3))  # 3 means every protocol
        self.socket.setblocking(False)

    def messages(self):
        """Returns [(is it the node's, content)] of all hop messages and greetings so far."""
        found, rest = [], {}
        while True:
            try:
                packet, (_, _, way, *_) = self.socket.recvfrom(1 << 17)
            except BlockingIOError:
                self.socket.close()
                return found
            if way != socket.PACKET_OUTGOING:
                continue  # loopback shows each packet twice
            tcp = packet[14 + 4 * (packet[14] & 15) : 14 + struct.unpack_from(">H", packet, 16)[0]]
            source = struct.unpack_from(">H", tcp)[0]
            stream = rest.get(source, b"") + tcp[4 * (tcp[12] >> 4) :]
            while len(stream) >= 8 and len(stream) >= 8 + struct.unpack_from("<I", stream, 4)[0]:
                length = struct.unpack_from("<I", stream, 4)[0]
                if stream[2] == wire.FRAME_DATA:
                    found.append((source == self.port, KINDS.get(stream[11], str(stream[11]))))
                elif stream[2] in (wire.FRAME_HELLO, wire.FRAME_WELCOME):
                    found.append((source == self.port, "greeting"))
                stream = stream[8 + length :]
            rest[source] = stream


def round_trips(messages):
    """Counts how often the node answered before the rank went on."""
    return sum(is_nodes for is_nodes, _ in itertools.groupby(messages, key=lambda message: message[0]))


def count_round_trips(build):
    """Returns (round trips of the first communicator, with all that came before it on the connection; those of the second)"""
    house = build.house("trips")
    tap = Wiretap(house.node_port)
    build.job(house, "communicators", 2)
    messages = tap.messages()
    house.close()
    names = [what for _, what in messages]
    first = names.index("joined") + 1
    again = names.index("open", first)
    last = names.index("joined", again) + 1
    print(f"{build.name}: " + ", ".join(("< " if is_nodes else "> ") + what for is_nodes, what in messages[:first]), flush=True)
    return round_trips(messages[:first]), round_trips(messages[again:last])


# Instructions, counted


def callgrind(out, function):
    """Returns a command that counts the instructions inside the function."""
    return [*ON_ONE, "valgrind", "-q", "--tool=callgrind", f"--toggle-collect={function}", f"--callgrind-out-file={out}"]


def counted(path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    return int(re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)[1])


def at_node(build, size, count, label):
    """Returns the instructions of the node's data path, in a job of `count` operations of this size."""
    out = common.ground.SCRATCH / f"{label}-{build.name}.node"
    # A beat every 200 ms is less than one instruction of an operation, but here operations are made slow.
    house = build.house(label, under={"sharp_an": callgrind(out, "sumac::node::Shard::run()")},
                        words={"sharp_an": ["--spin", "0", "--heartbeat", "600s", "--lost-after", "3600s"]})
    build.job(house, "operations", count, size, under=ON_ONE, env=STREAMS)
    house.close()
    return counted(out)


def at_rank(build, size, count, label):
    """Returns the instructions of rank 0 inside the calls."""
    out = common.ground.SCRATCH / f"{label}-{build.name}.rank"
    house = build.house(label, under={"sharp_an": ON_ONE})
    said = build.job(house, "operations", count, size, under=callgrind(f"{out}.%p", "sharp_coll_do_allreduce"), env=STREAMS)
    house.close()
    return counted(f"{out}.{said.split()[-1]}")


def per_operation(build, size, measure, label):
    few, many = (measure(build, size, count, f"{label}-{count}") for count in COUNTS)
    return (many - few) / (COUNTS[1] - COUNTS[0])


def compare_instructions(rows, before, after):
    if not shutil.which("valgrind"):
        print("handshake-cost: no valgrind (make setup-guard): no instructions are counted", flush=True)
        return
    for name, size in SIZES.items():
        for place, measure in (("rank", at_rank), ("node", at_node)):
            was, now = [], []
            for turn in range(REPEATS):
                was.append(per_operation(before, size, measure, f"{place}{size}-{turn}"))
                now.append(per_operation(after, size, measure, f"{place}{size}-{turn}"))
            print(f"instructions of {name} at the {place}: before {spread(was)}, now {spread(now)}", flush=True)
            rows.add(f"handshake-cost instructions of {name} at the {place}", "x of the tree before", statistics.median(now) / statistics.median(was), 1.02)


def spread(numbers):
    return f"{statistics.median(numbers):.1f} ({min(numbers):.1f}..{max(numbers):.1f})"


# Time


def later_us(build, house, under):
    """Returns the median of a job's communicators except the first."""
    times = [int(line) / 1e3 for line in build.job(house, "communicators", COMMUNICATORS, under=under).split()]
    return statistics.median(times[1:])


def compare_times(rows, before, after):
    # Rank and node alternate on one processor, with priority over all others: 38.0 us (37.6..38.4) in 41 jobs beside a
    # load of 9; without priority 20 to 450 us.
    ahead = ["chrt", "-f", "10", *ON_ONE]
    if subprocess.run([*ahead, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        ahead = ON_ONE
    builds = (before, after)
    houses = {build.name: build.house("comms", under={"sharp_an": ahead}) for build in builds}
    took = {build.name: [] for build in builds}
    for turn in range(TURNS):
        for build in builds if turn % 2 == 0 else builds[::-1]:
            took[build.name].append(later_us(build, houses[build.name], ahead))
    for house in houses.values():
        house.close()
    was, now = took[before.name], took[after.name]
    print(f"us of a later communicator: before {spread(was)}, now {spread(now)}", flush=True)
    rows.add("handshake-cost time of later communicators", f"x of the tree before, median of {TURNS} turns",
             statistics.median(b / a for a, b in zip(was, now)), 1.05)


def attack(rows, args):
    if os.geteuid() != 0:
        common.case.skip_or_fail("only root sees what goes over loopback")
    after = Build("now", args.build)
    before = Build("before", args.before) if args.before else None
    was_first, was_later = count_round_trips(before) if before else (BEFORE_FIRST, BEFORE_LATER)
    first, later = count_round_trips(after)
    print(f"round trips: first communicator {was_first} before, {first} now; later ones {was_later} and {later}", flush=True)
    rows.add("handshake-cost first communicator", "round trips more than before", first - was_first, 1)
    rows.add("handshake-cost later communicators", "round trips more than before", later - was_later, 0)
    if not args.long:
        return
    if before is None:
        print(__doc__, flush=True)
        return
    compare_times(rows, before, after)
    compare_instructions(rows, before, after)


if __name__ == "__main__":
    common.main(attack, __doc__)
