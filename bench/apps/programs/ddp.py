"""PyTorch's DistributedDataParallel: steps of a small network on random data. mpirun only starts the processes.

usage: ddp.py BACKEND STEPS WIDTH FOLDER lab|host"""

import os
import socket
import sys
import time

import torch
import torch.distributed as dist

LAYERS, BATCH, EVERY = 6, 8, 10


def main():
    backend, steps, width, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    rank, size = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    # A lab host has one network beside the loopback device, and its name does not resolve.
    names = [name for _, name in socket.if_nameindex() if name != "lo"]
    os.environ["GLOO_SOCKET_IFNAME"] = names[0] if sys.argv[5] == "lab" else "lo"
    torch.set_num_threads(1)
    dist.init_process_group(backend, store=dist.FileStore(f"{folder}/store", size), rank=rank, world_size=size)
    torch.manual_seed(1)
    layers = [layer for _ in range(LAYERS) for layer in (torch.nn.Linear(width, width), torch.nn.BatchNorm1d(width), torch.nn.Tanh())]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.Generator().manual_seed(rank)
    dist.barrier()
    began = time.perf_counter()
    for step in range(steps):
        x = torch.randn(BATCH, width, generator=data)
        loss = (model(x) - torch.flip(x, [1])).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % EVERY == 0:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0:
                print(f"RESULT step {step} loss {mean.item() / size:.4f}", flush=True)
    dist.barrier()
    if rank == 0:
        print(f"SECONDS {time.perf_counter() - began:.4f}", flush=True)
    dist.destroy_process_group()


main()
