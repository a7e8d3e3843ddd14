#!/usr/bin/env python3
"""Root's job writes its traces (SUMAC_TRACE) into a folder of an ordinary user, who put links to root's files in the place of the traces."""

import os

import common

case = common.case
COUNTED = case.BUILD / "tests" / "mpi" / "counted"


def plant(folder, victim):
    os.mkdir(folder)
    for rank in range(2):
        os.symlink(victim, f"{folder}/sumac-trace-{rank}.json")
    return True


def attack(rows, _args):
    shared = common.ground.SCRATCH / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    os.chmod(common.ground.SCRATCH, 0o755)
    victim = common.ground.SCRATCH / "victim"
    victim.write_text("precious", encoding="utf-8")
    victim.chmod(0o600)
    folder = shared / "traces"
    common.Stranger(plant, str(folder), str(victim)).result()
    command = ["mpirun", "--oversubscribe", *case.YIELD, *common.ground.ROOT, *case.component_flags(), "-n", 2, COUNTED, 1, 0, "full"]
    done = common.ground.start(command, {"SUMAC_TUNING_FILE": "none", "SUMAC_TRACE": str(folder)}, 120)
    rows.add("trace links: the job failed", "exit status", done.code, 0)
    rows.add("trace links: root's file was written or removed", "files", int(not victim.exists() or victim.read_text(encoding="utf-8") != "precious"), 0)


common.main(attack, __doc__)
