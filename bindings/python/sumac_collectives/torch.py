"""PyTorch's backend "sumac": after `import torch`, `torch.distributed.init_process_group("sumac")` works.

PyTorch finds this module by its entry point (`torch.backends`), so nothing needs to import it. It serves tensors on the CPU, and those
on a GPU through pinned host memory; "cpu:sumac,cuda:nccl" leaves the latter to another backend.
"""
from __future__ import annotations

import typing

import torch
import torch.distributed as dist


def _load() -> typing.Any:
    """Loads the compiled part. Raises ImportError with the remedy if it is for another PyTorch."""
    try:
        from . import _torch
    except ImportError as error:
        raise ImportError(f"sumac_collectives has no backend for PyTorch {torch.__version__} ({error}): build it where PyTorch is "
                          "installed, with `pip install --no-build-isolation --force-reinstall --no-deps .`") from error
    if _torch.torch_version != torch.__version__:
        raise ImportError(f"sumac_collectives was built for PyTorch {_torch.torch_version} and this is {torch.__version__}: build it "
                          "again with `pip install --no-build-isolation --force-reinstall --no-deps .`")
    return _torch


def _make(options: typing.Any, _own_options: object) -> typing.Any:
    milliseconds = options.timeout
    return _load().make(options.store, options.group_rank, options.group_size, milliseconds, options.group_id)


def register() -> None:
    """Tells PyTorch of the backend. Called by PyTorch itself while it is imported, so it loads nothing."""
    if dist.is_available() and "sumac" not in dist.Backend.backend_list:
        dist.Backend.register_backend("sumac", _make, extended_api=True, devices=["cpu", "cuda"])


register()
