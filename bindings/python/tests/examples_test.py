"""The examples run under torchrun as their first lines say: the loss falls, and every rank ends."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Examples(unittest.TestCase):
    def test_training_by_ddp_in_four_processes(self):
        before = set(os.listdir("/dev/shm"))
        done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4", ROOT / "examples/torch/train.py",
                               "--steps", "10", "--batch", "4"], capture_output=True, text=True, timeout=280, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3.2 million parameters, 4 processes, backend sumac", done.stdout)
        losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", done.stdout)]
        self.assertEqual(len(losses), 2, done.stdout)
        self.assertLess(losses[1], losses[0])
        self.assertEqual({name for name in os.listdir("/dev/shm") if name.startswith("sumac")} - before, set())


if __name__ == "__main__":
    unittest.main()
