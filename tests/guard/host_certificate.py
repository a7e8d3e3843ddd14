#!/usr/bin/env python3
"""The owner of one host's certificate asks the manager for jobs on others."""

import ssl
import subprocess

import common
import grpc_wire as g

FABRIC = "name: t\nswitches: [s]\nhosts: {localhost: {leaf: s}, broken: {leaf: s}}\nnodes: {node: {switch: s}}\n"
GRANTED, REFUSED = 2, 3  # field numbers of HostDown


def begins(endpoint, pki, hosts, number):
    """Returns the manager's answer to host `broken`, which asks for a job on these hosts."""
    connection = g.Connection(endpoint)
    context = ssl.create_default_context(cafile=pki / "ca.crt")
    context.load_cert_chain(pki / "host-broken.crt", pki / "host-broken.key")
    context.set_alpn_protocols(["h2"])
    connection.socket = context.wrap_socket(connection.socket, server_hostname="sharp-am.sumac.internal")
    connection.greet()
    begin = g.field(1, number) + g.field(2, number) + g.field(3, len(hosts)) + b"".join(g.field(4, host) for host in hosts) + g.field(8, 4711)
    connection.send(g.call("Host") + g.message(g.host_registers("broken", 1000 + number)))
    connection.send(g.message(g.field(2, begin)))
    while True:
        kind, flags, _, content = connection.read()
        if kind == g.DATA and content and content[5] >> 3 in (GRANTED, REFUSED):
            connection.close()
            return content[5] >> 3, content.decode(errors="replace")
        assert not (kind in (g.HEADERS, g.RESET) and flags & g.END_STREAM), content


def attack(rows, _args):
    pki, fabric = common.ground.SCRATCH / "pki", common.ground.SCRATCH / "fabric.yaml"
    fabric.write_text(FABRIC, encoding="utf-8")
    subprocess.run([common.BIN / "sumac", "pki", "init", pki, "--fabric", fabric], check=True, stdout=subprocess.DEVNULL)
    files = {"sharp_am": "manager-am", "sharp_an": "node-node", "sharpd": "host-localhost"}
    words = {program: ("--tls-ca", pki / "ca.crt", "--tls-cert", pki / f"{stem}.crt", "--tls-key", pki / f"{stem}.key")
             for program, stem in files.items()}
    house = common.House("host-certificate", listen="127.0.0.1:0", words=words, fabric=FABRIC, clear_text=False)
    what, _ = begins(house.manager, pki, ["broken", "localhost"], 1)
    rows.add("host-certificate: a job on the caller's own host refused", "jobs", int(what != GRANTED), 0)
    what, text = begins(house.manager, pki, ["localhost"], 2)
    rows.add("host-certificate: jobs begun on others' hosts only", "of 1", int(what == GRANTED), 0)
    if what == REFUSED:
        assert "host broken is none of the job's hosts" in text, text
    rows.add("host-certificate: an honest job failed", "exit status", house.job().code, 0)
    house.close()


common.main(attack, __doc__)
