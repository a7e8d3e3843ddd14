"""Installing, building and starting, on more than one distribution."""

from case import Case

CASES: list[Case] = []
