#!/usr/bin/env python3
"""Steps of training whose gradients are ResNet-50's in size (102 MiB, in DDP's buckets of 25 MiB), by Sumac and by gloo inside this host:

    PYTHONPATH=build/dev/python build/python/bin/python bench/torch/steps.py docs/torch-steps.svg

The model computes next to nothing, so a step is its exchange; beside it stands a step without one (DDP's no_sync). Both backends have a group in the
same processes and take turns."""

import os
import statistics
import sys
from contextlib import nullcontext
from pathlib import Path

# Behind PyTorch's folder: this one has a folder of the same name.
sys.path.append(str(Path(__file__).resolve().parents[1]))

import time  # noqa: E402

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import measured  # noqa: E402
from core import bars  # noqa: E402
from plan import GLOO, SUMAC  # noqa: E402

MIB = [4] * 25 + [2]
NONE = "no exchange"
TURNS, WARMUP = 9, 2
COLOURS = {NONE: bars.BARE, GLOO: bars.PEER, SUMAC: bars.SUMAC}


class Gradients(torch.nn.Module):
    """Parameters whose gradients are the input."""

    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ParameterList(torch.zeros(mib << 18) for mib in MIB)

    def forward(self, x):
        return sum((part * x).sum() for part in self.parts)


def steps(size):
    """{way: median ms of a step, the mean over ranks} with `size` processes."""

    def body(rank, folder):
        torch.set_num_threads(1)
        measured._pin(rank)
        measured._init(SUMAC, rank, size, folder)
        nets = {SUMAC: DistributedDataParallel(Gradients(), bucket_cap_mb=25),
                GLOO: DistributedDataParallel(Gradients(), bucket_cap_mb=25, process_group=dist.new_group(backend="gloo"))}
        took = {NONE: [], GLOO: [], SUMAC: []}
        for turn in range(WARMUP + TURNS):
            for way in list(took)[turn % 3:] + list(took)[:turn % 3]:
                net = nets.get(way, nets[SUMAC])
                net.zero_grad()
                dist.barrier()
                began = time.perf_counter()
                with net.no_sync() if way == NONE else nullcontext():
                    net(torch.tensor(float(rank + 1))).backward()
                mean = torch.tensor([(time.perf_counter() - began) * 1e3 / size], dtype=torch.float64)
                right = rank + 1 if way == NONE else (size + 1) / 2
                if any(part.grad.ne(right).any() for part in net.module.parts):
                    raise measured.WrongResult(f"{way} gave another gradient than {right}")
                dist.all_reduce(mean)
                if turn >= WARMUP:
                    took[way].append(mean.item())
        return {way: statistics.median(values) for way, values in took.items()}

    return measured._fork(size, body)


def draw(found):
    """SVG text: a panel for each number of processes, on one scale from zero."""
    picture = bars.Bars(width=760, bar=20)
    longest = max(value for took in found.values() for value in took.values())
    for size, took in found.items():
        picture.title(f"{size} processes: 102 MiB of gradients in buckets of 25 MiB")
        picture.panel([(way, value, f"{value:.0f} ms", COLOURS[way]) for way, value in took.items()], longest=longest)
    return picture.svg()


def main():
    """Measures, prints, and writes the picture."""
    if len(sys.argv) != 2 or len(os.sched_getaffinity(0)) < 2:
        sys.exit("usage: steps.py PICTURE.svg, where two cores are")
    found = {size: steps(size) for size in (2, 4)}
    for size, took in found.items():
        print(f"{size} processes: " + ", ".join(f"{way} {value:.1f} ms" for way, value in took.items()))
    Path(sys.argv[1]).write_text(draw(found), encoding="utf-8")


if __name__ == "__main__":
    main()
