#!/usr/bin/env python3
"""An ordinary user binds a dead parent's port. The messages of the child that comes back there contain no key, and nothing that lets the
user pass for a node, towards the child or towards the restarted nodes, or change the sum of another user's job as "node 77"."""

import os
import struct

import common
import grpc_wire as g
import impostor
import tenant
import wire

JOB = 4242  # a job that was never begun: any answer of the node about it shows that it believes us


def fields_of(message):
    """Returns the fields of a protobuf message, {number: value}; of repeated ones the last."""
    found, at = {}, 0

    def varint():
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(message):
        tag = varint()
        value = varint()
        if tag & 7 == 2:
            value, at = message[at : at + value], at + value
        found[tag >> 3] = value
    return found


def key_of(manager, name, port):
    """Run as root: returns (this node's key, its id), which the manager sends to any process that registers as the node."""
    connection = g.Connection(manager)
    connection.greet()
    connection.send(g.call("Node") + g.message(g.node_registers(name, f"tcp:127.0.0.1:{port}")))
    got = b""
    while len(got) < 5 or len(got) < 5 + struct.unpack_from(">I", got, 1)[0]:
        kind, _, _, content = connection.read()
        got += content if kind == g.DATA else b""
    connection.close()
    registered = fields_of(fields_of(got[5 : 5 + struct.unpack_from(">I", got, 1)[0]])[2])
    return registered[3], registered[1]


def changed_sum(house, tree_id, heard):
    """Returns the fault in the sum of a job's two members, 1.0 each, while a stranger claims to be node 77 with the second one below it."""
    job = tenant.Job(house.socket, 21, ranks=2)
    members = [job.member(rank) for rank in range(2)]
    group = members[0].open(1, 2)
    members[0].join(group, 0, 2)
    end, done = os.pipe()
    stranger = common.begun(impostor.adds_1000, house.ports["an-leaf"], tree_id, heard, group, job.chain, job.number, end)
    members[1].join(group, 1, 2)
    turned_away = members[1].joined() is None
    for rank, member in enumerate(members[: 1 if turned_away else 2]):
        member.contribute(group, 0, rank, data=struct.pack("<f", 1))
    head, body = members[0].expect(wire.RESULT, wire.REFUSED) if members[0].joined() else (None, b"")
    total = struct.unpack("<f", body)[0] if head is not None and head.kind == wire.RESULT else 0.0
    os.write(done, b"e")
    print(f"impostor-node: the sum is {total}; he was let in {stranger.result()} times; the real rank 1 {'was turned away' if turned_away else 'is in'}", flush=True)
    job.dies()
    return total - 2.0


def attack(rows, args):
    seconds = 30 if args.long else 4
    house = impostor.Tree("impostor-node")
    house.kill("an-root")
    listener = common.begun(impostor.serve, house.ports["an-root"], seconds)
    heard, believed = listener.result(seconds + 60)
    rows.add("impostor-node: children that came to him, none", "0 of 1", int(not heard), 0)
    rows.add("impostor-node: children that took him for the node", "children", believed, 0)
    own, root = key_of(house.manager, "an-root", house.ports["an-root"])
    child = struct.unpack_from("<I", bytes.fromhex(heard[0][1]), 28)[0]
    keys = [own, impostor.pair_key(own, heard[0][0], child, root)]
    rows.add("impostor-node: keys in what the child told an impostor", f"of {len(keys)}", sum(any(key.hex() in said for _, said in heard) for key in keys), 0)
    house.stand("an-root")
    found = common.until(lambda: common.re.findall(r"tree 1: id 0x([0-9a-f]+), this node is its root", house.log("an-root")), "the root stands again")
    tree_id, said = int(found[-1], 16), [words for _, words in heard[:5]]
    passed = sum(common.Stranger(impostor.passes, house.ports[node], tree_id, words, wire.NODE, number, JOB).result()
                 for node in house.ports for words in said for number in (1, 2, 77))
    rows.add("impostor-node: passed for a node by what he heard", f"of {6 * len(said)}", passed, 0)
    common.until(lambda: "connected to the parent an-root" in house.log("an-leaf")[-4000:], "the honest child is back")
    key = impostor.pair_key(own, tree_id, 77, root)
    impostor.must_pass(house.ports["an-root"], tree_id, said[0], wire.NODE, 77, JOB, key.hex())
    rows.add("impostor-node: a sum that an impostor changed as node 77", "is off by", changed_sum(house, tree_id, said), 0)
    done = house.job()
    rows.add("impostor-node: an honest job failed afterwards", "exit status", done.code, 0)
    house.close()


if __name__ == "__main__":
    common.main(attack, __doc__)
