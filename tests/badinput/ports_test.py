"""Rubbish goes to every port of the daemons while a job runs: it costs its sender the connection, one line names the sender, and nothing
else is affected."""

import pathlib
import random
import re
import signal
import socket
import struct
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import ground  # noqa: E402  pylint: disable=wrong-import-position

SEED = 20181
CORPUS = pathlib.Path(__file__).resolve().parents[1] / "corpus"
HELLO = b"SF\x01\x00" + struct.pack("<IHHI", 8, 1, 0, 1 << 20)  # a good greeting of the tcp backend
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FOREIGN = {
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "tls": bytes.fromhex("16030100c8010000c40303") + bytes(189),
    "ssh": b"SSH-2.0-OpenSSH_9.2\r\n",
    "zeros": bytes(4096),
}


def frame(content, kind=3):
    return b"SF" + bytes([kind, 0]) + struct.pack("<I", len(content)) + content


def messages(folder):
    return {path.name: path.read_bytes() for path in sorted((CORPUS / folder).iterdir())}


def mutations(good, count, seed):
    """Yields good messages with a few bytes changed, cut short, or grown."""
    dice = random.Random(seed)
    for _ in range(count):
        data = bytearray(dice.choice(good))
        for _ in range(dice.randrange(1, 5)):
            data[dice.randrange(min(len(data), 64))] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
        length = dice.choice((len(data), len(data), dice.randrange(len(data)), len(data) + 100))
        yield bytes(data[:length]) + bytes(max(0, length - len(data)))


def closed(peer, seconds=20):
    """Waits until the other side hangs up; returns the bytes that it sent before."""
    peer.settimeout(seconds)
    said = b""
    try:
        while data := peer.recv(65536):
            said += data
    except ConnectionError:
        pass
    except TimeoutError as late:
        raise AssertionError(f"not hung up on after {seconds} s; it said {said[:200]!r}") from late
    return said


class Ports(ground.Scenario):
    def setUp(self):
        self.house = ground.House(self.id().split(".")[-1][:40], listen="127.0.0.1:0")
        self.addCleanup(self.house.close)
        self.job = self.house.steady()
        self.addCleanup(lambda: self.job.process.stdin and self.job.end())

    def to_node(self, data=b""):
        return self.to_tcp(self.house.node_port, data)

    def to_manager(self, data=b""):
        return self.to_tcp(int(self.house.manager.rsplit(":", 1)[1]), data)

    def to_tcp(self, port, data):
        peer = socket.create_connection(("127.0.0.1", port), 10)
        self.addCleanup(peer.close)
        try:
            peer.sendall(data)
        except ConnectionError:
            pass  # the daemon hung up before everything was sent
        return peer

    def to_sharpd(self, *words):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(peer.close)
        peer.settimeout(10)
        peer.connect(str(self.house.socket))
        for data in words:
            try:
                peer.send(data)
            except ConnectionError:
                break
        return peer

    def undisturbed(self, program, descriptors):
        """The job that ran meanwhile ends well, the next one gets its resources, and the daemon keeps nothing of the strangers."""
        code, out, err = self.job.end()
        self.assertEqual((code, err, out.count("done after")), (0, "", 3), out)
        self.good_job(self.house)
        self.assertEqual(sorted(self.house.alive()), ["sharp_am", "sharp_an", "sharpd"], self.house.log(program))
        # The job's own descriptors are gone by now as well.
        ground.until(lambda: self.house.descriptors_of(program) <= descriptors, f"{program} closes what strangers opened")

    # ---- the node's data port

    def test_strangers_at_the_node(self):
        before = self.house.descriptors_of("sharp_an")
        for words in FOREIGN.values():
            closed(self.to_node(words))
        self.house.says("sharp_an", r"127\.0\.0\.1:\d+: [^\n]*(greeting|magic|Sumac)")
        self.undisturbed("sharp_an", before)

    def test_malformed_frames_at_the_node(self):
        before = self.house.descriptors_of("sharp_an")
        for words in (frame(b"x" * 100), HELLO + HELLO, HELLO + b"SF\x03\x00\xff\xff\xff\xff", HELLO + b"SF\x09\x00\0\0\0\0",
                      HELLO + frame(b"x", 4), HELLO + frame(b"x" * 40), HELLO + frame(b"")):
            closed(self.to_node(words))
        half = [self.to_node(words) for words in (HELLO[:9], HELLO + b"SF\x03", HELLO + frame(bytes(5000))[:100])]
        for peer in half[1:]:
            peer.close()
        closed(half[0])  # the node does not wait for a greeting without end
        self.undisturbed("sharp_an", before)

    def test_lies_at_the_node(self):
        """The frames are good, the content is bad: other users' jobs, false roles, every kind of message with wrong bytes."""
        before = self.house.descriptors_of("sharp_an")
        good = list(messages("agg").values())
        hello = messages("agg")["hello"]
        tree = int(re.search(r"tree 1: id (0x[0-9a-f]+)", self.house.log("sharp_an"))[1], 0)
        ours = [message[:4] + struct.pack("<I", tree) + message[8:] for message in good]
        hello = hello[:4] + struct.pack("<I", tree) + hello[8:]
        for message in [*good, *ours, *mutations(good, 100, SEED), *mutations(ours, 200, SEED + 1)]:
            self.to_node(HELLO + frame(message)).close()
        for message in [*ours, *mutations(ours, 200, SEED + 2)]:
            self.to_node(HELLO + frame(hello) + frame(message)).close()
        self.undisturbed("sharp_an", before)

    def test_connections_that_say_nothing_at_the_node(self):
        before = self.house.descriptors_of("sharp_an")
        silent = [self.to_node() for _ in range(60)]
        self.good_job(self.house)
        for peer in silent:
            closed(peer)
        self.undisturbed("sharp_an", before)

    # ---- the manager's port

    def test_strangers_at_the_manager(self):
        before = self.house.descriptors_of("sharp_am")
        dice = random.Random(SEED)
        for words in (*FOREIGN.values(), PREFACE + dice.randbytes(500), PREFACE + b"\xff\xff\xff\x04\0\0\0\0\0", PREFACE[:10]):
            peer = self.to_manager(words)
            peer.shutdown(socket.SHUT_WR)
            closed(peer)
        silent = [self.to_manager() for _ in range(60)]
        self.good_job(self.house)
        for peer in silent:
            peer.close()
        self.undisturbed("sharp_am", before)

    def test_calls_that_make_no_sense_at_the_manager(self):
        """The calls are real HTTP/2 with gRPC's headers; their content is rubbish, or longer than any message."""
        before = self.house.descriptors_of("sharp_am")
        for path, message in (("Node", b"\0\0\0\0\x05hello"), ("Job", b"\0\0\0\0\x64" + b"\x0a\xff" * 50), ("Job", b"\0\x40\0\0\0"),
                              ("Node", b"\0\0\0\0\0"), ("Job", b"\x01\0\0\0\x03abc"), ("Nothing", b"\0\0\0\0\0")):
            peer = self.to_manager(PREFACE + h2_frame(4, 0, 0, b"") + call(f"/sumac.control.v1.Manager/{path}", message))
            peer.settimeout(20)
            self.assertTrue(peer.recv(65536), path)  # the manager sends settings, and then the status
            peer.shutdown(socket.SHUT_WR)
            closed(peer)
        self.undisturbed("sharp_am", before)

    # ---- sharpd's socket

    def test_malformed_messages_at_sharpd(self):
        before = self.house.descriptors_of("sharpd")
        dice = random.Random(SEED)
        for words in (b"x", bytes(1023), bytes(1025), bytes(1024), dice.randbytes(1024), dice.randbytes(60000)):
            closed(self.to_sharpd(words))
        self.house.says("sharpd", r"client localhost pid \d+ uid \d+: [^\n]+")
        good = list(messages("host").values())
        attach = messages("host")["host-attach"]
        for message in [*good, *mutations(good, 200, SEED)]:
            self.to_sharpd(message).close()
            self.to_sharpd(attach, message).close()
        self.undisturbed("sharpd", before)

    def test_a_begin_without_its_end_at_sharpd(self):
        """A client asks for half a job, and then sends nothing more, or goes."""
        before = self.house.descriptors_of("sharpd")
        host = messages("host")
        silent = [self.to_sharpd() for _ in range(40)]
        halves = [self.to_sharpd(host["host-attach"], host["host-job_begin"]) for _ in range(10)]
        self.good_job(self.house)
        for peer in silent + halves:
            peer.close()
        self.undisturbed("sharpd", before)


class Floods(ground.Scenario):
    def test_more_connections_than_descriptors(self):
        """Near the limit a daemon accepts no more connections, without spinning; when the strangers are gone it serves again."""
        house = ground.House("floods", descriptors=256, listen="127.0.0.1:0")
        self.addCleanup(house.close)
        self.good_job(house)
        for program, family, kind, address in (("sharp_an", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", house.node_port)),
                                               ("sharpd", socket.AF_UNIX, socket.SOCK_SEQPACKET, str(house.socket))):
            before = house.descriptors_of(program)
            strangers = []
            for _ in range(100):
                peer = socket.socket(family, kind)
                peer.setblocking(False)
                peer.connect_ex(address)
                strangers.append(peer)
            full = "no room for another|as many clients as one user may have|displaced by others before it proved its identity"
            house.says(program, full)
            self.assertLess(house.descriptors_of(program), 256, f"{program} keeps some for itself")
            busy = cpu_seconds(house.processes[program].pid)
            with self.assertRaises(AssertionError):  # nothing happens for a second
                ground.until(lambda: house.processes[program].poll() is not None, "nothing", 1)
            self.assertLess(cpu_seconds(house.processes[program].pid) - busy, 0.5, f"{program} spins at its limit")
            for peer in strangers:
                peer.close()
            ground.until(lambda: house.descriptors_of(program) <= before, f"{program} closes what strangers opened")
            self.good_job(house)
            lines = len(re.findall(full, house.log(program)))
            self.assertTrue(1 <= lines <= 3, f"{program} says {lines} times that it is at its limit:\n{house.log(program)[-2000:]}")

    def test_signals_still_end_them(self):
        house = ground.House("signals", listen="127.0.0.1:0")
        stuck = [socket.create_connection(("127.0.0.1", port), 10) for port in (house.node_port, int(house.manager.rsplit(":", 1)[1]))]
        for program in ("sharpd", "sharp_an", "sharp_am"):
            self.assertEqual(house.kill(program, signal.SIGTERM), 0, house.log(program))
        for peer in stuck:
            peer.close()
        self.assertFalse(house.socket.exists())
        self.nothing_left()


def cpu_seconds(pid):
    fields = ground.read(f"/proc/{pid}/stat").decode().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def h2_frame(kind, flags, stream, body):
    return struct.pack(">I", len(body))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + body


def call(path, message):
    """Returns HEADERS and DATA of one gRPC call; every header is a literal, without compression."""
    headers = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "x", "te": "trailers", "content-type": "application/grpc"}
    block = b"".join(b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode() for name, value in headers.items())
    return h2_frame(1, 4, 1, block) + h2_frame(0, 0, 1, message)


if __name__ == "__main__":
    ground.main()
