"""A root directory in which nothing really happens: programs first in PATH only record their calls, for attacks on packaging/. apt-get
"installs" a package by running its postinst if the test has made one, as apt does."""

import os
import shutil
import subprocess

import common

SERVICES = ("systemctl", "deb-systemd-helper", "deb-systemd-invoke", "update-rc.d", "invoke-rc.d", "service")
APT = """#!/bin/bash
echo "apt-get $*" >>"$RECORD"
verb=; for word; do case $word in install|download|update) verb=$word;; esac; done
for package; do
  deb=$DEBS/$package.deb
  [[ -e $deb ]] || continue
  case $verb in
    download) cp "$deb" "${package}_1_all.deb" ;;
    install) dpkg-deb -e "$deb" "$DEBS/control-$package" && "$DEBS/control-$package/postinst" configure ;;
  esac
done
exit 0
"""


class Root:
    """packaging/ and the Makefile in a folder of their own, with recorders first in PATH and no package installed."""

    def __init__(self, name):
        self.folder = common.ground.SCRATCH / name
        self.debs = self.folder / "debs"
        self.bin = self.folder / "bin"
        self.record = self.folder / "record"
        for folder in (self.debs, self.bin):
            folder.mkdir(parents=True)
        self.record.write_text("")
        shutil.copytree(common.SOURCE / "packaging", self.folder / "packaging")
        shutil.copy(common.SOURCE / "Makefile", self.folder)
        for service in SERVICES:
            self.program(service, f'#!/bin/bash\necho "{service} $*" >>"$RECORD"\n')
        self.program("apt-get", APT)
        self.program("dpkg-query", "#!/bin/bash\nexit 1\n")
        self.program("id", "#!/bin/bash\necho 0\n")
        self.environment = {**common.ground.environment(), "PATH": f"{self.bin}:{os.environ['PATH']}", "RECORD": str(self.record), "DEBS": str(self.debs)}
        for ours in ("CI", "SUMAC_SETUP", "MAKEFLAGS"):
            self.environment.pop(ours, None)

    def program(self, name, text):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def package(self, name, program, postinst):
        """Makes name.deb: a program in /usr/sbin, and a script that runs when it is installed."""
        root = self.folder / f"package-{name}"
        (root / "DEBIAN").mkdir(parents=True)
        (root / "usr/sbin").mkdir(parents=True)
        (root / "DEBIAN/control").write_text(f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: none <none@localhost>\nDescription: {name}\n")
        (root / "DEBIAN/postinst").write_text(postinst)
        (root / "usr/sbin" / program).write_text("#!/bin/sh\necho runs\n")
        for script in (root / "DEBIAN/postinst", root / "usr/sbin" / program):
            script.chmod(0o755)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", root, self.debs / f"{name}.deb"], check=True, capture_output=True)

    def run(self, *words, seconds=60):
        return subprocess.run([str(word) for word in words], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=seconds, check=False)

    def calls(self, *programs):
        return [line for line in self.record.read_text().splitlines() if line.split()[0] in programs]


def dpkg_or_skip():
    if not shutil.which("dpkg-deb"):
        common.case.skip_or_fail("no dpkg-deb: this is not Debian")
