"""The way that tensors of a GPU take through host memory. Tests drive it with tensors of the CPU in their place, and on a GPU where one is."""
import functools
import sys
import unittest

try:
    import torch
    import torch.distributed as dist
except ImportError as error:
    print(f"skipped: {error}: make setup-python installs PyTorch")
    sys.exit(77)

import ranks
import sumac_collectives.torch
import torch_test


def staged(body):
    """The body with tensors of the CPU treated as a device's: they travel through memory of the backend, and an operation begins only when
    its data are there."""
    def with_staging(rank, size, folder, *arguments):
        module = sumac_collectives.torch._load()
        module.make = functools.partial(module.make, stages_all=True)
        return body(rank, size, folder, *arguments)
    return with_staging


def on_gpu(rank, size, folder):
    """Two ranks on one GPU or two: the results are those of the CPU, and a stream that waits for a work sees its result."""
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    ranks.init("sumac", rank, size, folder)
    for _ in range(20):
        # The product is long under way when the sum is posted, and nobody waits for the device.
        factor = torch.full((1024, 1024), 1.0 / 1024, device=device)
        x = factor @ factor * (rank + 1)
        work = dist.all_reduce(x, async_op=True)
        work.wait()
        assert torch.allclose((x * 2).cpu(), torch.full((1024, 1024), 2 * 3.0 / 1024))
    blocks = torch.arange(8.0, device=device) + rank
    out = torch.empty(4, device=device)
    dist.reduce_scatter_tensor(out, blocks)
    assert out.tolist() == [8 * rank + 1 + 2 * i for i in range(4)]
    flat = torch.empty(16, device=device)
    dist.all_gather_into_tensor(flat, blocks)
    assert torch.equal(flat.cpu(), torch.cat([torch.arange(8.0), torch.arange(8.0) + 1]))
    if rank == 0:
        dist.send(blocks, 1)
    else:
        dist.recv(out := torch.empty(8, device=device), 0)
        assert torch.equal(out.cpu(), torch.arange(8.0))
    # The rank's own order holds between tensors of a GPU and of the CPU.
    y, z = torch.ones(1 << 20, device=device), torch.ones(1)
    works = [dist.all_reduce(y, async_op=True), dist.all_reduce(z, async_op=True)]
    doubled = works[0].get_future().then(lambda future: future.value()[0] * 2)
    for work in works:
        work.wait()
    assert doubled.wait().eq(4).all() and y.eq(2).all() and z.item() == 2
    net = torch.nn.parallel.DistributedDataParallel(torch_test.model().to(device))
    net(torch.ones(4, 32, device=device)).sum().backward()
    dist.destroy_process_group()


class Staged(unittest.TestCase):
    def test_reductions(self):
        ranks.values(self, staged(torch_test.reductions), 3)

    def test_movements(self):
        ranks.values(self, staged(torch_test.movements), 3)

    def test_messages(self):
        ranks.values(self, staged(torch_test.messages), 3)

    def test_futures(self):
        ranks.values(self, staged(torch_test.futures), 2)

    def test_data_loaders_fork(self):
        ranks.values(self, staged(torch_test.data_loader), 2)

    def test_ddp_has_the_same_losses(self):
        self.assertEqual(ranks.values(self, staged(torch_test.ddp), 2, "sumac"), ranks.values(self, torch_test.ddp, 2, "sumac"))

    def test_a_rank_that_does_not_come_is_named(self):
        found = ranks.run(staged(torch_test.late), 2, True)
        self.assertRegex(found[0].error, "^DistBackendError: rank 0: allreduce of 400000 B.*timed out after 500 ms at rank 0: rank 1")

    def test_on_a_gpu(self):
        if not torch.cuda.is_available():
            self.skipTest("this machine has no GPU that PyTorch can use")
        ranks.values(self, on_gpu, 2)


if __name__ == "__main__":
    unittest.main()
