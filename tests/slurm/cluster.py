"""A real Slurm of a few hosts on this machine: munged and slurmd on each, slurmctld on the first. A host is a set of namespaces with its
own /tmp, /run and /dev/shm. What the hosts share, and all their files, lies in one tmpfs at /mnt, so that nothing is left when the
namespaces end, which they do with us, also when we are killed."""

import contextlib
import os
import pathlib
import shutil
import signal
import sys
import time

from harness import case, ground, processes

PROGRAMS = ("slurmctld", "slurmd", "srun", "munged", "ip", "unshare", "nsenter")
SHARED = "/mnt"
METRICS = "127.0.0.1:9511"
PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
# More than this machine may have; Slurm is told not to look.
CORES = 4
CONFIGURATION = """ClusterName=sumac
SlurmctldHost=c1
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=/mnt/state
SlurmdSpoolDir=/mnt/spool.%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/mnt/log/slurmctld.log
SlurmdLogFile=/mnt/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=pmix
ReturnToService=2
SlurmdParameters=config_overrides
MailProg=/bin/true
KillWait=30
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=1000
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
PlugStackConfig=/mnt/plugstack.conf
"""
# PMIx's fence by a tree in Slurm 22.05 lets ranks leave MPI_Init while a peer is still in its first fence and has no receiver for what
# they send: 8 of 100 plain steps of Open MPI 4.1 crashed on two busy cores, and none of 100 with the ring (2026-11-29).
ENVIRONMENT = {"SLURM_CONF": f"{SHARED}/slurm.conf", "PATH": PATH, "SLURM_PMIX_FENCE": "ring"}
# A host's first process: it sets up the host's mounts, starts munged and then only reaps. PMIx keeps a folder in /tmp under a name that is
# the same on each host of a step, so hosts can't share /tmp.
HOST = """
set -e
hostname "$1"
for folder in /run /dev/shm; do mount -t tmpfs tmpfs "$folder"; done
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount --bind /mnt/hosts /etc/hosts
install -d -o munge -g munge -m 755 /run/munge
setpriv --reuid munge --regid munge --clear-groups munged --key-file=/mnt/munge.key --pid-file=/run/munge/munged.pid \\
  --log-file=/run/munge/munged.log --seed-file=/run/munge/seed
echo ready
sleep infinity &
wait
"""


def missing():
    """Returns the reason why there can be no cluster here, or nothing."""
    if os.geteuid() != 0:
        return "needs root (namespaces)"
    absent = [name for name in PROGRAMS if not shutil.which(name, path=PATH)]
    return f"{', '.join(absent)} not installed: make setup-slurm" if absent else ""


LINE_SECONDS, TABLE_SECONDS = 300, 1500


def leftover(slurm):
    """Waits until nothing of ours is left on a cluster without jobs; returns what stays."""
    try:
        ground.until(lambda: not slurm.queued() and not slurm.left(), lambda: "\n".join([slurm.queued(), *slurm.left()]), 5)
    except AssertionError as left:
        return str(left)
    return None


@contextlib.contextmanager
def at_most(seconds):
    """The bound of a line, whatever it waits for."""
    def late(*_):
        raise AssertionError(f"still running after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def lines(rows, title, slurm, named):
    """Runs each line, a function that returns what was wrong or None. One that fails loses its jobs, so that the next has the hosts for itself."""
    for name, line in named.items():
        begin = time.monotonic()
        try:
            with at_most(LINE_SECONDS):
                wrong = line() or leftover(slurm)
        except AssertionError as failed:
            wrong = str(failed)
        rows.add(f"{title} {name.replace('_', ' ')}", "failures", int(bool(wrong)), 0, seconds=round(time.monotonic() - begin, 1))
        if wrong:
            print(wrong, file=sys.stderr)
            slurm.cancel_all()


def table(rows, title, slurm, function, *words):
    """Runs a function that adds rows itself; one that does not come to its end becomes a row."""
    try:
        with at_most(TABLE_SECONDS):
            function(rows, *words)
    except AssertionError as failed:
        print(failed, file=sys.stderr)
        rows.add(f"{title}", "failures", 1, 0)
        slurm.cancel_all()


class Cluster:
    """Hosts c1 to cN, with CORES cores and 8 GB each. `plugstack`: the text of plugstack.conf."""

    def __init__(self, hosts=3, plugstack=""):
        self.names = [f"c{i + 1}" for i in range(hosts)]
        self.started = []
        self.folder = None
        try:
            self.up(plugstack)
        except BaseException:
            self.down()
            raise

    def hold(self, command):
        """Starts a process that holds namespaces: it ends with us."""
        self.started.append(processes.start(command, death=9, stdin=processes.PIPE, stdout=processes.PIPE, env={**os.environ, "PATH": PATH}, text=True))
        return self.started[-1]

    @staticmethod
    def said(process, line):
        if not processes.wait_for_line(process, line)[0]:
            raise AssertionError(f"a host of Slurm did not get ready: {process.args}")

    def up(self, plugstack):
        network = self.hold(["unshare", "--net", "--mount", "bash", "-c", f"mount -t tmpfs -o mode=755 tmpfs {SHARED} && ip link add br0 type bridge && "
                             "ip link set br0 up && echo ready && read -r _"])
        self.said(network, "ready")
        self.folder = pathlib.Path(f"/proc/{network.pid}/root{SHARED}")
        self.write_files(plugstack)
        into = ["nsenter", "-t", network.pid]
        self.hosts = {}
        for i, name in enumerate(self.names):
            host = self.hold([*into, "-m", "unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c", HOST, "host", name])
            self.said(host, "ready")
            first = pathlib.Path(f"/proc/{host.pid}/task/{host.pid}/children").read_text(encoding="ascii").split()[0]
            self.hosts[name] = first
            self.check([*into, "-n", "ip", "link", "add", f"to-{name}", "master", "br0", "type", "veth", "peer", "name", "eth0", "netns", first])
            self.check([*into, "-n", "ip", "link", "set", f"to-{name}", "up"])
            for words in (("link", "set", "lo", "up"), ("addr", "add", f"10.99.0.{i + 1}/24", "dev", "eth0"), ("link", "set", "eth0", "up")):
                self.check(["nsenter", "-t", first, "-n", "ip", *words])
        self.on("c1", "slurmctld", "-c")
        for name in self.names:
            self.on(name, "slurmd", "-N", name, "-c")
        ground.until(lambda: self.on("c1", "sinfo", "-h", "-t", "idle", "-o", "%D").out.strip() == str(len(self.names)), self.logs)

    def write_files(self, plugstack):
        for name in ("state", "log", *(f"spool.{name}" for name in self.names)):
            (self.folder / name).mkdir()
        work = self.folder / "work"
        work.mkdir()
        work.chmod(0o1777)
        nodes = f"c[1-{len(self.names)}]"
        (self.folder / "slurm.conf").write_text(
            f"{CONFIGURATION}NodeName={nodes} CPUs={CORES} RealMemory=8000 Sockets=1 CoresPerSocket={CORES} ThreadsPerCore=1 State=UNKNOWN\n"
            f"PartitionName=all Nodes={nodes} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4\n")
        # slurmd 22.05 does not start without a plugin of control groups.
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        (self.folder / "plugstack.conf").write_text(plugstack)
        (self.folder / "hosts").write_text("127.0.0.1 localhost\n" + "".join(f"10.99.0.{i + 1} {name}\n" for i, name in enumerate(self.names)))
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        shutil.chown(key, "munge", "munge")

    def check(self, command):
        done = case.start(command)
        if done.code != 0:
            raise AssertionError(f"{command}: {done.text}")
        return done

    def inside(self, name, *words):
        """Returns the command that runs the words on a host, in the folder that hosts share."""
        return ["nsenter", "-t", self.hosts[name], "-n", "-u", "-i", "-p", "-m", "env", "-C", f"{SHARED}/work", *map(str, words)]

    def on(self, name, *words, env=None, seconds=60):
        return case.start(self.inside(name, *words), {**ENVIRONMENT, **(env or {})}, seconds)

    def begin(self, name, *words):
        """Starts a daemon on a host; returns when it is ready."""
        # nsenter waits as the daemon's parent and holds each descriptor that it passes on, so the daemon says by its output that it is ready.
        daemon = processes.start([*self.inside(name, "setpriv", "--pdeathsig", "TERM", *words), "--ready-fd", 1, "--log-file",
                                  f"{SHARED}/log/{name}-{words[0].name}.log"], death=9, stdout=processes.PIPE, text=True)
        self.started.append(daemon)
        self.said(daemon, "ready")
        return daemon

    @contextlib.contextmanager
    def site(self):
        """Daemons of the site on all hosts, which serve any job."""
        hosts = ", ".join(f"{name}: {{leaf: s}}" for name in self.names)
        (self.folder / "fabric.yaml").write_text(f"name: site\nswitches: [s]\nhosts: {{{hosts}}}\nnodes: {{an: {{host: c1}}}}\n")
        manager = ["--manager", "10.99.0.1:6126", "--allow-insecure"]
        daemons = []
        try:
            daemons.append(self.begin("c1", ground.BIN / "sharp_am", "--fabric", f"{SHARED}/fabric.yaml", "--listen", *manager[1:],
                                      "--page-listen", "127.0.0.1:0", "--metrics-listen", METRICS))
            daemons.append(self.begin("c1", ground.BIN / "sharp_an", "--name", "an", *manager))
            daemons += [self.begin(name, ground.BIN / "sharpd", *manager) for name in self.names]
            yield
        finally:
            for daemon in reversed(daemons):
                self.started.remove(daemon)
                processes.end(daemon)

    def __call__(self, *words, **options):
        """Runs a command of Slurm's user on the first host."""
        return self.on("c1", *words, **options)

    def batch(self, script, *words, env=None):
        """Submits the script; returns the job's number and the file of its output."""
        file = self.folder / "work" / f"{len(list((self.folder / 'work').iterdir()))}.sh"
        file.write_text("#!/bin/bash\n" + script)
        done = self("sbatch", "--parsable", f"--output={SHARED}/work/%A_%a.out", *words, f"{SHARED}/work/{file.name}", env=env)
        if done.code != 0:
            raise AssertionError(done.text)
        return done.out.strip()

    def output(self, job, task=4294967294):
        """What a job has printed; the number is that of a job without an array."""
        return (self.folder / "work" / f"{job}_{task}.out").read_text(encoding="utf-8", errors="replace")

    def wait_for(self, job, seconds=60):
        ground.until(lambda: not self.queued(job), lambda: f"job {job} ends:\n{self('scontrol', 'show', 'job', job).out}", seconds)

    def requeue(self, job):
        """Slurm lets a requeued job wait for two minutes from its end on, so that its new time counts only behind that."""
        done = self("scontrol", "requeue", job)
        if done.code != 0:
            raise AssertionError(done.text)
        ground.until(lambda: self.queued(job).endswith("PENDING"), lambda: self.queued(job), 60)
        self("scontrol", "update", f"JobId={job}", "StartTime=now")

    def cancel_all(self):
        """Nobody may care whether that works: what stays fails the next line."""
        self("scancel", "--full", *self("squeue", "-h", "-o", "%A").out.split())
        leftover(self)

    def queued(self, job=None):
        return self("squeue", "-h", "-o", "%i %T", *(("-j", job) if job else ())).out.strip()

    def logs(self):
        return "\n".join(f"--- {file.name}\n{file.read_text(errors='replace')[-3000:]}" for file in sorted((self.folder / "log").iterdir()))

    def left(self, words=("sumac", "sharp")):
        """Our processes and files on the hosts, as lines; for a cluster without jobs, so there must be none."""
        found = []
        for name, first in self.hosts.items():
            root = pathlib.Path(f"/proc/{first}/root")
            found += [f"{name}: {folder}/{file}" for folder in ("tmp", "dev/shm") for file in os.listdir(root / folder) if any(word in file for word in words)]
            steps = root / "run" / "sumac-slurm"
            found += [f"{name}: {step}" for step in (steps.iterdir() if steps.exists() else ())]
            space = os.readlink(f"/proc/{first}/ns/pid")
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    if os.readlink(f"/proc/{pid}/ns/pid") == space:
                        command = ground.read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace") or ground.read(f"/proc/{pid}/comm").decode()
                        found += [f"{name}: process {pid} {command}"] if any(word in command for word in words) else []
                except OSError:
                    pass  # it ended while we looked
        return found

    def down(self):
        for process in reversed(self.started):
            process.kill()
            process.wait()
            for pipe in filter(None, (process.stdin, process.stdout)):
                pipe.close()
        self.started = []
