"""Fresh roots of Debian 12, or of another suite. One base is made by mmdebstrap and kept, with the distribution's packages that the checks
install in apt's cache; each Root is an overlay over it. A command runs in namespaces of its own (mounts, processes, network), so that nothing that it
starts or mounts can outlive it, and no package can come from anywhere but the cache."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

SOURCES = pathlib.Path("/etc/apt/sources.list.d/debian.sources")
# The packages themselves; apt fetches what they depend on. The libraries are those that our packages depend on.
FETCHED = ["openmpi-bin", "libfmt9", "libgrpc++1.51", "libgrpc29", "libabsl20220623", "libprotobuf32", "libyaml-cpp0.7", "libsqlite3-0", "libssl3",
           "libcpp-httplib0.11", "libhwloc15", "libucx0", "libstdc++6", "python3", "python3-numpy", "environment-modules", "lmod", "man-db", "procps", "xz-utils", "systemd", "iproute2"]

# A script that installs and builds begins like .ci/run, because a root has not even make; its sources are in /given. (tidy.paths, which runs
# there too, wants no file to name their folder.)
GIVEN = "/given"
BEGIN = f"set -e; cd {GIVEN}/sumac; packaging/install packaging/apt.txt;"

# The words of a shell that becomes the first process of the namespaces.
ENTER = r"""
set -e
ip link set lo up
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/merged"
cd "$2/merged"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs tmpfs tmp
chmod 1777 tmp
mount --rbind /dev dev
mount -t tmpfs tmpfs dev/shm
chmod 1777 dev/shm
mkdir -p given
mount --rbind "$3" given
user=$4
shift 4
exec chroot --userspec="$user" . "$@"
"""


class Unavailable(Exception):
    """The machine cannot have such roots; the message says why."""


def check_machine():
    if os.geteuid() != 0:
        raise Unavailable("fresh roots need root: sudo make toolkit")
    if not SOURCES.exists():
        raise Unavailable(f"no {SOURCES}: the roots get Debian's packages from where this machine gets them")
    if shutil.which("mmdebstrap") is None:
        raise Unavailable("no mmdebstrap (make setup-toolkit)")


def base(folder, suite="bookworm", fetched=FETCHED):
    """Returns the base, which takes two minutes to make; as long as the list of packages stays, it stays."""
    words, sources = " ".join([suite, *fetched]), re.sub("bookworm|trixie", suite, SOURCES.read_text(encoding="utf-8"))
    made = folder / f"base-{hashlib.sha256((words + sources).encode()).hexdigest()[:12]}"
    if made.exists():
        return made
    print(f"  making a root of Debian's {suite} (once, two minutes)", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="making-") as making:
        root, listed = pathlib.Path(making) / "root", pathlib.Path(making) / "debian.sources"
        listed.write_text(sources, encoding="utf-8")
        log = folder / "base.log"
        with open(log, "w", encoding="utf-8") as out:
            # One by one, because two of them conflict.
            fetch = " && ".join(f'chroot "$1" apt-get {what}' for what in
                                ["update", *(f"install -y -q --download-only --no-install-recommends {each}" for each in fetched)])
            done = subprocess.run(["mmdebstrap", "--mode=root", "--variant=apt", "--format=dir", "--skip=cleanup", "--include=passwd", f"--customize-hook={fetch}",
                                   suite, str(root), str(listed)], stdout=out, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise Unavailable(f"mmdebstrap failed, see {log}")
        subprocess.run(["chroot", root, "useradd", "-m", "-u", "1234", "-s", "/bin/bash", "someone"], check=True)
        root.rename(made)
    return made


def variables_of(user, more=None):
    home = "/root" if user == "root" else "/home/someone"
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": home, "USER": user, "LC_ALL": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive", **(more or {})}


def variables_of_installing(given):
    """Returns the variables of a root whose commands install and build, with this machine's way to the servers. `given` is seen there as /given,
    and the caches of compiler and pip stay in it."""
    more = {"CI": "true", "CCACHE_DIR": "/given/ccache", "PIP_CACHE_DIR": "/given/pip", **{name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}}
    if os.environ.get("PIP_CERT"):
        shutil.copy(os.environ["PIP_CERT"], given / "pip.crt")
        more["PIP_CERT"] = "/given/pip.crt"
    return variables_of("root", more)


class Root:
    """A root of one check: `with Root(base, given) as root`. `given` appears in it as /given."""

    def __init__(self, made, given):
        self.made, self.given = made, given

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.made.parent, prefix="root-"))
        for name in ("upper", "work", "merged"):
            (self.folder / name).mkdir()
        (self.folder / "upper").chmod(0o755)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def command(self, script, user="root", shell="bash", network=False):
        """Returns the words that run a script of the shell in the root; its network is the machine's, or a loopback alone."""
        uid, home = ("0:0", "/root") if user == "root" else ("1234:1234", "/home/someone")
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", *([] if network else ["--net"]), "sh", "-c", ENTER, "enter", str(self.made),
                str(self.folder), str(self.given), uid, shell, "-c", f"cd {home}; {script}"]

    def run(self, script, user="root", shell="bash", seconds=300, env=None):
        """Runs a script of the shell in the root, and returns what it did; status 124: it took longer."""
        variables, command = variables_of(user, env), self.command(script, user, shell)
        try:
            return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL, check=False)
        except subprocess.TimeoutExpired as late:
            return subprocess.CompletedProcess(command, 124, str(late.stdout or ""), f"{late.stderr or ''}\nno end after {seconds} s")
