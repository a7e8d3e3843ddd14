"""What ranks do with futures, their callbacks, and works that outlive their group: for torch_test.py."""
import datetime
import gc
import os

import torch
import torch.distributed as dist

import ranks


def callbacks_that_wait(rank, size, folder):
    """A callback waits for an operation that it starts, whose callback does so too. Rank 1 comes later each time."""
    ranks.init("sumac", rank, size, folder, timeout=30)
    tensors = [torch.full((4,), float(i + 1)) for i in range(3)]

    def reduce_then(i):
        if rank == 1:
            ranks.await_file(folder / f"asked-{i}")
        future = dist.all_reduce(tensors[i], async_op=True).get_future()
        if i + 1 < len(tensors):
            future = future.then(lambda done: (done.value()[0] + reduce_then(i + 1).wait()[0],))
        (folder / f"asked-{i}").touch()
        return future

    total = reduce_then(0).wait()[0]
    dist.barrier()
    dist.destroy_process_group()
    return total.tolist()


def limits_in_callbacks(rank, size, folder):
    """Rank 1 takes no part in the second operation, whose future alone is waited for, in a callback."""
    ranks.init("sumac", rank, size, folder, timeout=1.0 if rank == 0 else 60.0)
    if rank == 1:
        ranks.await_file(folder / "asked")
    first = dist.all_reduce(torch.ones(1), async_op=True).get_future()
    if rank == 0:
        first = first.then(lambda _: dist.all_reduce(torch.ones(1), async_op=True).get_future().wait())
    (folder / "asked").touch()
    try:
        first.wait()
        return "it ended"
    except RuntimeError as error:
        return str(error)
    finally:
        if rank == 0:
            (folder / "over").touch()
        ranks.await_file(folder / "over")


def a_slow_callback(rank, size, folder):
    """It waits for a future that comes behind its own. Returns what is said."""
    from sumac_collectives import _torch

    _torch.name_callbacks_after(datetime.timedelta(seconds=0.2))
    ranks.init("sumac", rank, size, folder, timeout=30)
    kept = os.dup(2)
    with open(folder / f"stderr-{rank}", "w+", encoding="utf-8") as text:
        os.dup2(text.fileno(), 2)
        if rank == 1:
            ranks.await_file(folder / "asked")
        futures = [dist.all_reduce(torch.ones(1), async_op=True).get_future() for _ in range(2)]
        waits = futures[0].then(lambda _: futures[1].wait())
        (folder / "asked").touch()
        assert waits.wait()[0].item() == size
        os.dup2(kept, 2)
        text.seek(0)
        said = text.read()
    dist.barrier()
    dist.destroy_process_group()
    return said


def kept_beyond_destroy(rank, size, folder):
    """Rank 0 has posted an operation, and keeps its work, its future and the group beyond destroy_process_group()."""
    ranks.init("sumac", rank, size, folder)
    dist.barrier()
    words = []
    if rank == 0:
        group = dist.group.WORLD._get_backend(torch.device("cpu"))
        work = dist.all_reduce(torch.ones(100_000), async_op=True)
        future = work.get_future()
        called = future.then(lambda done: done.wait())
        dist.destroy_process_group()
        for call in (work.wait, future.wait, called.wait, lambda: group.allreduce([torch.ones(1)]).wait()):
            try:
                call()
                words.append("it ended")
            except (RuntimeError, ValueError) as error:
                words.append(str(error))
        del work, future, called, group
        gc.collect()
        (folder / "over").touch()
    ranks.await_file(folder / "over")
    return words
