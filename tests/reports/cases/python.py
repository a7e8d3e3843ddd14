"""PyTorch and numpy: T1 to T8."""

from case import Case

CASES: list[Case] = []
