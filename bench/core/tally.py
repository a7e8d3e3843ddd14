"""Reads the line that Sumac's component prints at MPI_Finalize (src/rank/tally.cpp). This is the only place that reads it:
  sumac: job 123: tree 104 (barrier 52, allreduce 52: hop 98, barrier 49, allreduce 49); shared memory 40 (bcast 40); next module 3 (reduce 3: 3 too large)
"""

import dataclasses
import re

LINE = re.compile(r"sumac: (?:job (?P<job>\d+)|without a tree|collectives): (?P<parts>(?:[A-Za-z][A-Za-z ]* \d+\b|no collective was called).*)")
PART = re.compile(r"(?P<name>[A-Za-z ]+) (?P<count>\d+)(?: \((?P<kinds>[^):]*)(?:: (?P<why>[^)]*))?\))?$")
HOP = re.compile(r"hop (\d+), ")
KIND = re.compile(r"([a-z_]+) (\d+)(?:, |$)")


@dataclasses.dataclass(frozen=True)
class Part:
    count: int = 0
    kinds: dict = dataclasses.field(default_factory=dict)  # {collective: calls}
    why: str = ""  # the next module's part: why these calls were left to it; the tree's: those that went by the hop


@dataclasses.dataclass(frozen=True)
class Tally:
    text: str
    job: int  # 0: a program without a tree
    parts: dict  # {"tree": Part, "shared memory": Part, ...} in the order of the line

    def part(self, name):
        return self.parts.get(name, Part())

    def hop(self):
        """Returns the tree's calls that the kernels of nodes answered."""
        found = HOP.match(self.part("tree").why)
        return int(found[1]) if found else 0

    def calls(self, *kinds):
        """Returns the calls of these collectives by all ways together."""
        return sum(part.kinds.get(kind, 0) for part in self.parts.values() for kind in kinds)


def read(text):
    """Returns the Tally of the first such line in the text; None if there is none."""
    found = LINE.search(text)
    if found is None:
        return None
    parts = {}
    for one in found["parts"].split("; "):
        if part := PART.match(one.strip()):
            kinds = {kind: int(count) for kind, count in KIND.findall(part["kinds"] or "")}
            parts[part["name"]] = Part(int(part["count"]), kinds, part["why"] or "")
    return Tally(found[0].strip(), int(found["job"] or 0), parts)
