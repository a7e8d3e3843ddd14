"""Frameworks above PyTorch train a tiny model with random weights in two processes, on the backend "sumac" and on gloo: `make frameworks`.

The losses must be gloo's to 1e-6. Nothing is downloaded.
usage: frameworks.py [--out FILE] [--case NAME]
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

RANKS, STEPS, SECONDS, CLOSE = 2, 5, 300, 1e-6


def model(torch):
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))


def data(torch, rank=None):
    """A batch of this rank for each step, or those of all ranks, one behind the other."""
    x = torch.randn(STEPS * RANKS, 8, 16, generator=torch.Generator().manual_seed(2))
    return x if rank is None else x[rank::RANKS]


def loss_of(net, x):
    return (net(x) - x.sum(-1, keepdim=True)).square().mean()


def accelerate(backend):
    import torch
    import torch.distributed as dist
    from accelerate import Accelerator

    dist.init_process_group(backend)
    accelerator = Accelerator(cpu=True)
    assert accelerator.num_processes == RANKS
    net = model(torch)
    net, optimizer, loader = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.05), torch.utils.data.DataLoader(data(torch), batch_size=1))
    losses = []
    for x in loader:
        loss = loss_of(net, x)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        losses.append(accelerator.gather(loss.detach()).mean().item())
    return losses


def transformers(backend):
    import torch
    import torch.distributed as dist
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    dist.init_process_group(backend)
    losses = []

    class Kept(Trainer):
        def compute_loss(self, *arguments, **named):
            loss = super().compute_loss(*arguments, **named)
            losses.append(loss.item())
            return loss

    torch.manual_seed(1)
    net = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2))
    tokens = torch.randint(64, (STEPS * RANKS * 4, 16), generator=torch.Generator().manual_seed(2))
    with tempfile.TemporaryDirectory() as folder:
        wanted = TrainingArguments(output_dir=folder, use_cpu=True, max_steps=STEPS, per_device_train_batch_size=4, report_to=[], save_strategy="no",
                                   disable_tqdm=True, seed=3)
        assert wanted.world_size == RANKS
        Kept(net, wanted, train_dataset=[{"input_ids": one, "labels": one} for one in tokens]).train()
    return losses


def lightning(backend):
    import lightning
    import torch
    from lightning.pytorch.strategies import DDPStrategy

    losses = []

    class Net(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = model(torch)

        def training_step(self, x, _index):
            loss = loss_of(self.net, x)
            losses.append(loss.item())
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.05)

    trainer = lightning.Trainer(accelerator="cpu", devices=RANKS, strategy=DDPStrategy(process_group_backend=backend), max_epochs=1, logger=False,
                                enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Net(), torch.utils.data.DataLoader(data(torch), batch_size=1))
    return losses


def deepspeed(backend):
    os.environ["DS_ACCELERATOR"] = "cpu"
    import deepspeed as framework
    import torch
    import torch.distributed as dist

    dist.init_process_group(backend)
    losses = []
    for stage in (0, 2, 3):
        net = model(torch)
        engine, *_ = framework.initialize(model=net, optimizer=torch.optim.SGD(net.parameters(), lr=0.05), config={
            "train_micro_batch_size_per_gpu": 8, "zero_optimization": {"stage": stage}, "zero_allow_untested_optimizer": True})
        for x in data(torch, dist.get_rank()):
            loss = loss_of(engine, x)
            engine.backward(loss)
            engine.step()
            losses.append(loss.item())
    return losses


def torchmetrics(backend):
    import torch
    import torch.distributed as dist
    from torchmetrics import MeanMetric
    from torchmetrics.classification import MulticlassAccuracy
    from torchmetrics.regression import PearsonCorrCoef

    dist.init_process_group(backend)
    found = []
    mean, accuracy, correlation = MeanMetric(), MulticlassAccuracy(num_classes=4), PearsonCorrCoef()
    for x in data(torch, dist.get_rank()):
        mean.update(x)
        accuracy.update(x[:, :4], x[:, 4:8].argmax(1))
        correlation.update(x[:, 0], x[:, 1])
        found.append([one.compute().item() for one in (mean, accuracy, correlation)])
        for one in (mean, accuracy, correlation):
            one._computed = None  # Compute again, over all ranks, with what comes next.
    return [one for step in found for one in step]


CASES = {"accelerate": accelerate, "transformers": transformers, "lightning": lightning, "deepspeed": deepspeed, "torchmetrics": torchmetrics}


def as_rank(case, backend, path):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    losses = CASES[case](backend)
    assert dist.get_backend() == backend, dist.get_backend()
    dist.barrier()
    dist.destroy_process_group()
    pathlib.Path(path).write_text(json.dumps(losses), encoding="utf-8")


def losses_of(case, backend):
    """Runs the ranks as torchrun does; returns what each has written. Raises RuntimeError with their words if one fails."""
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        variables = {**os.environ, "WORLD_SIZE": str(RANKS), "LOCAL_WORLD_SIZE": str(RANKS), "NODE_RANK": "0", "MASTER_ADDR": "127.0.0.1",
                     "MASTER_PORT": str(free.getsockname()[1]), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        free.close()
        paths = [pathlib.Path(folder) / f"{rank}.json" for rank in range(RANKS)]
        logs = [open(pathlib.Path(folder) / f"{rank}.log", "w+", encoding="utf-8") for rank in range(RANKS)]
        programs = [subprocess.Popen([sys.executable, __file__, "--rank", case, backend, str(paths[rank])], stdout=logs[rank], stderr=subprocess.STDOUT,
                                     env={**variables, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(RANKS)]
        try:
            statuses = [program.wait(timeout=SECONDS) for program in programs]
        finally:
            for program in programs:
                program.kill()
                program.wait()
        said = []
        for log in logs:
            log.seek(0)
            said.append(log.read())
            log.close()
        if any(statuses):
            raise RuntimeError(f"{case} on {backend}: statuses {statuses}\n" + "\n".join(said))
        return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="build/frameworks.json", help="the rows")
    parser.add_argument("--case", default="", help="only this one")
    parser.add_argument("--rank", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.rank:
        as_rank(*args.rank)
        return 0
    wanted = [name for name in CASES if args.case in ("", name)]
    if not wanted:
        sys.exit(f"frameworks: no case {args.case!r}: one of {', '.join(CASES)}")
    rows = []
    for name in wanted:
        theirs, ours = losses_of(name, "gloo"), losses_of(name, "sumac")
        apart = max(abs(one - other) for mine, other_rank in zip(ours, theirs) for one, other in zip(mine, other_rank, strict=True))
        rows.append({"case": name, "unit": "largest difference of a loss from gloo's", "sumac": apart, "limit": CLOSE, "losses": len(ours[0])})
        print(f"{name:<14}{len(ours[0]):>4} losses, {apart:.1e} from gloo's{'' if apart <= CLOSE else '   FAILED'}", flush=True)
    pathlib.Path(args.out).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return int(any(row["sumac"] > CLOSE for row in rows))


if __name__ == "__main__":
    sys.exit(main())
