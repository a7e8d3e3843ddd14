#!/usr/bin/env python3
"""Strangers at the store of sumac_collectives that join no job: one has taken its name, others send waits of NaN seconds, connections
without end, and values without end. The program of rank 0 keeps its processor and its memory, and a rank that comes then is served."""

import importlib.util
import os
import resource
import signal
import socket
import struct
import time

import common

SIZE = 2
DESCRIPTORS = 256
VALUE = 1 << 20


def store_of_build():
    """Returns store.py of the tree that is attacked."""
    path = common.source_of_build() / "bindings/python/sumac_collectives/store.py"
    spec = importlib.util.spec_from_file_location("store", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def serve(store, port):
    """Starts rank 0's process, which serves and does nothing else; returns its pid."""
    ready, said = os.pipe()
    pid = os.fork()
    if pid == 0:
        common.JANITOR.forget()
        common.ground.dies_with_us()
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        os.close(2)  # An older tree's thread ends with a traceback.
        try:
            store.Server(("127.0.0.1", port))
        except TypeError:
            store.Server(("127.0.0.1", port), SIZE)
        os.write(said, b"!")
        signal.pause()
    os.close(said)
    os.read(ready, 1)
    os.close(ready)
    return pid


def seconds_of(pid):
    """Returns the processor time of a process so far."""
    words = common.ground.read(f"/proc/{pid}/stat").decode().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid):
    return 1024 * int([line.split()[1] for line in common.ground.read(f"/proc/{pid}/status").decode().splitlines() if line.startswith("VmRSS")][0])


def settled(pid):
    """Waits until the server has accepted what it accepts."""
    counts = [0, 1]
    while counts[-1] != counts[-2] or counts[-1] < SIZE + 64:
        time.sleep(0.3)
        counts.append(len(os.listdir(f"/proc/{pid}/fd")))
        if len(counts) > 100:
            raise AssertionError(f"the server accepts no connections: {counts[-5:]}")


def dial(port):
    peer = socket.socket()
    peer.settimeout(5)
    peer.connect(("127.0.0.1", port))
    return peer


def frame(verb, name, value):
    return struct.pack("!BII", verb, len(name), len(value)) + name + value


def ask_nan(port):
    for at in range(4):
        dial(port).sendall(frame(2, b"never%d" % at, struct.pack("!d", float("nan"))))
    return 0


def connect(port, go):
    """Takes all descriptors of the server, and holds them."""
    common.many_descriptors(1024)
    held = []
    for _ in range(2 * DESCRIPTORS):
        peer = socket.socket()
        peer.setblocking(False)
        peer.connect_ex(("127.0.0.1", port))
        held.append(peer)
    os.write(go, b"!")
    signal.pause()


def fill(port, count):
    """Stores so many values, on as many connections as it takes."""
    sent, peer = 0, dial(port)
    for at in range(count):
        try:
            peer.sendall(frame(1, b"%d" % at, bytes(VALUE)))
            sent += len(peer.recv(9)) == 9
        except OSError:
            peer = dial(port)
    return sent


def take_name(name, go):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind("\0" + name)
    listener.listen(8)
    os.write(go, b"!")
    signal.pause()


def keeps(client):
    """Returns true if the store gives back what the client sets."""
    client.set("rank", b"x")
    return client.get("rank", 0) == b"x"


def meets(store, name):
    """Returns true if a store of this host's can be served and reached."""
    try:
        try:
            store.Server(name, SIZE)
        except TypeError:
            store.Server(name)
        return keeps(store.Client(name, 5.0))
    except OSError as why:
        print(f"a store of this host: {why}", flush=True)
        return False


def joins(store, port):
    """Returns true if a rank that comes now stores a value and reads it."""
    try:
        return keeps(store.Client(("127.0.0.1", port), 5.0))
    except OSError as why:
        print(f"a rank: {why}", flush=True)
        return False


def attack(rows, args):
    store, port = store_of_build(), common.free_port()
    name = f"sumac-collectives-0-guard-{os.getpid()}"
    squatter = common.begun(take_name, name)
    rows.add("python store: no store where a stranger has the name", "stores", int(not meets(store, name)), 0)
    squatter.end()
    pid = serve(store, port)
    try:
        common.Stranger(ask_nan, port).result()
        before = seconds_of(pid)
        time.sleep(2)  # measures what goes on meanwhile
        rows.add("python store: processor time after waits of NaN", "s of 2", seconds_of(pid) - before, 0.2)
        crowd = common.begun(connect, port)
        settled(pid)
        served = joins(store, port)
        rows.add("python store: a rank beside a crowd is not served", "ranks", int(not served), 0)
        crowd.end()
        rows.add("python store: a rank after a crowd is not served", "ranks", int(not joins(store, port)), 0)
        if served:
            count = 2000 if args.long else 200
            before = memory(pid)
            sent = common.Stranger(fill, port, count).result(100)
            rows.add(f"python store: memory for {sent} of {count} values of 1 MiB", "bytes", memory(pid) - before, (64 + 4 * SIZE + 16) << 20)
            rows.add("python store: a rank beside many values is not served", "ranks", int(store.Client(("127.0.0.1", port), 5.0).get("rank", 0) != b"x"), 0)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


common.main(attack, __doc__)
