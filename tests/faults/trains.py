"""A rank of a training with PyTorch's DistributedDataParallel, started by mpirun.

usage: trains.py FOLDER STEPS HIDDEN

It writes the loss of each step, a double, into FOLDER/RANK. Gradients have some 18 floats for each of HIDDEN neurons."""

import os
import pathlib
import struct
import sys

import torch
import torch.distributed as dist

INPUTS, BATCH = 16, 8


def main():
    folder, steps, hidden = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rank, size = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    torch.set_num_threads(1)
    dist.init_process_group("sumac", store=dist.FileStore(str(folder / "store"), size), rank=rank, world_size=size)
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(INPUTS, hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, 1))
    model = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = torch.Generator().manual_seed(rank)
    with (folder / str(rank)).open("wb", buffering=0) as losses:
        for _ in range(steps):
            x = torch.randn(BATCH, INPUTS, generator=data)
            loss = (model(x) - torch.sin(x.sum(1, keepdim=True))).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.write(struct.pack("=d", loss.item()))
    dist.barrier()
    dist.destroy_process_group()
    print(f"trains: rank {rank} is done", flush=True)


main()
