"""The processes that are measured. Each has one group of every backend, so that backends take turns a few milliseconds apart.

As a program it measures one cell with the package that PYTHONPATH names, which may be of another build."""

import json
import os
import pathlib
import pickle
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist

from plan import GLOO, NOTHING, SUMAC, cells

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python" / "tests"))
from ranks import become_host  # noqa: E402


class WrongResult(Exception):
    """A backend gave another result than the collective has."""


def _fork(size, body):
    """Runs body(rank, folder) in `size` children and returns what rank 0's returned. Raises RuntimeError if one failed."""
    with tempfile.TemporaryDirectory() as folder:
        reads, writes = os.pipe()
        children = []
        for rank in range(size):
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    answer = body(rank, pathlib.Path(folder))
                    if rank == 0:
                        with os.fdopen(writes, "wb") as pipe:
                            pickle.dump(answer, pipe)
                    status = 0
                except BaseException as error:  # The parent hears of it by the status.
                    print(f"bench-torch: rank {rank}: {type(error).__name__}: {error}", flush=True)
                os._exit(status)
            children.append(pid)
        os.close(writes)
        with os.fdopen(reads, "rb") as pipe:
            data = pipe.read()
        statuses = [os.waitpid(pid, 0)[1] for pid in children]
    if any(statuses):
        raise RuntimeError(f"the processes ended with {statuses}")
    return pickle.loads(data)


def _pin(rank):
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[rank % len(cores)]})


def _init(backend, rank, size, folder):
    dist.init_process_group(backend, store=dist.FileStore(str(folder / f"store-{backend}"), size), rank=rank, world_size=size)


class Call:
    """One collective over one group, with its data: numbers that differ in each iteration, and what they must give."""

    def __init__(self, cell, group, is_checked):
        self.cell, self.group, self.is_checked = cell, group, is_checked
        self.rank, self.size = dist.get_rank(), cell.ranks
        count = max(1, cell.bytes // 4)
        whole = count if count % self.size == 0 else count + self.size - count % self.size
        self.whole = torch.empty(count if cell.kind in ("allreduce", "broadcast") else whole)
        self.block = torch.empty(whole // self.size)
        self.other = torch.empty_like(self.whole)

    def fill(self, turn):
        (self.block if self.cell.kind == "allgather" else self.whole).fill_(self.rank + turn % 7)

    def run(self):
        kind = self.cell.kind
        if kind == "allreduce":
            dist.all_reduce(self.whole, group=self.group)
        elif kind == "broadcast":
            dist.broadcast(self.whole, 0, group=self.group)
        elif kind == "allgather":
            dist.all_gather_into_tensor(self.other, self.block, group=self.group)
        elif kind == "reduce_scatter":
            dist.reduce_scatter_tensor(self.block, self.whole, group=self.group)
        else:
            dist.all_to_all_single(self.other, self.whole, group=self.group)

    def check(self, turn):
        add = turn % 7
        total = self.size * (self.size - 1) / 2 + self.size * add
        kind = self.cell.kind
        if kind == "broadcast":
            found, right = self.whole, torch.full((1,), float(add))
        elif kind == "allreduce":
            found, right = self.whole, torch.full((1,), total)
        elif kind == "reduce_scatter":
            found, right = self.block, torch.full((1,), total)
        else:
            found, right = self.other.view(self.size, -1), (torch.arange(float(self.size)) + add).view(-1, 1)
        if self.is_checked and not bool((found == right).all()):
            raise WrongResult(f"{self.cell.name} gave a wrong result")


def _turn(call, meeting):
    """One turn: the median over iterations of the mean over ranks, in us."""
    cell, took = call.cell, []
    for turn in range(cell.warmup + cell.iterations):
        call.fill(turn)
        # To fill and to check take tens of us of Python, and ranks differ in them. Each backend has its own barrier: gloo's alltoall of
        # 64 KiB took 2.4 ms behind ours, and 0.3 behind its own.
        dist.barrier(group=call.group)
        began = time.perf_counter_ns()
        call.run()
        took.append(time.perf_counter_ns() - began)
        call.check(turn)
    mean = torch.tensor(took[cell.warmup:], dtype=torch.float64)
    dist.all_reduce(mean, group=meeting)
    return statistics.median((mean / cell.ranks).tolist()) / 1e3


def turns(cell, cycles):
    """Measures a cell: returns a list of {backend: us}, one for each cycle. The order of backends alternates."""

    def body(rank, folder):
        torch.set_num_threads(1)
        if not cell.has_recorder:
            os.environ["TORCH_FR_BUFFER_SIZE"] = "0"
        _pin(rank)
        _init(SUMAC, rank, cell.ranks, folder)
        from torch.testing._internal.distributed import fake_pg  # noqa: F401  It registers the backend "fake".

        groups = {SUMAC: dist.group.WORLD, GLOO: dist.new_group(backend="gloo")}
        if cell.over_nothing_us is not None:
            groups[NOTHING] = dist.new_group(backend="fake")
        calls = {name: Call(cell, group, name != NOTHING) for name, group in groups.items()}
        found = []
        for cycle in range(cycles):
            names = list(calls)[cycle % len(calls):] + list(calls)[:cycle % len(calls)]
            found.append({name: _turn(calls[name], groups[SUMAC]) for name in names})
        return found

    return _fork(cell.ranks, body)


def turns_of(build, cell, cycles):
    """The same with the package of another build folder, in an interpreter of its own: a process loads one package only."""
    done = subprocess.run([sys.executable, __file__, cell.name, str(cycles)], stdout=subprocess.PIPE, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(build / "python"), "SUMAC_HOME": str(build)})
    if done.returncode != 0:
        raise RuntimeError(f"with the package of {build}: {done.stdout.strip().splitlines()[-1:] or done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def idle_share(seconds, waits):
    """The share of a core that two processes take while their group is left alone, or while one waits for the other."""

    def body(rank, folder):
        torch.set_num_threads(1)
        _init(SUMAC, rank, 2, folder)
        dist.all_reduce(torch.ones(4), async_op=True).wait()
        dist.barrier()
        wall, used = time.monotonic(), time.process_time()
        if rank == 1 or not waits:
            time.sleep(seconds)
        if waits:
            dist.all_reduce(torch.ones(4))
        share = torch.tensor([(time.process_time() - used) / (time.monotonic() - wall)])
        dist.all_reduce(share)
        return share.item()

    return _fork(2, body)


def alone(cell):
    """One turn of Sumac by itself, in us: for settings that a process has once."""

    def body(rank, folder):
        torch.set_num_threads(1)
        _pin(rank)
        _init(SUMAC, rank, cell.ranks, folder)
        return _turn(Call(cell, dist.group.WORLD, True), dist.group.WORLD)

    return _fork(cell.ranks, body)


def losses(backend, hosts):
    """The losses of a small model that is trained by DDP: a list of each step's at rank 0. `hosts` has a letter for each rank: ranks of
    one letter share memory, others exchange messages over loopback."""
    size = len(hosts)

    def body(rank, folder):
        torch.set_num_threads(1)
        if len(set(hosts)) > 1:
            become_host(f"host-{hosts[rank]}")
        _init(backend, rank, size, folder)
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1))
        net = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=0.25)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        found = []
        for step in range(20):
            x = torch.randn(32, 64, generator=torch.Generator().manual_seed(100 * step + rank))
            loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    return _fork(size, body)


if __name__ == "__main__":
    print(json.dumps(turns(next(cell for cell in cells() if cell.name == sys.argv[1]), int(sys.argv[2]))))
