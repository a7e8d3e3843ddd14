#!/usr/bin/env python3
"""While the manager is away an ordinary user takes the ports of its page and metrics. The daemons start nevertheless and serve both once
the ports are free. Whatever the user served there, no origin that he could have served answers with data afterwards: a service worker of
his, which outlives him in an operator's browser, would read the operator's next token. A site whose name leads here (DNS rebinding) gets no
metrics."""

import http.client
import json
import os
import socket
import subprocess
import time

import common


def take(ports, go):
    """Listens at the ports until it is ended."""
    listeners = []
    for port in ports:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
        listeners.append(listener)
    os.write(go, b"!")
    time.sleep(1000)


def ticket(house):
    done = subprocess.run([common.BIN / "sumac", "page", "--json", "--manager", house.manager], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def answer(port, path, host, token=""):
    """Returns the status, or 0 if nothing answers within a second."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.putrequest("GET", path, skip_host=True)
        connection.putheader("Host", host)
        if token:
            connection.putheader("Authorization", f"Bearer {token}")
        connection.endheaders()
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def attack(rows, _args):
    page, *metrics = [common.free_port() for _ in range(4)]
    words = {program: ["--metrics-listen", f"127.0.0.1:{port}"] for program, port in zip(("sharp_am", "sharp_an", "sharpd"), metrics)}
    words["sharp_am"] += ["--page-listen", f"127.0.0.1:{page}", "--log-level", "3"]
    house = common.House("taken-port", words=words)
    first = ticket(house)
    for program in ("sharp_am", "sharp_an", "sharpd"):
        house.kill(program)
    stranger = common.begun(take, [page, *metrics])
    down = 0
    for start in (house.start_manager, house.start_node, house.start_sharpd):
        try:
            start()
        except AssertionError as why:
            print(why, flush=True)
            down += 1
    rows.add("taken port: daemons that did not start", "of 3", down, 0)
    if down == 0:
        rows.add("taken port: a job failed meanwhile", "exit status", house.job().code, 0)
    stranger.end()
    if down:
        for program in list(house.processes):
            house.kill(program)
        for start in (house.start_manager, house.start_node, house.start_sharpd):
            start()
    for at, port in enumerate(metrics):
        common.until(lambda port=port: answer(port, "/metrics", "localhost") == 200, f"metrics {at}", 20)
    foreign = [port for port in metrics if answer(port, "/metrics", f"evil.example:{port}") == 200]
    rows.add("taken port: metrics given to a name that leads here", "of 3", len(foreign), 0)
    second = ticket(house)
    own = second["site"].split("//")[1]
    common.until(lambda: answer(page, "/api/v1/jobs", own, second["token"]) == 200, "the page", 20)
    before = {f"127.0.0.1:{page}", f"localhost:{page}", f"[::1]:{page}", first["site"].split("//")[1]}
    data = [host for host in sorted(before) if answer(page, "/api/v1/jobs", host, second["token"]) == 200]
    rows.add("taken port: origins served before that have data", f"of {len(before)}", len(data), 0)
    house.close()


common.main(attack, __doc__)
