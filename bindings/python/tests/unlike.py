"""Calls in which the ranks differ, rank 1 mostly from the others: for torch_test.py, hosts_test.py and tree_test.py. UNLIKE is for 4 ranks."""
import torch
import torch.distributed as dist

import ranks


def splits(*rows):
    """all_to_all_single with the splits of each rank: what it sends to each, and what it expects from each."""
    def call(rank):
        leaves, comes = rows[rank]
        dist.all_to_all_single(torch.empty(sum(comes)), torch.ones(sum(leaves)), list(comes), list(leaves))
    return call


def typed(call):
    """The call with another type of elements, of the same width, at rank 1."""
    return lambda rank: call(rank, torch.int32 if rank == 1 else torch.float32)


UNLIKE = {
    "size": lambda rank: dist.all_reduce(torch.ones(3 if rank == 1 else 2)),
    "size of large posted ones": lambda rank: dist.all_reduce(torch.ones(200_000 if rank == 1 else 100_000), async_op=True).wait(),
    "type": typed(lambda rank, dtype: dist.all_reduce(torch.ones(2, dtype=dtype))),
    "operation": lambda rank: dist.all_reduce(torch.ones(2), dist.ReduceOp.MAX if rank == 1 else dist.ReduceOp.SUM),
    "operation on blocks": lambda rank: dist.reduce_scatter_tensor(torch.ones(2), torch.ones(8), dist.ReduceOp.MAX if rank == 1 else dist.ReduceOp.SUM),
    "barrier and all_reduce": lambda rank: dist.barrier() if rank == 1 else dist.all_reduce(torch.ones(2)),
    "broadcast": typed(lambda rank, dtype: dist.broadcast(torch.ones(4, dtype=dtype), 0)),
    "large broadcast": typed(lambda rank, dtype: dist.broadcast(torch.ones(100_000, dtype=dtype), 0)),
    "all_gather": typed(lambda rank, dtype: dist.all_gather_into_tensor(torch.empty(8, dtype=dtype), torch.ones(2, dtype=dtype))),
    "all_to_all": typed(lambda rank, dtype: dist.all_to_all_single(torch.empty(4, dtype=dtype), torch.ones(4, dtype=dtype))),
    "gather": typed(lambda rank, dtype: dist.gather(torch.ones(2, dtype=dtype), [torch.empty(2, dtype=dtype) for _ in range(4)] if rank == 0 else None)),
    "scatter": typed(lambda rank, dtype: dist.scatter(torch.ones(2, dtype=dtype), [torch.ones(2, dtype=dtype) for _ in range(4)] if rank == 0 else None)),
    "bool and uint8": lambda rank: dist.broadcast(torch.ones(4, dtype=torch.bool if rank == 1 else torch.uint8), 0),
    "mean": lambda rank: dist.all_reduce(torch.ones(2), dist.ReduceOp.AVG if rank == 1 else dist.ReduceOp.SUM),
    "mean of blocks": lambda rank: dist.reduce_scatter_tensor(torch.ones(2), torch.ones(8), dist.ReduceOp.AVG if rank == 1 else dist.ReduceOp.SUM),
    "broadcast and all_reduce": lambda rank: dist.all_reduce(torch.ones(3)) if rank == 1 else dist.broadcast(torch.ones(3), 0),
    "splits": splits(*[((3, 1, 1, 1), (2, 2, 1, 1))] * 4),
    "large splits": splits(*[((300_000, 100_000, 0, 0), (200_000, 200_000, 0, 0))] * 4),
    "a split with another rank": splits(((1, 2, 1, 1), (1, 1, 1, 1)), *[((1, 1, 1, 1), (1, 1, 1, 1))] * 3),
    # Between hosts "aabb" all bytes from one to the other are as many as are expected there.
    "splits of one sum": splits(((1, 1, 2, 1), (1, 1, 1, 1)), *[((1, 1, 1, 1), (1, 1, 1, 1))] * 2, ((1, 1, 1, 1), (2, 1, 1, 1))),
    "a block of all_gather": lambda rank: dist.all_gather([torch.empty(2 if r == 1 and rank != 1 else 1) for r in range(4)], torch.ones(1)),
}


def one(rank, size, folder, what, next_call):
    """The ranks differ. One that ends nevertheless, as a broadcast's root does, goes on when some rank knows it. Returns what it
    reads, and in which call."""
    name = f"{what}, then {next_call}"
    noticed = folder / f"{name} was noticed"
    ranks.init("sumac", rank, size, folder, name=name)
    call = "first"
    try:
        UNLIKE[what](rank)
        if not ranks.comes_true(noticed.exists, 20):
            return "first", "nobody noticed"
        call = next_call
        dist.barrier() if next_call == "barrier" else dist.destroy_process_group()
        return call, "it ended"
    except (RuntimeError, ValueError) as error:
        noticed.touch()
        return call, str(error)
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def unlike(rank, size, folder, cases):
    return {case: one(rank, size, folder, *case) for case in cases}


def check(test, body, cases, words):
    """Each rank must read the words in each case: what the ranks do, and their next call."""
    for rank, answers in enumerate(ranks.values(test, body, 4, cases)):
        for case, (call, text) in answers.items():
            with test.subTest(case=case, rank=rank, call=call):
                test.assertRegex(text, words)
