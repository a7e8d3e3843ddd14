#!/usr/bin/env python3
"""Writes the seeds of the tcp stream fuzzer: scripts in the form that src/net/tcp_frame_fuzz.cpp reads (cuts, greeting, blocks)."""
import pathlib

HERE = pathlib.Path(__file__).resolve().parent / "tcp_frame"
HELLO = b"\x02\xff\x0f"  # a good hello, message_max 4095


def word(n: int) -> bytes:
    return n.to_bytes(2, "little")


def frame(kind: int, length: int) -> bytes:
    return bytes([64 | kind]) + word(length)


def lie(kind: int, claimed: int, real: int) -> bytes:
    return bytes([64 | 16 | kind]) + word(claimed) + word(real)


SEEDS = {
    "greeting-only": b"\x00" + HELLO,
    "one-message": b"\x00" + HELLO + frame(3, 64),
    "byte-by-byte": b"\x01\x00" + HELLO + frame(3, 0) + frame(3, 1) + frame(3, 200),
    "uneven-cuts": b"\x03\x00\x06\xff" + HELLO + frame(3, 4096) + frame(4, 0) + frame(5, 0) + frame(3, 63),
    "over-the-limit": b"\x00" + HELLO + frame(3, 4097),
    "huge-length": b"\x00" + HELLO + bytes([64 | 8 | 3]) + b"\xff\xff",
    "shorter-than-claimed": b"\x00" + HELLO + lie(3, 100, 50),
    "longer-than-claimed": b"\x02\x07\x01" + HELLO + lie(3, 100, 150),
    "ping-with-length": b"\x00" + HELLO + frame(4, 1),
    "second-greeting": b"\x00" + HELLO + frame(1, 8),
    "wrong-greeting": b"\x00\x01\x00\x10" + frame(3, 8),
    "no-greeting": b"\x00\x00" + frame(3, 8),
    "raw": b"\x00\x00" + bytes([16]) + b"GET / HTTP/1.1\r\n",
    "raw-behind-frame": b"\x01\x02" + HELLO + frame(3, 5) + bytes([12]) + b"\x53\x46\x03\x00\x02\x00\x00\x00okSF",
}

for name, data in SEEDS.items():
    (HERE / name).write_bytes(data)
