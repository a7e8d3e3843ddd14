#!/usr/bin/env python3
"""An ordinary user binds the abstract name of root's lab and waits for a call, which would bring an environment, a terminal and typed text."""

import array
import os
import pathlib
import socket
import subprocess
import time

import common

SECRETS = {"MY_API_TOKEN": "s3cret-1", "DB_PASSWORD": "s3cret-2", "AWS_SECRET_ACCESS_KEY": "s3cret-3", "SSH_AUTH_SOCK": "/s3cret-4"}


def lies_in_wait(name, seconds):
    """Listens as root's lab would; returns (calls, descriptors that they brought)."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(b"\0" + name.encode())
    listener.listen(8)
    print("bound", flush=True)
    until, calls, got = time.monotonic() + seconds, 0, 0
    while (left := until - time.monotonic()) > 0:
        listener.settimeout(left)
        try:
            caller, _ = listener.accept()
            calls += 1
            caller.settimeout(1)
            _, more, _, _ = caller.recvmsg(1 << 16, socket.CMSG_SPACE(16 * 4))
            for _, _, data in more:
                fds = array.array("i")
                fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
                got += len(fds)
        except OSError:
            continue
    return [calls, got]


def bound(name):
    return f"@{name}" in pathlib.Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace")


def attack(rows, _args):
    lab = f"guard-{os.getpid()}"
    name = f"sumac-lab/{os.geteuid()}/{lab}"
    stranger = common.Stranger(lies_in_wait, name, 3)
    common.ground.until(lambda: bound(name), "the stranger's socket")
    env = common.ground.environment(SECRETS)
    said = ""
    for words in (["exec", "--name", lab, "h1", "--", "true"], ["status", "--name", lab], ["down", "--name", lab]):
        done = subprocess.run([common.BIN / "sumac", "lab", *words], input="typed", capture_output=True, text=True, env=env, check=False, timeout=60)
        assert done.returncode != 0, done
        said += done.stderr
    calls, got = stranger.result()
    rows.add("lab-name: descriptors that a stranger was handed", f"of {calls} calls", got, 0)
    rows.add("lab-name: calls that do not name the stranger", "of 3", 3 - said.count(f"user {common.UID} listens at"), 0)


common.main(attack, __doc__)
