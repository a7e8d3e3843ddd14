"""Cases between hosts: one process on each host of an emulated fabric, with a group of Sumac and one of gloo.

As a program it is one of those processes: between.py RANK SIZE FOLDER KIND BYTES TURNS."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
WARMUP = 3  # A connection's first streams find out what the links carry.
BUCKET_MIB = 25
LAYERS = 4


class WrongResult(Exception):
    """A backend gave another result than it must."""


class Sum:
    """An allreduce of so many bytes."""

    more = ()
    whose = "mean"  # A turn takes the mean of the ranks' times; in "most" the largest.

    def __init__(self, torch, dist, groups, count_bytes):
        self.dist, self.groups, self.data = dist, groups, torch.empty(count_bytes // 4)

    def prepare(self, _name, turn):
        self.data.fill_(self.dist.get_rank() + turn % 7)

    def run(self, name):
        self.dist.all_reduce(self.data, group=self.groups[name])

    def check(self, name, turn):
        size = self.dist.get_world_size()
        if not bool((self.data == size * (size - 1) / 2 + size * (turn % 7)).all()):
            raise WrongResult(name)


class Together:
    """Allreduces of so many bytes that are posted one behind the other and waited for at the end. "one" is one of them alone, by Sumac."""

    more = ("one",)
    whose = "mean"
    count = 8

    def __init__(self, torch, dist, groups, count_bytes):
        self.sums = [Sum(torch, dist, {**groups, "one": groups["sumac"]}, count_bytes) for _ in range(self.count)]

    def of(self, name):
        return self.sums[:1] if name == "one" else self.sums

    def prepare(self, name, turn):
        for index, one in enumerate(self.of(name)):
            one.prepare(name, turn + index)

    def run(self, name):
        posted = [one.dist.all_reduce(one.data, group=one.groups[name], async_op=True) for one in self.of(name)]
        for work in posted:
            work.wait()

    def check(self, name, turn):
        for index, one in enumerate(self.of(name)):
            one.check(name, turn + index)


class Together16(Together):
    """Twice as many."""

    count = 16


class Row:
    """Eight broadcasts of so many bytes one after another, until the last rank has the last."""

    more = ()
    whose = "most"

    def __init__(self, torch, dist, groups, count_bytes):
        self.dist, self.groups, self.data = dist, groups, [torch.empty(count_bytes // 4) for _ in range(8)]

    def prepare(self, _name, turn):
        for index, data in enumerate(self.data):
            data.fill_(turn + index if self.dist.get_rank() == 0 else -1)

    def run(self, name):
        for data in self.data:
            self.dist.broadcast(data, 0, group=self.groups[name])

    def check(self, name, turn):
        if not all(bool((data == turn + index).all()) for index, data in enumerate(self.data)):
            raise WrongResult(name)


class Step:
    """A training step by DDP, of a model whose gradients have so many bytes. "alone" is the step without the exchange."""

    more = ("alone",)
    whose = "mean"

    def __init__(self, torch, dist, groups, count_bytes):
        self.torch, self.dist = torch, dist
        width = round((count_bytes / 4 / LAYERS) ** 0.5)
        self.models, self.fresh = {}, set()
        for name, group in groups.items():
            torch.manual_seed(1)
            net = torch.nn.Sequential(*(torch.nn.Linear(width, width, bias=False) for _ in range(LAYERS)))
            self.models[name] = torch.nn.parallel.DistributedDataParallel(net, process_group=group, bucket_cap_mb=BUCKET_MIB)
        self.models["alone"] = self.models["sumac"]
        self.x = torch.empty(1, width)

    def prepare(self, name, turn):
        self.x.normal_(generator=self.torch.Generator().manual_seed(100 * turn + self.dist.get_rank()))
        self.models[name].zero_grad()

    def run(self, name):
        model = self.models[name]
        with model.no_sync() if name == "alone" else contextlib.nullcontext():
            model(self.x).square().mean().backward()

    def check(self, name, _turn):
        """Behind the second backend of a turn both have left the same gradients, up to the order of sums."""
        self.fresh = set() if name == "alone" else self.fresh | {name}
        if len(self.fresh) < 2:
            return
        for ours, theirs in zip(self.models["sumac"].parameters(), self.models["gloo"].parameters()):
            if not self.torch.allclose(ours.grad, theirs.grad, rtol=1e-4, atol=1e-7):
                raise WrongResult("the gradients differ")


KINDS = {"allreduce": Sum, "ddp": Step, "8-async-allreduce": Together, "16-async-allreduce": Together16, "8-broadcast-row": Row}


def timed(work, name, turn, torch, dist):
    """Runs it once, and returns the mean over ranks, or the most, in ms."""
    work.prepare(name, turn)
    dist.barrier()
    began = time.perf_counter()
    work.run(name)
    took = torch.tensor([(time.perf_counter() - began) * 1e3])
    work.check(name, turn)
    if work.whose == "most":
        dist.all_reduce(took, op=dist.ReduceOp.MAX)
        return took.item()
    dist.all_reduce(took)
    return took.item() / dist.get_world_size()


def member(rank, size, folder, kind, count_bytes, turns):
    """Times the backends in turns, and at rank 0 leaves {backend: [ms]} in the folder."""
    import torch
    import torch.distributed as dist

    os.environ["GLOO_SOCKET_IFNAME"] = next(name for _, name in socket.if_nameindex() if name != "lo")
    torch.set_num_threads(1)
    dist.init_process_group("sumac", store=dist.FileStore(f"{folder}/store", size), rank=rank, world_size=size)
    work = KINDS[kind](torch, dist, {"sumac": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}, count_bytes)
    took = {name: [] for name in ("sumac", "gloo", *work.more)}
    for turn in range(WARMUP + turns):
        for name in (*sorted(("sumac", "gloo"), reverse=turn % 2 == 0), *work.more):
            took[name].append(timed(work, name, turn, torch, dist))
    if rank == 0:
        pathlib.Path(folder, "took").write_text(json.dumps({name: values[WARMUP:] for name, values in took.items()}))
    dist.destroy_process_group()


def measure(build, case, seconds):
    """Brings the case's fabric up, runs a member on each host, and returns {backend: [ms]}. Raises RuntimeError if one failed or a port lost data."""
    name = f"bench-torch-{os.getpid()}"

    def lab(verb, *words):
        return [str(build.resolve() / "bin" / "sumac"), "lab", verb, "--name", name, *map(str, words)]

    def status(word):
        lines = subprocess.run(lab("status"), check=True, capture_output=True, text=True).stdout.splitlines()
        return [line.split() for line in lines if line.strip().startswith(word)]

    subprocess.run(lab("up", ROOT / "lab" / "fabrics" / case.fabric, *([] if case.nodes else ["--bare"])), check=True, stdout=subprocess.DEVNULL)
    # Hosts of the lab have a /tmp of their own.
    with tempfile.TemporaryDirectory(dir=build.resolve()) as folder:
        try:
            hosts = [words[1] for words in status("host ")]
            python = ("env", f"PYTHONPATH={build.resolve() / 'python'}", "OMP_NUM_THREADS=1", sys.executable, "-W", "ignore", __file__)
            members = [subprocess.Popen(lab("exec", host, "--", *python, rank, len(hosts), folder, case.kind, case.bytes, case.turns),
                                        stderr=subprocess.PIPE, text=True) for rank, host in enumerate(hosts)]
            until = time.monotonic() + seconds
            try:
                said = [one.communicate(timeout=max(1, until - time.monotonic()))[1] for one in members]
            finally:
                for one in members:
                    one.kill()
            if any(one.returncode for one in members):
                raise RuntimeError(next(text.strip()[-300:] for one, text in zip(members, said) if one.returncode))
            if status("drops")[0][1] != "0":
                raise RuntimeError("a port of the fabric lost data")
            return json.loads(pathlib.Path(folder, "took").read_text())
        except subprocess.TimeoutExpired as late:
            raise RuntimeError(f"not done after {seconds} s") from late
        finally:
            subprocess.run(lab("down"), check=False, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    member(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5]), int(sys.argv[6]))
