#!/usr/bin/env python3
"""Strangers begin calls at the manager and never end their messages, which gRPC keeps until the last byte: messages that are too long,
messages of the longest length that is allowed, and these byte by byte. An ordinary user does it at the unix socket, and the owner of a
host's certificate at the TLS port. Whose connection the manager closes, comes again."""

import selectors
import socket
import ssl
import struct
import subprocess
import time

import common
import grpc_wire as g

STREAMS = 64
TOO_LONG = (8 << 20) - 1  # for an ordinary user
OF_STRANGERS, OF_DAEMONS = 64 << 10, 8 << 20  # kStrangerMessageBytesMax, kMessageBytesMax
FRAME = 1 << 14
GROWTH = 64 << 20  # for 1 MiB of an ordinary user's, or 16 MiB of a certificate's, that gRPC keeps, and connections that come and go


class Unfinished:
    """A connection that sends the beginnings of messages, as far as the manager's windows allow."""

    def __init__(self, peer, message, frame):
        self.peer, self.have, self.closed, self.sent, self.frame = peer, b"", False, 0, frame
        self.window, self.first, self.more = 65535, 65535, {}
        self.left = {2 * at + 1: message - 1 for at in range(STREAMS)}
        self.out = bytearray(g.PREFACE + g.frame(g.SETTINGS, 0, 0))
        for stream in self.left:
            self.out += g.call("Ping", stream) + g.frame(g.DATA, 0, stream, b"\0" + struct.pack(">I", message))
            self.more[stream] = -5
        self.window -= 5 * STREAMS

    def heard(self, data):
        self.have += data
        while len(self.have) >= 9 and len(self.have) >= 9 + (length := int.from_bytes(self.have[:3], "big")):
            kind, flags, stream = self.have[3], self.have[4], int.from_bytes(self.have[5:9], "big")
            content, self.have = self.have[9 : 9 + length], self.have[9 + length :]
            if kind == g.SETTINGS and not flags & g.ACK:
                for at in range(0, length, 6):
                    name, value = struct.unpack(">HI", content[at : at + 6])
                    self.first = value if name == 4 else self.first
                self.out += g.frame(g.SETTINGS, g.ACK, 0)
            elif kind == g.PING and not flags & g.ACK:
                self.out += g.frame(g.PING, g.ACK, 0, content)
            elif kind == g.WINDOW and stream == 0:
                self.window += int.from_bytes(content, "big")
            elif kind == g.WINDOW and stream in self.more:
                self.more[stream] += int.from_bytes(content, "big")
            elif kind == g.RESET or (kind == g.HEADERS and flags & g.END_STREAM):
                self.left.pop(stream, None)
            elif kind == g.GOAWAY:
                self.closed = True

    def fill(self):
        """Adds what the windows allow."""
        for stream in list(self.left):
            bytes_now = min(self.frame, self.window, self.first + self.more[stream], self.left[stream])
            if bytes_now <= 0 or len(self.out) > 4 * FRAME:
                continue
            self.out += g.frame(g.DATA, 0, stream, bytes(bytes_now))
            self.window -= bytes_now
            self.more[stream] -= bytes_now
            self.left[stream] -= bytes_now
            self.sent += bytes_now

    def step(self):
        try:
            self.heard(self.peer.recv(1 << 16) or self.end())
        except (BlockingIOError, ssl.SSLWantReadError):
            pass
        except OSError:
            self.end()
        try:
            self.fill()
            while self.out and not self.closed:
                del self.out[: self.peer.send(self.out)]
                self.fill()
        except (BlockingIOError, ssl.SSLWantWriteError):
            pass
        except OSError:
            self.end()

    def end(self):
        self.closed = True
        return b""


def begin(connect, connections, seconds, message, frame):
    """Sends for so long; returns the bytes that were accepted."""
    peers, sent = [], 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        while len(peers) < connections:
            try:
                peers.append(Unfinished(connect(), message, frame))
            except OSError:
                break  # the manager takes no more of this user
            peers[-1].peer.setblocking(False)
        with selectors.DefaultSelector() as ready:
            for one in peers:
                ready.register(one.peer, selectors.EVENT_READ | (selectors.EVENT_WRITE if one.out else 0))
            ready.select(0.05)
        for one in peers:
            one.step()
            if one.closed:
                sent += one.sent
                one.peer.close()
        peers = [one for one in peers if not one.closed]
    return sent + sum(one.sent for one in peers)


def at_socket(path, *more):
    def connect():
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        peer.connect(path)
        return peer

    return begin(connect, *more)


def attack(rows, args):
    connections, seconds = (64, 30) if args.long else (4, 2)
    house = common.House("unfinished-calls")
    manager = house.processes["sharp_am"]
    before = common.memory_of(manager)
    for name, message, frame in (("too long", TOO_LONG, FRAME), ("as long as allowed", OF_STRANGERS, FRAME), ("byte by byte", OF_STRANGERS, 1)):
        sent = common.Stranger(at_socket, house.manager[5:], connections, seconds, message, frame).result(seconds + 60)
        grown = max(0, common.memory_of(manager, "VmHWM") - before)
        rows.add(f"unfinished calls: memory, messages {name}, {sent >> 10} KiB sent", "bytes", grown, GROWTH)
    rows.add("unfinished calls: an honest job failed", "exit status", house.job().code, 0)
    house.close()
    if args.long:
        with_certificate(rows, connections, seconds)


def with_certificate(rows, connections, seconds):
    pki, fabric = common.ground.SCRATCH / "unfinished-pki", common.ground.SCRATCH / "unfinished.yaml"
    fabric.write_text(common.ground.FABRIC, encoding="utf-8")
    subprocess.run([common.BIN / "sumac", "pki", "init", pki, "--fabric", fabric], check=True, stdout=subprocess.DEVNULL)
    words = {program: ("--tls-dir", pki) for program in ("sharp_am", "sharp_an", "sharpd")}
    house = common.House("unfinished-tls", listen="127.0.0.1:0", words=words, clear_text=False)
    manager = house.processes["sharp_am"]
    trust = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    trust.check_hostname = False
    trust.load_cert_chain(pki / "host-localhost.crt", pki / "host-localhost.key")
    trust.set_alpn_protocols(["h2"])
    port = int(house.manager.rsplit(":", 1)[1])
    before = common.memory_of(manager)
    for name, message, frame in (("too long", OF_DAEMONS + 2, FRAME), ("as long as allowed", OF_DAEMONS, FRAME), ("byte by byte", OF_DAEMONS, 1)):
        sent = begin(lambda: trust.wrap_socket(socket.create_connection(("127.0.0.1", port), 10)), connections, seconds, message, frame)
        grown = max(0, common.memory_of(manager, "VmHWM") - before)
        rows.add(f"unfinished calls by TLS: memory, messages {name}, {sent >> 10} KiB sent", "bytes", grown, 2 * GROWTH)
    common.until(lambda: house.job().code == 0, "an honest job by TLS")
    rows.add("unfinished calls by TLS: the manager ended", "managers", int(manager.poll() is not None), 0)
    house.close()


common.main(attack, __doc__)
