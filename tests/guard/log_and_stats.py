#!/usr/bin/env python3
"""A stranger must get nothing through a daemon that runs as root: no escape sequence into its log, no file of others overwritten by
--stats-file or --log-file."""

import os
import signal
import subprocess

import common

NAME = "a\u009b2Jb"  # U+009B begins an escape sequence as ESC [ does


def plant(path, victim, kind):
    """Plants, in a directory where every user may write, a link or a file of the stranger's own."""
    if kind == "link":
        os.symlink(victim, path)
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write("theirs")
    return True


def attack(rows, _args):
    shared = common.ground.SCRATCH / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    victim = common.ground.SCRATCH / "victim"
    victim.write_text("precious")
    stats = shared / "stats.json"
    house = common.house_with_open_manager("log-and-stats", sharpd=False, words={"sharp_an": ["--stats-file", stats]})
    for kind in ("link", "file"):
        common.Stranger(plant, str(stats), str(victim), kind).result()
        before = house.log("sharp_an").count("--stats-file")
        house.processes["sharp_an"].send_signal(signal.SIGUSR1)
        target = victim if kind == "link" else stats
        former = "precious" if kind == "link" else "theirs"
        common.until(lambda target=target, former=former, before=before: target.read_text() != former
                     or house.log("sharp_an").count("--stats-file") > before, "the node has tried", 20)
        rows.add(f"log-and-stats: --stats-file writes through or over a stranger's {kind}", "files", int(target.read_text() != former), 0)
        stats.unlink()
    house.processes["sharp_an"].send_signal(signal.SIGUSR1)
    common.until(stats.exists, "the statistics are written where nobody is in the way", 20)

    log = shared / "log"
    common.Stranger(plant, str(log), str(victim), "link").result()
    before = victim.read_bytes()
    try:
        subprocess.run([common.BIN / "sharp_an", "--name", "n", "--manager", house.manager, "--listen", "127.0.0.1:0", "--log-file", log, "--log-level", "5"],
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=3, check=False, preexec_fn=common.ground.dies_with_us)
    except subprocess.TimeoutExpired:
        pass  # the node runs, and has begun its log
    rows.add("log-and-stats: --log-file writes through a stranger's link", "files", int(victim.read_bytes() != before), 0)

    command = [str(common.BIN / "sharp_an"), "--name", NAME, "--manager", house.manager, "--listen", "127.0.0.1:0"]
    common.Stranger(common.try_program, command).result()
    log = (house.folder / "sharp_am.log").read_bytes()
    rows.add("log-and-stats: C1 controls of a stranger in the manager's log", "bytes", sum(log.count(bytes([0xC2, byte])) for byte in range(0x80, 0xA0)), 0)


common.main(attack, __doc__)
