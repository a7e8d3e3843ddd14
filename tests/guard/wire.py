"""Bytes of the tcp transport (src/net/tcp_frame.hpp) and of hop messages (docs/reference.md), for links that no real library would make."""

import collections
import encodings.idna  # noqa: F401  pylint: disable=unused-import  # sockets need it, and a stranger may not read where it lies
import hmac
import socket
import struct

MESSAGE_MAX = 1 << 20

# These are the numbers of net::FrameType.
FRAME_HELLO, FRAME_WELCOME, FRAME_DATA, FRAME_PING, FRAME_PONG = range(1, 6)
# These are the numbers of wire::AggKind.
HELLO, OPEN, JOIN, CONTRIBUTE = range(1, 5)
TROUBLE, NAME, PROOF = range(7, 10)
OPENED, JOINED, REFUSED, RESULT, VERDICT, OVER, WELCOME, INVITED = range(16, 24)
# These are the numbers of wire::Role.
CLIENT, NODE = 1, 2

HEADER = struct.Struct("<HBBIIIIBBBBHHIQQIIQ")
HEADER_FIELDS = ("magic version kind tree_id group_id zero sequence coll op dtype tag_dtype flags root payload_bytes count first origin "
                 "members reserved")
Header = collections.namedtuple("Header", HEADER_FIELDS)
NO_RANK = 0xFFFFFFFF
NULL = 12  # this number means "none" in Op and Dtype


def frame(kind, content=b""):
    return struct.pack("<HBBI", 0x4653, kind, 0, len(content)) + content


def greeting(message_max=MESSAGE_MAX):
    """Returns the first 16 bytes from the side that connects."""
    return frame(FRAME_HELLO, struct.pack("<HHI", 1, 0, message_max))


def agg(kind, body=b"", **fields):
    """Returns a hop message: its header and body. `fields` have their names in AggHeader."""
    given = dict.fromkeys(Header._fields, 0)
    given.update(magic=0x4153, version=1, kind=kind, op=NULL, dtype=NULL, tag_dtype=NULL, origin=NO_RANK, payload_bytes=len(body))
    given.update(fields)
    return HEADER.pack(*Header(**given)) + body


def hello(job_id=0, nonce=bytes(16), role=CLIENT, number=0, version=1, options=0):
    """Returns the body of hello."""
    return struct.pack("<Q16sIIII", job_id, nonce, role, number, version, options)


def proof(key, tree_id, hello_body, welcome_body, address, side=b"sumac child v1 \n"):
    """Returns the body of a proof (docs/reference.md): the child sends it to show that it knows the key."""
    said = welcome_body[:16] + bytes(32) + welcome_body[48:]
    return hmac.digest(key, side + struct.pack("<I", tree_id) + hello_body + said + address.encode(), "sha256")


class Link:
    """A connection to a node, greeted, that sends and reads messages. It raises OSError if the node closed it. `receive_buffer`: the bytes
    that the kernel accepts before they are read; 0: the kernel's default."""

    def __init__(self, port, host="127.0.0.1", seconds=10, greet=True, receive_buffer=0):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(seconds)
        self.socket.connect((host, port))
        self.have = b""
        if greet:
            self.socket.sendall(greeting())
            kind, _ = self.read_frame()
            if kind != FRAME_WELCOME:
                raise AssertionError(f"a frame of kind {kind} instead of a welcome")

    @classmethod
    def adopt(cls, connection):
        """Wraps an open connection; its earlier traffic does not matter."""
        link = cls.__new__(cls)
        link.socket, link.have = connection, b""
        return link

    def read_bytes(self, count):
        while len(self.have) < count:
            got = self.socket.recv(1 << 16)
            if not got:
                raise ConnectionResetError(f"closed behind {len(self.have)} of {count} bytes")
            self.have += got
        head, self.have = self.have[:count], self.have[count:]
        return head

    def read_frame(self):
        magic, kind, _, length = struct.unpack("<HBBI", self.read_bytes(8))
        if magic != 0x4653:
            raise AssertionError(f"no frame: magic {magic:#x}")
        return kind, self.read_bytes(length)

    def send(self, kind, body=b"", **fields):
        self.socket.sendall(frame(FRAME_DATA, agg(kind, body, **fields)))

    def read(self):
        """Returns the next message: (Header, body). Pings are answered."""
        while True:
            kind, content = self.read_frame()
            if kind == FRAME_PING:
                self.socket.sendall(frame(FRAME_PONG))
            if kind == FRAME_DATA:
                return Header(*HEADER.unpack_from(content)), content[HEADER.size :]

    def close(self):
        self.socket.close()
