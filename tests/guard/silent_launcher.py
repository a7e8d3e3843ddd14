#!/usr/bin/env python3
"""A launcher that closes its output and lives on does not hold `sumac run`, which waits seconds for its end and then kills it."""

import subprocess
import time

import common

SAYS = "closed its output, went on without it and was killed: no more to say"
LIMIT = 20  # seconds; the launcher sleeps for much longer


def attack(rows, _args):
    launcher = common.ground.SCRATCH / "launcher"
    launcher.write_text("#!/bin/sh\necho 'no more to say' >&2\nexec >&-\nsleep 1000\n")
    launcher.chmod(0o755)
    command = [common.BIN / "sumac", "run", "--hosts", "a", "--address", "127.0.0.1", "--launcher", launcher, "true"]
    began = time.monotonic()
    process = common.ground.processes.start(command, env=common.ground.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        said = process.communicate(timeout=LIMIT + 5)[1]
    except subprocess.TimeoutExpired:
        said = "nothing"
    rows.add("silent-launcher: sumac run waits for the launcher", "s", round(time.monotonic() - began, 1), LIMIT)
    rows.add("silent-launcher: it does not say what happened", "lines", int(SAYS not in said), 0)
    rows.add("silent-launcher: processes left", "processes", len(common.ground.marked()), 0)


common.main(attack, __doc__)
