"""PyTorch's entry point (`torch.backends`)."""
from __future__ import annotations

import importlib


def register() -> None:
    """Tells PyTorch of the backend. Called by PyTorch at the end of its import; where that import is sumac_collectives.torch's own, that
    module registers itself right after it."""
    backend = importlib.import_module("sumac_collectives.torch")
    if hasattr(backend, "register"):
        backend.register()
