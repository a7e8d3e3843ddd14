"""Tensors that callers of the backend "sumac" may give as they may with gloo: of inference mode, with elements apart, several of a rank."""
import sys
import unittest

try:
    import torch
    import torch.distributed as dist
except ImportError as error:
    print(f"skipped: {error}: make setup-python installs PyTorch")
    sys.exit(77)

import ranks

torch.set_num_threads(1)


def in_inference_mode(rank, size, folder):
    """Tensors made in inference mode may be changed in that mode only: neither the helper thread nor the group's own memory may break that."""
    ranks.init("sumac", rank, size, folder)
    for is_async in (False, True):
        with torch.inference_mode():
            parts = [torch.empty(2) for _ in range(size)]
            works = [dist.all_gather(parts, torch.full((2,), float(rank)), async_op=is_async)]
            x = torch.full((3,), float(rank))
            works.append(dist.all_reduce(x, dist.ReduceOp.AVG, async_op=is_async))
            for work in works:
                if work:
                    work.wait()
            assert [part.tolist() for part in parts] == [[float(r)] * 2 for r in range(size)] and x[0] == (size - 1) / 2
        normal = [torch.empty(2) for _ in range(size)]
        dist.all_gather(normal, torch.full((2,), float(rank)))
        assert normal[-1][1] == size - 1
    dist.destroy_process_group()


def columns(rank, size, folder):
    """Lists of tensors whose elements lie apart, on both sides."""
    ranks.init("sumac", rank, size, folder)

    def column(value):
        return torch.full((3, 2), float(value))[:, 0]

    parts = [column(-1) for _ in range(size)]
    dist.all_gather(parts, column(rank))
    assert [part.tolist() for part in parts] == [[float(r)] * 3 for r in range(size)]
    received = [column(-1) for _ in range(size)]
    dist.all_to_all(received, [column(10 * rank + r) for r in range(size)])
    assert [part[2].item() for part in received] == [10.0 * r + rank for r in range(size)]
    parts = [column(-1) for _ in range(size)]
    dist.gather(column(rank), parts if rank == 1 else None, dst=1)
    assert rank != 1 or [part[1].item() for part in parts] == [float(r) for r in range(size)]
    one = torch.empty(3)
    dist.scatter(one, [column(r) for r in range(size)] if rank == 0 else None, src=0)
    assert one.tolist() == [float(rank)] * 3
    dist.destroy_process_group()


def lists(rank, size, folder):
    """Several tensors of a rank, by the group's own methods."""
    ranks.init("sumac", rank, size, folder)
    own = dist.distributed_c10d._get_default_group()._get_backend(torch.device("cpu"))
    pair = [torch.full((2,), float(rank)), torch.full((2,), 10.0)]
    own.allreduce(pair).wait()
    assert all(x.tolist() == [sum(range(size)) + 10.0 * size] * 2 for x in pair)
    options = dist.BroadcastOptions()
    options.rootRank, options.rootTensor = 1, 1
    pair = [torch.full((2,), float(rank)), torch.full((2,), 10.0 * rank)]
    own.broadcast(pair, options).wait()
    assert all(x.tolist() == [10.0] * 2 for x in pair)
    outputs = [[torch.empty(1) for _ in range(2 * size)] for _ in range(2)]
    value = own.allgather(outputs, [torch.tensor([float(rank)]), torch.tensor([rank + 0.5])]).get_future().wait()
    right = [r + half for r in range(size) for half in (0.0, 0.5)]
    assert [[x.item() for x in row] for row in value] == [right, right] == [[x.item() for x in row] for row in outputs]
    dist.destroy_process_group()


def averages_without_division(rank, size, folder):
    """PyTorch cannot divide these: nothing may be sent, and the input stays as it is."""
    ranks.init("sumac", rank, size, folder)
    words = []
    for dtype in (torch.uint16, torch.uint32, torch.uint64):
        for is_async in (False, True):
            x = torch.arange(3).to(dtype)
            try:
                work = dist.all_reduce(x, dist.ReduceOp.AVG, async_op=is_async)
                if is_async:
                    work.wait()
                words.append("it ran")
            except RuntimeError as error:
                words.append(str(error))
            assert x.tolist() == [0, 1, 2], x
    small = torch.full((3,), 3 * rank, dtype=torch.uint8)
    dist.all_reduce(small, dist.ReduceOp.AVG, async_op=True).wait()
    assert small.tolist() == [3 * (size - 1) // 2] * 3
    half = torch.full((2,), complex(rank, 1), dtype=torch.complex32)
    try:
        dist.reduce(half, 0, dist.ReduceOp.AVG)
        words.append("it ran")
    except RuntimeError as error:
        words.append(str(error))
    assert half.tolist() == [complex(rank, 1)] * 2, half
    two = torch.full((2,), complex(rank, 1))
    dist.reduce(two, 0, dist.ReduceOp.AVG)
    assert rank != 0 or two.tolist() == [complex((size - 1) / 2, 1)] * 2, two
    dist.destroy_process_group()
    return words


def refused(rank, size, folder, backend):
    """The types of the exceptions of calls that are refused, and what they change: nothing."""
    ranks.init(backend, rank, size, folder)
    x = torch.ones(2)
    calls = {
        "MAX of complex": lambda: dist.all_reduce(x.to(torch.complex64), dist.ReduceOp.MAX),
        "8-bit floats": lambda: dist.all_reduce(x.to(torch.float8_e4m3fn)),
        "reduce of 8-bit floats": lambda: dist.reduce(x.to(torch.float8_e5m2), 0),
        "AVG of uint16": lambda: dist.all_reduce(x.to(torch.uint16), dist.ReduceOp.AVG),
        "MAX of sparse": lambda: dist.all_reduce(x.to_sparse(), dist.ReduceOp.MAX),
        "broadcast of sparse": lambda: dist.broadcast(x.to_sparse(), 0),
        "reduce of sparse": lambda: dist.reduce(x.to_sparse(), 0),
    }
    found = {}
    for name, call in calls.items():
        try:
            call()
            found[name] = "it ran"
        except Exception as error:
            found[name] = type(error).__name__
    dist.destroy_process_group()
    return found


def complex_sums(rank, size, folder, backend):
    """Complex numbers are added up, part by part."""
    ranks.init(backend, rank, size, folder)
    found = []
    for dtype in (torch.complex64, torch.complex128):
        for count in (1, 3, 50_000):
            x = torch.arange(count).to(dtype) * (rank + 1) + rank * 1j
            out = x.clone()
            dist.all_reduce(out)
            found.append(out.sum().item())
            out = x.clone()
            dist.reduce(out, 1)
            if rank == 1:
                found.append(out.sum().item())
            out = torch.empty(count, dtype=dtype)
            dist.reduce_scatter_tensor(out, torch.cat([x * (r + 1) for r in range(size)]))
            found.append(out.sum().item())
    dist.destroy_process_group()
    return found


def cannot_copy_its_result(rank, size, folder):
    """Rank 0 changes the size of an output while rank 1 has not come: only the last step can notice."""
    ranks.init("sumac", rank, size, folder)
    outputs = [torch.empty(4) for _ in range(size)]
    if rank == 1:
        ranks.await_file(folder / "changed")
    work = dist.all_gather(outputs, torch.ones(4), async_op=True)
    words = ""
    if rank == 0:
        outputs[0].resize_(1000)
        (folder / "changed").touch()
        try:
            work.wait()
        except RuntimeError as error:
            words = str(error)
        assert work.is_completed() and not work.is_success() and work.exception() is not None
    else:
        work.wait()
    dist.all_reduce(torch.ones(1))
    dist.destroy_process_group()
    return words


class Tensors(unittest.TestCase):
    def test_tensors_in_inference_mode(self):
        ranks.values(self, in_inference_mode, 2)

    def test_tensors_whose_elements_lie_apart(self):
        ranks.values(self, columns, 3)

    def test_several_tensors_of_a_rank(self):
        ranks.values(self, lists, 2)

    def test_an_average_that_pytorch_cannot_divide_is_refused_at_once(self):
        for words in ranks.values(self, averages_without_division, 2):
            for text, name in zip(words, ("UInt16", "UInt16", "UInt32", "UInt32", "UInt64", "UInt64")):
                self.assertRegex(text, f"^sumac: all_reduce: AVG of {name} is not defined, .* convert the tensor to torch.int64")
            self.assertRegex(words[-1], "^sumac: reduce: AVG of ComplexHalf is not defined, .* convert the tensor to torch.complex64")

    def test_what_is_refused_raises_what_gloo_raises(self):
        ours, theirs = (ranks.values(self, refused, 2, backend) for backend in ("sumac", "gloo"))
        self.assertEqual(ours, theirs)
        kinds = ["ValueError"] + 4 * ["RuntimeError"] + 2 * ["NotImplementedError"]
        for found in ours:
            self.assertEqual(list(found.values()), kinds, found)

    def test_complex_sums_are_those_of_gloo(self):
        ours, theirs = (ranks.values(self, complex_sums, 2, backend) for backend in ("sumac", "gloo"))
        self.assertEqual(ours, theirs)

    def test_a_last_step_that_fails_is_an_error_of_wait(self):
        self.assertRegex(ranks.values(self, cannot_copy_its_result, 2)[0], "1000")


if __name__ == "__main__":
    unittest.main()
