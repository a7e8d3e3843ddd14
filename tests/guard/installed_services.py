#!/usr/bin/env python3
"""Installing the tests' packages starts and enables no service: opensm's would be a second subnet manager on a production
fabric, and prometheus' a server on a port of every machine."""

import subprocess

import common
import recorder

# Debian's packages with a service do the same: it is enabled and started by default.
POSTINST = """#!/bin/sh
set -e
update-rc.d opensm defaults
invoke-rc.d opensm start
if deb-systemd-helper --quiet was-enabled opensm.service; then deb-systemd-helper enable opensm.service; fi
systemctl --system daemon-reload
deb-systemd-invoke start opensm.service
"""


def attack(rows, args):
    recorder.dpkg_or_skip()
    root = recorder.Root("installed-services")
    root.package("opensm", "opensm", POSTINST)
    root.package("prometheus", "promtool", POSTINST)
    root.package("sumac-attack", "sumac-attack-program", POSTINST)
    checked = recorder.Root("installed-services-control")
    checked.package("opensm", "opensm", POSTINST)
    checked.run("apt-get", "install", "opensm")
    assert len(checked.calls(*recorder.SERVICES)) == 6, "the recorder sees what a service's package does"

    done = root.run("make", "setup-dev")
    assert done.returncode == 0, done.stderr
    assert root.calls("apt-get"), "nothing was missing: the attack did not take place"
    rows.add("installed-services: services that make setup-dev touches", "calls", len(root.calls(*recorder.SERVICES)), 0)

    done = root.run("packaging/unpack", "sumac-attack/sumac-attack-program")
    program = root.folder / "build/private/sumac-attack/usr/sbin/sumac-attack-program"
    says = subprocess.run([program], capture_output=True, text=True, check=False).stdout if program.exists() else done.stderr
    rows.add("installed-services: an unpacked program does not run", "programs", int(says != "runs\n"), 0)
    rows.add("installed-services: services that unpacking touches", "calls", len(root.calls(*recorder.SERVICES)), 0)
    left = [path.name for path in (root.folder / "build/private").iterdir() if path.name.startswith(".")]
    rows.add("installed-services: left behind by unpacking", "files", len(left), 0)
    if args.long:
        real = common.case.start(["env", "-C", root.folder, "apt-get", "-q", "download", "opensm"])
        if real.code == 0:
            package = next(root.folder.glob("opensm_*.deb"))
            package.rename(root.debs / "opensm.deb")
            root.record.write_text("")
            done = root.run("make", "setup-dev")
            assert done.returncode == 0, done.stderr
            rows.add("installed-services: the same with Debian's opensm", "calls", len(root.calls(*recorder.SERVICES)), 0)


common.main(attack, __doc__)
