#!/usr/bin/env python3
"""The manager dies while a job runs; for 30 s an ordinary user listens at its port and answers as a manager in clear text would. The user
learns nothing, and the job's sums stay exact."""

import socket
import subprocess
import time

import common
import grpc_wire as g


def answers(port, seconds):
    """Returns (connections, those that sent their identity in clear text, bytes)."""
    listener = socket.create_server(("127.0.0.1", port))
    until, callers, told, got = time.monotonic() + seconds, 0, 0, 0
    while (left := until - time.monotonic()) > 0:
        listener.settimeout(left)
        try:
            caller, _ = listener.accept()
            callers += 1
            caller.settimeout(1)
            caller.sendall(g.frame(g.SETTINGS, 0, 0))
            said = caller.recv(1 << 16)
            got += len(said)
            told += g.PREFACE[:8] in said or b"sumac.control" in said or b"localhost" in said
            caller.close()
        except OSError:
            continue
    return [callers, told, got]


def attack(rows, args):
    seconds = 30 if args.long else 3
    pki, fabric = common.ground.SCRATCH / "pki", common.ground.SCRATCH / "fabric.yaml"
    fabric.write_text(common.ground.FABRIC, encoding="utf-8")
    subprocess.run([common.BIN / "sumac", "pki", "init", pki, "--fabric", fabric], check=True, stdout=subprocess.DEVNULL)
    words = {program: ("--tls-dir", pki) for program in ("sharp_an", "sharpd")}
    words["sharp_am"] = ("--tls-dir", pki, "--state-dir", common.ground.SCRATCH / "state")
    house = common.House("impostor", listen="127.0.0.1:0", words=words, clear_text=False)
    job = house.steady()
    house.kill("sharp_am")
    callers, told, got = common.Stranger(answers, int(house.manager.rsplit(":", 1)[1]), seconds).result(seconds + 30)
    assert callers > 0, "the daemons looked for their manager"
    rows.add("impostor-manager: callers that said who they are", f"of {callers}, {got} bytes", told, 0)
    house.start_manager()
    house.says("sharp_am", "node node registered")
    code, out, err = job.end()
    rows.add("impostor-manager: the job that ran failed", "exit status", code, 0)
    rows.add("impostor-manager: wrong sums", "lines", (out + err).count("WRONG"), 0)
    rows.add("impostor-manager: the next job failed", "exit status", int(not common.ground.until(lambda: house.job().code == 0, "a job")), 0)
    house.close()


common.main(attack, __doc__)
