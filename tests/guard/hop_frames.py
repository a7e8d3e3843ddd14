#!/usr/bin/env python3
"""A neighbour on the network of a job whose small operations the kernel of a node adds up, and a member of another job, send frames in the
names of the job's members and of its node: forged, with some bits changed, cut short, of the other job's group with its good tags, and
copies of real ones; 10^6 in the long form. None is added up or answered, and no sum is wrong. Under 100,000 a second an operation takes
at most 1.5 times as long."""

import os
import re
import signal
import socket
import statistics
import struct
import time

import common
from harness import bridge  # pylint: disable=wrong-import-order

FRAME_AT = 14 + 20 + 8
ETH_P_ALL = 3
AS_IS, MUTATED, FORGED, CUT = range(4)
CONTRIBUTE, RESULT = 1, 2
RATE = 100_000
ROUND = 50_000  # A process that stands still for 10 s takes its node for lost.
FRAMES_PROGRAM = common.case.BUILD / "tests" / "guard" / "hop-frames"


def is_frame(packet):
    return len(packet) >= FRAME_AT + 32 and packet[12:14] == b"\x08\x00" and packet[23] == socket.IPPROTO_UDP and packet[FRAME_AT : FRAME_AT + 2] == b"SH"


def kind_of(packet):
    return packet[FRAME_AT + 16]


def sequence_of(packet):
    return struct.unpack_from("<I", packet, FRAME_AT + 24)[0]


def with_group(packet, group):
    return packet[: FRAME_AT + 4] + group + packet[FRAME_AT + 8 :]


class Recorder:
    """What goes through a port of the bridge."""

    def __init__(self, house, host):
        def listen():
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)  # with a protocol it would begin with frames of other ports
            made.bind((host, ETH_P_ALL))
            return made

        self.socket = bridge.in_network(house.bridge.switch.path, listen)
        self.socket.settimeout(20)

    def frames(self, kind, count):
        """Returns so many frames, with their sums of the headers left open as a device would find them."""
        found, end = [], time.monotonic() + 20
        while len(found) < count:
            packet = self.socket.recv(4096)
            if is_frame(packet) and kind_of(packet) == kind:
                found.append(packet)
            if time.monotonic() > end:
                raise AssertionError(f"only {len(found)} frames of kind {kind} in 20 s: this job does not go by the hop")
        return found

    def close(self):
        self.socket.close()


def recorded(house, host, kind, count):
    recorder = Recorder(house, host)
    try:
        return recorder.frames(kind, count)
    finally:
        recorder.close()


def send(house, host, packets, count, rate=0):
    """Sends from this host; returns the seconds. `packets`: (kind, bytes)."""
    file = house.folder / "packets"
    file.write_bytes(b"".join(struct.pack("<BH", kind, len(packet)) + packet for kind, packet in packets))
    done = common.ground.start([*house.bridge.network[host].under, FRAMES_PROGRAM, "e0", file, count, rate, os.getpid()])
    if done.code != 0:
        raise AssertionError(done.text)
    return float(done.out)


def words_of(pid):
    """Returns what the kernel says of a process, from its state on."""
    return common.ground.read(f"/proc/{pid}/stat").rsplit(b")", 1)[1].split()


def datagrams_at(process):
    """Returns how many UDP datagrams the kernel has had for the processes in this one's network."""
    names, numbers = [line.split() for line in common.ground.read(f"/proc/{process.pid}/net/snmp").decode().splitlines() if line.startswith("Udp:")]
    counts = dict(zip(names, numbers))
    return sum(int(counts[name]) for name in ("InDatagrams", "NoPorts", "InErrors"))


class Stopped:
    """The job's processes do not run meanwhile, so that all frames are ours."""

    def __init__(self, *jobs):
        self.pids = [pid for job in jobs for pid in job.pids.values()]

    def signal(self, number):
        for pid in self.pids:
            os.kill(pid, number)

    def __enter__(self):
        self.signal(signal.SIGSTOP)
        common.until(lambda: all(words_of(pid)[0] == b"T" for pid in self.pids), "all are stopped")

    def __exit__(self, *_):
        self.signal(signal.SIGCONT)


def difference(house, work):
    """Returns how much each counter of the kernel grew meanwhile."""
    before = house.counts()
    work()
    after = house.counts()
    return {name: after[name] - before[name] for name in before}


def failed_ranks(ended):
    """Returns the number of ranks that did not end well, of (status, output, errors)."""
    code, out, err = ended
    failed = 2 - len(re.findall(r"rank \d+ done after", out))
    if failed or code:
        print(out + err, flush=True)
    return max(failed, int(code != 0))


class Totals:
    """What the rounds of an attack have done so far."""

    def __init__(self):
        self.taken = self.sent = self.passed = self.sums = self.copies = 0


def one_round(house, job, other, totals):
    """Both jobs wait in the middle of an operation, so each frame that counts would be seen."""
    replays = recorded(house, "h1", CONTRIBUTE, 60) + recorded(house, "h2", CONTRIBUTE, 60)
    with Stopped(job):
        latest, strangers = max(map(sequence_of, replays)), []
        while not strangers or max(map(sequence_of, strangers)) <= latest + 8:
            strangers = recorded(house, "h3", CONTRIBUTE, 60)
        with Stopped(other):
            group = replays[0][FRAME_AT + 4 : FRAME_AT + 8]
            foreign = [with_group(packet, group) for packet in strangers]
            in_its_name = [replays[0][:FRAME_AT] + packet[FRAME_AT:] for packet in foreign]
            packets = [(kind, packet) for packet in replays for kind in (MUTATED, FORGED, CUT)] + [(AS_IS, packet) for packet in foreign + in_its_name]
            before = datagrams_at(house.processes["sharp_an"])
            got = difference(house, lambda: send(house, "h5", packets, ROUND))
            again = difference(house, lambda: send(house, "h5", [(AS_IS, packet) for packet in replays], ROUND // 4))
            totals.passed += datagrams_at(house.processes["sharp_an"]) - before
    # The same frames with their tags do come to the program, and are copies to it.
    if got["strangers"] < 0.99 * ROUND or again["frames"] < 0.99 * (ROUND // 4):
        raise AssertionError(f"frames did not come to the program: {got} of {ROUND}, {again} of {ROUND // 4} copies")
    totals.taken += got["frames"]
    totals.sent += got["sent"]
    totals.sums += again["folds"]
    totals.copies += ROUND // 4


def attacks_while_it_stands(rows, house, rounds):
    job, other = house.steady_on("h1", "h2"), house.steady_on("h3", "h4")
    totals, count = Totals(), rounds * ROUND
    for _ in range(rounds):
        one_round(house, job, other, totals)
    rows.add("hop-frames: forged, changed and foreign frames that the kernel took", f"of {count}", totals.taken, 0)
    rows.add("hop-frames: frames that the kernel sent for them", "frames", totals.sent, 0)
    rows.add("hop-frames: those that a process had to look at, and copies", f"of {count + totals.copies}", totals.passed, 0)
    rows.add("hop-frames: sums that copies of real frames made", f"of {totals.copies}", totals.sums, 0)
    # The members have to do with the same on their side, while they work.
    results = [packet for host in ("h1", "h2") for packet in recorded(house, host, RESULT, 30)]
    send(house, "h5", [(kind, packet) for packet in results for kind in (AS_IS, MUTATED, FORGED, CUT)], count // 4, RATE // 5)
    rows.add("hop-frames: ranks that failed or had a wrong sum", "of 4", failed_ranks(job.end()) + failed_ranks(other.end()), 0)


def median_us(house, is_flooded, seconds):
    """Returns the median of a job that runs for so long, and its ranks that failed. Frames of the flood come in the names of its members, so
    that the kernel looks at the tag of each."""
    job = house.steady_on("h1", "h2", STEADY_BUSY="1")
    packets = [(MUTATED, packet) for packet in recorded(house, "h1", CONTRIBUTE, 60)]
    if is_flooded:
        took = send(house, "h5", packets, int(RATE * seconds), RATE)
        if took > 1.1 * seconds:
            print(f"hop-frames: the flood was one of {RATE * seconds / took:.0f} frames a second: this machine sends no more", flush=True)
    else:
        time.sleep(seconds)  # the job is measured for so long
    ended = job.end()
    return statistics.mean(float(us) for us in re.findall(r"half within ([0-9.]+) us", ended[1])), failed_ranks(ended)


def attacks_while_it_runs(rows, house, seconds, turns):
    failed, alone, beside = 0, [], []
    for _ in range(turns):
        for found, is_flooded in ((alone, False), (beside, True)):
            us, bad = median_us(house, is_flooded, seconds)
            found.append(us)
            failed += bad
    print(f"hop-frames: medians in us, alone {alone}, under the flood {beside}", flush=True)
    rows.add("hop-frames: an operation under 100,000 frames a second", "x alone", statistics.median(beside) / statistics.median(alone), 1.5)
    rows.add("hop-frames: ranks that failed meanwhile", f"of {4 * turns}", failed, 0)


def attack(rows, args):
    house = bridge.House("hop-frames", "h1", "h2", "h3", "h4", "h5")
    attacks_while_it_stands(rows, house, 1_000_000 // ROUND if args.long else 1)
    if args.long:
        attacks_while_it_runs(rows, house, 3, 5)
    house.close()


common.main(attack, __doc__)
