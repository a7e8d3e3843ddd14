"""The table of `make bench-crossover`: a line for each number of hosts, round trip and size; the places of the nodes are columns."""

from core.table import markdown, number

from . import grid

HEAD = ("hosts", "round trip", "size", "hosts alone", "ring", "nodes at the switch", "on 1 spare host", "on n spare hosts",
        "on the n hosts")
MARKS = {"wrong": " WRONG", "cores": " ~", "even": " =", "right": "", "": ""}


def against(value, bound):
    """"105 x1.03": what it took, and how many times its bound that is."""
    return f"{number(value)} x{value / bound:.2f}" if value is not None else "-"


def place_text(row):
    if row is None or row.tree is None:
        return "-"
    text = against(row.tree, row.cell.limit)
    if row.verdict in ("right", "wrong") and row.won == "tree":
        text = f"**{text}**"
    return f"{text} {row.chose}{MARKS[row.verdict]}"


def own_text(row):
    if row.own is None:
        return "-"
    text = f"{against(row.own, row.cell.hosts_limit)} [{row.algorithm.removeprefix('Open MPI allreduce ')}]"
    return text


def table(rows):
    lines = {}
    for row in rows:
        one = row.cell.fabric
        lines.setdefault((one.hosts, one.round_trip_us, row.cell.size), {})[one.place] = row
    body = []
    for (hosts, round_trip_us, size), places in lines.items():
        if all(row.tree is None for row in places.values()):
            continue
        first = next(iter(places.values()))
        body.append((str(hosts), grid.time_name(round_trip_us).replace("us", " us").replace("ms", " ms"),
                     grid.size_name(size).replace("KiB", " KiB").replace("MiB", " MiB").replace("8B", "8 B"),
                     own_text(first), against(first.ring, first.cell.ring_limit) if first.ring is not None else "-",
                     *[place_text(places.get(place)) for place in grid.PLACES]))
    return markdown(HEAD, body)


def sums(rows):
    """How often the selection was right, for under the table and for the exit status."""
    count = {word: sum(row.verdict == word for row in rows) for word in ("right", "even", "wrong", "cores")}
    judged = count["right"] + count["even"] + count["wrong"]
    return count, (f"{judged} cells judged: {count['right']} times the faster way was chosen, {count['even']} times both took the same "
                   f"(within 10 %), {count['wrong']} times the slower one; {count['cores']} cells (~) say more of two cores than of links.")
