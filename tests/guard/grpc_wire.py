"""Bytes of gRPC (HTTP/2) and of src/control/control.proto, for callers of the manager that no real library would make."""

import re
import socket
import struct

import common

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
UNKNOWN = 0xEE  # a type of frame that every receiver must ignore


def control_version():
    """Returns kControlVersion of the tree whose programs are attacked."""
    header = common.source_of_build() / "src/control/command_line.hpp"
    return int(re.search(r"kControlVersion = (\d+)", header.read_text(encoding="utf-8"))[1])


def frame(kind, flags, stream, content=b""):
    return struct.pack(">I", len(content))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + content


def literal(name, value):
    """Returns a header field without an index and without Huffman's code."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def call(method, stream=1):
    path = f"/sumac.control.v1.Manager/{method}".encode()
    fields = ((b":method", b"POST"), (b":scheme", b"http"), (b":path", path), (b":authority", b"am"), (b"te", b"trailers"),
              (b"content-type", b"application/grpc"))
    return frame(HEADERS, END_HEADERS, stream, b"".join(literal(*field) for field in fields))


def message(body, stream=1, last=False):
    return frame(DATA, END_STREAM if last else 0, stream, b"\0" + struct.pack(">I", len(body)) + body)


# ---- protobuf


def varint(number):
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def node_registers(name, address="tcp:127.0.0.1:1", life=77):
    """Returns a NodeUp that claims to be this node."""
    listening = field(2, address)
    return field(1, field(1, control_version()) + field(2, name) + field(3, listening) + field(4, 64) + field(5, 8) + field(6, 256) + field(8, life))


def host_registers(host, life=78):
    return field(1, field(1, control_version()) + field(2, host) + field(3, life))


class Connection:
    """A connection to the manager at `endpoint`, which is unix:PATH or ADDR:PORT; raises OSError if the manager hangs up."""

    def __init__(self, endpoint, seconds=10):
        local = endpoint.startswith("unix:")
        host, port = endpoint.rsplit(":", 1)
        # create_connection() would load files of Python, which a stranger may not be able to read.
        self.socket = socket.socket(socket.AF_UNIX if local else socket.AF_INET, socket.SOCK_STREAM)
        self.socket.settimeout(seconds)
        self.socket.connect(endpoint[5:] if local else (host, int(port)))
        self.have = b""

    def send(self, data):
        self.socket.sendall(data)

    def greet(self):
        self.send(PREFACE + frame(SETTINGS, 0, 0))

    def read(self):
        """Returns the next frame: (kind, flags, stream, content). Settings and pings are answered."""
        while True:
            while len(self.have) < 9 or len(self.have) < 9 + int.from_bytes(self.have[:3], "big"):
                got = self.socket.recv(1 << 16)
                if not got:
                    raise ConnectionResetError("the manager hung up")
                self.have += got
            length = int.from_bytes(self.have[:3], "big")
            kind, flags, stream = self.have[3], self.have[4], int.from_bytes(self.have[5:9], "big")
            content, self.have = self.have[9 : 9 + length], self.have[9 + length :]
            if kind == SETTINGS and not flags & ACK:
                self.send(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                self.send(frame(PING, ACK, 0, content))
            elif kind == DATA and content:
                self.send(frame(WINDOW, 0, 0, struct.pack(">I", len(content))))
                return kind, flags, stream, content
            else:
                return kind, flags, stream, content

    def close(self):
        self.socket.close()
