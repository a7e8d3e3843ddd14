#!/usr/bin/env python3
"""While the manager is away a stranger takes over its address: at its unix socket, and at its TCP port with certificates of the stranger's
own authority."""

import os
import socket
import subprocess
import time

import common


def binds(path):
    """Takes the name of the dead manager's socket; returns whether that was possible."""
    try:
        os.unlink(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
    except OSError:
        return 0
    return 1


def listens(path, seconds):
    """Listens at the socket for so long; returns (connections, bytes that they brought)."""
    os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    os.chmod(path, 0o666)
    listener.listen(64)
    until, callers, got = time.monotonic() + seconds, 0, 0
    while (left := until - time.monotonic()) > 0:
        listener.settimeout(left)
        try:
            caller, _ = listener.accept()
            callers += 1
            caller.settimeout(max(0.1, until - time.monotonic()))
            got += len(caller.recv(1 << 16))
        except OSError:
            continue
    return [callers, got]


def at_the_socket(rows, seconds):
    house = common.House("manager-address-unix", words={"sharp_am": ("--state-dir", common.ground.SCRATCH / "manager-address-state")})
    path = house.manager[5:]
    house.kill("sharp_am")
    rows.add("manager-address: stranger binds the manager's socket", "sockets", common.Stranger(binds, path).result(), 0)
    os.chmod(house.folder, 0o777)  # this imitates an operator's mistake
    callers, got = common.Stranger(listens, path, seconds).result(seconds + 30)
    assert callers > 0, "the daemons looked for their manager"
    rows.add("manager-address: bytes sent to a stranger at the socket", f"of {callers} connections", got, 0)
    house.says("sharp_an", "not the manager at unix:.*user 65534 listens")
    house.says("sharpd", "not the manager at unix:.*user 65534 listens")
    os.chmod(house.folder, 0o755)
    house.start_manager()
    house.says("sharp_am", "node node registered")
    rows.add("manager-address: job failed when the manager was back", "exit status", int(not common.ground.until(lambda: house.job().code == 0, "a job")), 0)
    house.close()


def at_the_port(rows, seconds):
    ours, theirs = common.ground.SCRATCH / "manager-address-pki", common.ground.SCRATCH / "manager-address-stranger"
    fabric = common.ground.SCRATCH / "manager-address-fabric.yaml"
    fabric.write_text(common.ground.FABRIC, encoding="utf-8")
    theirs.mkdir()
    os.chown(theirs, common.UID, common.UID)
    for folder, user in ((ours, {}), (theirs / "pki", common.AS_STRANGER)):
        subprocess.run([common.BIN / "sumac", "pki", "init", folder, "--fabric", fabric], check=True, stdout=subprocess.DEVNULL, **user)
    words = {program: ("--tls-dir", ours) for program in ("sharp_am", "sharp_an", "sharpd")}
    house = common.House("manager-address-tls", listen="127.0.0.1:0", words=words, clear_text=False)
    assert "with mutual TLS" in house.log("sharp_am")
    house.kill("sharp_am")
    with open(theirs / "log", "wb") as log:
        stranger = common.ground.processes.start([common.BIN / "sharp_am", "--fabric", fabric, "--listen", house.manager, "--tls-dir",
                                                 theirs / "pki"], stdout=log, stderr=log, env=common.ground.environment(), **common.AS_STRANGER)
    time.sleep(seconds)  # the time that the stranger has; we wait for nothing here
    assert stranger.poll() is None, (theirs / "log").read_text()
    rows.add("manager-address: daemons that registered with a stranger", "lines", (theirs / "log").read_text().count(" registered"), 0)
    stranger.terminate()
    stranger.wait(30)
    house.start_manager()
    house.says("sharp_am", "node node registered")
    rows.add("manager-address: job failed behind a stranger at the port", "exit status", int(not common.ground.until(lambda: house.job().code == 0, "a job")), 0)
    house.close()


def attack(rows, args):
    seconds = 10 if args.long else 2
    at_the_socket(rows, seconds)
    at_the_port(rows, seconds)


common.main(attack, __doc__)
