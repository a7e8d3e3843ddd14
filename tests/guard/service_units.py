#!/usr/bin/env python3
"""The services: systemd rates their exposure, and daemons under three users of their own serve a job of a fourth."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import common

LIMIT = 2.5
DAEMONS = ("sharp_am", "sharp_an", "sharpd")
USERS = {"sharp_am": 64101, "sharp_an": 64102, "sharpd": 64103}


def exposure(root, prefix, name):
    subprocess.run(["bash", common.SOURCE / "tools/sharp/sharp_daemons_setup.sh", "-s", "-d", name, "-p", prefix], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "SUMAC_SETUP_ROOT": str(root)})
    done = subprocess.run(["systemd-analyze", "security", "--offline=yes", f"--root={root}", f"{name}.service"], capture_output=True, text=True,
                          check=False)
    found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
    assert found, done.stdout + done.stderr
    return float(found[1])


class Services(common.House):
    """Daemons as systemd starts them: each under its user, with a directory below /run that root has made for it."""

    def __init__(self, name, run):
        self.run = run
        for program, folder in (("sharp_am", run / "am"), ("sharpd", run / "sharpd")):
            folder.mkdir(mode=0o755)
            os.chown(folder, USERS[program], USERS[program])
        super().__init__(name, listen=f"unix:{run}/am/am.sock", manager=False, node=False, sharpd=False,
                         words={"sharp_am": ("--daemon-users", f"{USERS['sharp_an']},{USERS['sharpd']}")})
        self.socket = run / "sharpd" / "sharpd.sock"

    def start(self, program, *words):
        uid = USERS[program]
        super().start(program, *words, user=uid, group=uid, extra_groups=[])


def job_of_a_user(rows):
    if os.geteuid() != 0:
        return
    run = pathlib.Path(tempfile.mkdtemp(prefix="sumac-guard-", dir="/run"))
    os.chmod(run, 0o755)
    house = Services("service-units", run)
    try:
        house.start_manager()
        house.start_node()
        house.start_sharpd()
        env = common.ground.environment({"SHARP_COLL_SHARPD_SOCKET_NAME": str(house.socket), "TMPDIR": "/tmp"})
        done = subprocess.run([common.BIN / "example-allreduce", "3", "1000"], capture_output=True, text=True, check=False, env=env, timeout=60,
                              **common.AS_STRANGER)
        rows.add("service-units: a user's job under three daemons' users", "exit status", done.returncode, 0)
        assert done.returncode == 0, done.stdout + done.stderr + house.log("sharp_am") + house.log("sharpd")
        house.kill("sharp_an")
        stranger = subprocess.run([common.BIN / "sharp_an", "--name", "node", "--manager", house.manager, "--listen", "127.0.0.1:0"],
                                  capture_output=True, text=True, check=False, timeout=60, env=env, **common.AS_STRANGER)
        rows.add("service-units: a user's sharp_an served", "nodes", int("may run daemons here" not in stranger.stderr), 0)
    finally:
        house.close()
        shutil.rmtree(run)


def attack(rows, _args):
    if shutil.which("systemd-analyze"):
        root = common.ground.SCRATCH / "root"
        prefix = root / "opt"
        (prefix / "bin").mkdir(parents=True)
        for name in DAEMONS:
            os.symlink(common.BIN / name, prefix / "bin" / name)
        for name in DAEMONS:
            rows.add(f"service-units: exposure of {name}.service", "of 10", exposure(root, prefix, name), LIMIT)
            unit = (root / f"etc/systemd/system/{name}.service").read_text(encoding="utf-8")
            rows.add(f"service-units: {name} runs as root", "services", int(f"User=sumac-{name.removeprefix('sharp_')}\n" not in unit), 0)
            rows.add(f"service-units: {name} stays down after some starts that failed", "services", int("StartLimitIntervalSec=0\n" not in unit.split("[Service]")[0]), 0)
            rows.add(f"service-units: {name} leaves a core with its keys", "services", int("LimitCORE=0\n" not in unit), 0)
    job_of_a_user(rows)


common.main(attack, __doc__)
