"""How fast something grows, and how surely: a line through the medians of equal blocks of time, with its 95 % interval. Medians of blocks, since samples that
follow each other are alike and would make the interval too narrow."""

import math
import statistics

BLOCKS = 12
STUDENT = 2.228  # The 97.5th percentile of Student's distribution with BLOCKS - 2 degrees of freedom.


def slope(samples):
    """Returns (slope, low, high) of [(time, value)], or None: a block has no sample."""
    begin, end = samples[0][0], samples[-1][0]
    blocks = [[] for _ in range(BLOCKS)]
    for time, value in samples:
        blocks[min(BLOCKS - 1, int((time - begin) / (end - begin or 1) * BLOCKS))].append(value)
    if not all(blocks):
        return None
    y = [statistics.median(block) for block in blocks]
    x = [begin + (i + 0.5) * (end - begin) / BLOCKS for i in range(BLOCKS)]
    line = statistics.linear_regression(x, y)
    left = sum((b - line.slope * a - line.intercept) ** 2 for a, b in zip(x, y)) / (BLOCKS - 2)
    half = STUDENT * math.sqrt(left / sum((a - statistics.mean(x)) ** 2 for a in x))
    return line.slope, line.slope - half, line.slope + half


def judged(found, limit):
    """Returns "violated", "void" or "" for what slope() returned: void where the interval does not say on which side of the limit it is."""
    if found is None or found[1] <= limit < found[2]:
        return "void"
    return "violated" if found[1] > limit else ""
