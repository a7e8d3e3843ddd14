"""The examples run under torchrun as their first lines say: the loss falls, and every rank ends."""
import os
import pathlib
import re
import runpy
import socket
import subprocess
import sys
import tempfile
import unittest

import ranks
import torch._dynamo  # noqa: F401  # Once, for all forks, which import it when they train.
import torch.distributed.fsdp  # noqa: F401

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "tests"))
from harness import folders  # noqa: E402  pylint: disable=wrong-import-position

ROOT = pathlib.Path(__file__).resolve().parents[3]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]
FEW = ["--steps", "10", "--batch", "4"]
# As many samples of a step as four processes have.
FEW_OF_TWO = ["--steps", "10", "--batch", "8"]


def losses(text):
    return [float(loss) for loss in re.findall(r"loss ([\d.]+)", text)]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def as_under_torchrun(rank, size, folder, port, example, *arguments):
    """The example in a process with torchrun's variables. What it prints is in the folder."""
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    script = ROOT / "examples/torch" / example
    sys.path.insert(0, str(script.parent))
    sys.argv = [str(script), *FEW, *arguments]
    with open(folder / f"rank-{rank}", "w", encoding="utf-8") as out:
        os.dup2(out.fileno(), 1)
        runpy.run_path(str(script), run_name="__main__")
        sys.stdout.flush()


class Examples(unittest.TestCase):
    def setUp(self):
        before = os.listdir("/dev/shm")
        self.addCleanup(lambda: self.assertEqual(folders.left_in_dev_shm(before), set()))

    def forked(self, example, *arguments):
        """Returns what rank 0 printed, and how each rank ended."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            ended = ranks.end(ranks.start(as_under_torchrun, 4, folder, free_port(), example, *arguments), 280)
            return (folder / "rank-0").read_text(encoding="utf-8"), [one.error for one in ended]

    def losses_of_gloo(self, example):
        """Behind its last step a process of gloo's may abort while it ends ("terminate called without an active exception"; 1 of 4
        runs on a busy machine with PyTorch 2.15, without Sumac). The losses are there by then."""
        said, errors = self.forked(example, "--backend", "gloo")
        found = losses(said)
        self.assertEqual(len(found), 2, errors)
        return found

    def test_training_by_ddp(self):
        done = subprocess.run([*TORCHRUN, "--standalone", "--nproc-per-node", "2", ROOT / "examples/torch/train.py", *FEW_OF_TWO],
                              capture_output=True, text=True, timeout=280, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = done.stdout
        self.assertIn("3.2 million parameters, 2 processes, backend sumac", said)
        first, last = losses(said)
        self.assertLess(last, first)

    def test_sharded_training_has_the_losses_of_gloo(self):
        said, errors = self.forked("fsdp.py")
        self.assertEqual(errors, [None] * 4)
        self.assertIn("0.8 of 3.2 million parameters in each of 4 processes, backend sumac", said)
        first, last = losses(said)
        self.assertLess(last, first)
        for ours, theirs in zip((first, last), self.losses_of_gloo("fsdp.py"), strict=True):
            self.assertLessEqual(abs(ours - theirs), 1e-4)  # The last digit that is printed.

    def test_training_on_two_machines(self):
        """The line of docs/torch.md, on both machines: a process in a UTS namespace of its own, which meet over loopback."""
        port = free_port()
        machines = [subprocess.Popen([*TORCHRUN, "--nnodes", "2", "--nproc-per-node", "1", "--node-rank", str(machine), "--master-addr", "127.0.0.1",
                                      "--master-port", str(port), ROOT / "examples/torch/train.py", *FEW_OF_TWO], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True, preexec_fn=lambda name=f"machine-{machine}": ranks.become_host(name))
                    for machine in range(2)]
        ended = [machine.communicate(timeout=280) for machine in machines]
        self.assertEqual([machine.returncode for machine in machines], [0, 0], [err for _, err in ended])
        self.assertIn("2 processes, backend sumac", ended[0][0])
        first, last = losses(ended[0][0])
        self.assertLess(last, first)


if __name__ == "__main__":
    unittest.main()
