#!/usr/bin/env python3
"""An ordinary user binds a dead leaf's port: ranks that begin there send no key and nothing that lets the user pass for them, the user
cannot pass for a leaf, and no job gets a wrong sum: not the one that ran when the leaf died, not those that begin at the port, not the
next one."""

import os
import signal
import struct
import time

import common
import impostor
import wire

RANKS = 3


class Begun:
    """A job whose ranks know its grant and wait before they connect to the leaf."""

    def __init__(self, house, name):
        self.file = house.folder / f"{name}.grant"
        env = {"SHARP_COLL_SHARPD_SOCKET_NAME": str(house.socket), "STEADY_GRANT": str(self.file), "SHARP_COLL_JOB_CREATE_TIMEOUT": "4000"}
        self.steady = common.ground.Steady(RANKS, env, ready=False)
        grant = common.until(lambda: common.ground.read(self.file), "the ranks know their grant")
        # The file has the JobHead of client/job.cpp (56 bytes, the job's id at 8) and then job_granted: a header of 24
        # bytes, and the body with the key at 64.
        self.number, self.key = struct.unpack_from("<Q", grant, 8)[0], grant[144:160]

    def goes_on(self):
        os.unlink(self.file)

    def lines(self):
        """Returns its output, once it has ended."""
        if self.steady.process.stdin:
            self.steady.process.stdin.close()
            self.steady.process.stdin = None
        _, out, err = self.steady.ended()
        print(f"impostor-leaf: {out.strip().splitlines()[-1]}", flush=True)
        return out + err


def attack(rows, args):
    seconds = 30 if args.long else 3
    # The held job must still exist when the leaf is back.
    house = impostor.Tree("impostor-leaf", words={"sharp_am": ("--node-away", f"{seconds + 30}s")})
    running = house.steady(RANKS)
    wrong = Begun(house, "begins")
    # The rank that has asked for the job is stopped, so the job stays when the others have given up.
    held = Begun(house, "held")
    os.kill(held.steady.pids[0], signal.SIGSTOP)
    house.kill("an-leaf")
    start = time.monotonic()
    listener = common.begun(impostor.serve, house.ports["an-leaf"], seconds)
    for job in (wrong, held):
        job.goes_on()
    code, out, err = running.ended(30)
    rows.add("impostor-leaf: the job that ran, until it knows", "s", time.monotonic() - start, 5)
    rows.add("impostor-leaf: its wrong sums", "lines", (out + err).count("WRONG") + int(code == 0), 0)
    heard, believed = listener.result(seconds + 60)
    rows.add("impostor-leaf: ranks that came to him, none", f"0 of {2 * RANKS - 1}", int(not heard), 0)
    rows.add("impostor-leaf: ranks that took him for the leaf", f"of {len(heard)}", believed, 0)
    rows.add("impostor-leaf: ranks that told an impostor their job's key", f"of {len(heard)}", sum(job.key.hex() in said for job in (wrong, held) for _, said in heard), 0)
    rows.add("impostor-leaf: wrong sums of ranks that began there", "lines", wrong.lines().count("WRONG"), 0)
    house.stand("an-leaf")
    common.until(lambda: "connected to the parent an-root" in house.log("an-leaf").rsplit("listens on", 1)[1], "the leaf is back")
    said = [words for words in heard if struct.unpack_from("<Q", bytes.fromhex(words[1]))[0] == held.number]
    passed = sum(common.Stranger(impostor.passes, house.ports["an-leaf"], tree_id, words, wire.CLIENT, number, held.number).result()
                 for tree_id, words in said for number in range(RANKS))
    rows.add("impostor-leaf: passed for a rank by what he heard", f"of {RANKS * len(said)}", passed, 0)
    impostor.must_pass(house.ports["an-leaf"], *said[0], wire.CLIENT, 1, held.number, held.key.hex())
    os.kill(held.steady.pids[0], signal.SIGCONT)
    rows.add("impostor-leaf: wrong sums of the other job that began there", "lines", held.lines().count("WRONG"), 0)
    done = house.job()
    rows.add("impostor-leaf: an honest job failed afterwards", "exit status", done.code, 0)
    house.close()


if __name__ == "__main__":
    common.main(attack, __doc__)
