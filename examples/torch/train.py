"""Trains a small transformer (3 million parameters) to continue a sequence, with data that it makes itself.

    torchrun --nproc-per-node 4 examples/torch/train.py
    torchrun --nproc-per-node 4 examples/torch/train.py --backend gloo     # the same losses

One word is Sumac's: the backend.
"""
import argparse
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

WORDS, LENGTH, WIDTH = 64, 32, 256


class Model(torch.nn.Module):
    """Words to words: an embedding, four layers of attention, and back."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, WIDTH)
        self.places = torch.nn.Parameter(torch.zeros(LENGTH, WIDTH))
        layer = torch.nn.TransformerEncoderLayer(WIDTH, nhead=4, dim_feedforward=1024, dropout=0.0, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, num_layers=4, enable_nested_tensor=False)
        self.out = torch.nn.Linear(WIDTH, WORDS)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        mask = torch.nn.Transformer.generate_square_subsequent_mask(LENGTH)
        return self.out(self.layers(self.words(words) + self.places, mask=mask, is_causal=True))


def batch(size: int, generator: torch.Generator) -> torch.Tensor:
    """Sequences that count up by steps of their own: the model must find the step."""
    start, step = (torch.randint(1, WORDS, (size, 1), generator=generator) for _ in range(2))
    return (start + step * torch.arange(LENGTH + 1)) % WORDS


def main() -> None:
    """Trains, and prints the mean loss of all ranks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="sumac", help="sumac, or gloo to compare with")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=8, help="sequences of a rank in a step")
    arguments = parser.parse_args()

    dist.init_process_group(arguments.backend)
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = DistributedDataParallel(Model())
    if rank == 0:
        print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.1f} million parameters, {dist.get_world_size()} processes, "
              f"backend {dist.get_backend()}", flush=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(rank)
    began = time.monotonic()
    for step in range(1, arguments.steps + 1):
        words = batch(arguments.batch, generator)
        loss = torch.nn.functional.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean, dist.ReduceOp.SUM)
        if rank == 0 and step % 5 == 0:
            print(f"step {step}: loss {mean.item() / dist.get_world_size():.4f}, {(time.monotonic() - began) / step * 1e3:.0f} ms a step",
                  flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
