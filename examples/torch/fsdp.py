"""Trains the transformer of train.py sharded: each process keeps a part of the parameters, of their gradients and of the optimizer's state.

    torchrun --nproc-per-node 4 examples/torch/fsdp.py
    torchrun --nproc-per-node 4 examples/torch/fsdp.py --backend gloo     # the same losses

FSDP gathers a layer's parameters before it computes and scatters the sums of its gradients behind, so most of its traffic are all_gather and
reduce_scatter.
"""
import argparse

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from train import Model, batch


def main() -> None:
    """Trains, and prints the mean loss of all ranks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="sumac", help="sumac, or gloo to compare with")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=8, help="sequences of a rank in a step")
    arguments = parser.parse_args()

    dist.init_process_group(arguments.backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    model = Model()
    whole = sum(p.numel() for p in model.parameters())
    mesh = init_device_mesh("cpu", (size,))
    for layer in model.layers.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    if rank == 0:
        own = sum(p.to_local().numel() for p in model.parameters())
        print(f"{own / 1e6:.1f} of {whole / 1e6:.1f} million parameters in each of {size} processes, backend {dist.get_backend()}", flush=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(rank)
    for step in range(1, arguments.steps + 1):
        words = batch(arguments.batch, generator)
        loss = torch.nn.functional.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean, dist.ReduceOp.SUM)
        if rank == 0 and step % 5 == 0:
            print(f"step {step}: loss {mean.item() / size:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
