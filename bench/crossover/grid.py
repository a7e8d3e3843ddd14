"""The grid of `make bench-crossover`: hosts x round trip x place of the nodes x size, and the fabric of each."""

from dataclasses import dataclass

from demolib import cases as C

HOSTS = (4, 8, 16)
ROUND_TRIPS_US = (100, 500, 5000)  # from a host to another and back: four links
PLACES = ("switch", "1 spare", "n spare", "hosts")
SIZES = (8, 4 << 10, 64 << 10, 1 << 20, 16 << 20)
RATE_MBIT = 60  # two cores carry this for 16 hosts and as many nodes at once
# If bytes are all that counts, one round trip stands for the others: delay is less than 2 % of the time of 16 MiB.
LARGE, LARGE_ROUND_TRIP_US = 16 << 20, 500
LONGEST_S = 6.0  # one call may take no longer
FLOOR_US = 0  # the round trip of the fabric without delays and rates: what the machine itself takes


@dataclass(frozen=True)
class Spot(C.Fabric):
    """One fabric of the grid: so many hosts at one switch."""

    round_trip_us: int = 0
    place: str = "switch"

    @property
    def group(self):
        return group_name(self.hosts, self.round_trip_us)

    @property
    def short(self):
        return self.name.removeprefix("crossover-")

    @property
    def trees(self):
        return 1 if self.place in ("switch", "1 spare") else self.hosts


@dataclass(frozen=True)
class Cell(C.Case):
    """One size on one fabric. `limit`: the bound of its trees; ms, as everything here."""

    hosts_limit: float = None  # the bound of the best that hosts do without a tree
    ring_limit: float = None
    left_out: str = ""  # why it is not measured


def group_name(hosts, round_trip_us):
    return f"{hosts}h-{time_name(round_trip_us)}"


def time_name(us):
    return f"{us / 1000:g}ms" if us >= 1000 else f"{us}us" if us else "floor"


def size_name(size):
    return f"{size >> 20}MiB" if size >= 1 << 20 else f"{size >> 10}KiB" if size >= 1 << 10 else f"{size}B"


def spot(hosts, round_trip_us, place, folder):
    name = f"crossover-{group_name(hosts, round_trip_us)}-{place.replace(' ', '-')}"
    return Spot(name, "an1", C._leaves(1, hosts), file=str(folder / f"{name}.yaml"), round_trip_us=round_trip_us,
                place=place)


def yaml(one):
    """The fabric file. A link is a quarter of the round trip, so a host is two links from another and one from a node at the switch."""
    n = one.hosts
    at = {"switch": ["{switch: s1}"], "1 spare": ["{host: x1}"], "n spare": [f"{{host: x{i + 1}}}" for i in range(n)],
          "hosts": [f"{{host: h{i + 1}}}" for i in range(n)]}[one.place]
    limits = f"delay: {one.round_trip_us * 250}ns, rate: {RATE_MBIT}Mbit/s, " if one.round_trip_us != FLOOR_US else ""
    lines = [f"name: {one.name}", f"defaults: {{{limits}mtu: 9000, buffer: 32MiB}}", "offload: false", "switches: [s1]", "hosts:",
             f"  h[1-{n}]: {{leaf: s1, compute: true}}"]
    if "spare" in one.place:
        lines.append(f"  x[1-{len(at)}]: {{leaf: s1, compute: false}}" if len(at) > 1 else "  x1: {leaf: s1, compute: false}")
    lines += ["nodes:"] + [f"  an{i + 1}: {where}" for i, where in enumerate(at)]
    return "\n".join(lines + [f"trees: {one.trees}", "manager: {switch: s1}"]) + "\n"


def spots(folder):
    """All fabrics, each host count's floor first."""
    return [spot(hosts, us, place, folder) for hosts in HOSTS for us in (FLOOR_US, *ROUND_TRIPS_US)
            for place in (PLACES if us != FLOOR_US else ("switch",))]


def ms(line, size):
    """A bound of `sumac fabric bounds --json` at this size."""
    return 1e3 * (line["fixed_s"] + line["per_byte_s"] * size)


def hosts_ms(bounds, size):
    """Of whatever hosts do by themselves the fastest."""
    return min(ms(bounds[way], size) for way in OWN_WAYS)


OWN_WAYS = ("halving", "doubling", "linear")


def why_left_out(one, size, limit):
    if size == LARGE and one.round_trip_us not in (LARGE_ROUND_TRIP_US, FLOOR_US):
        return f"delay is no matter: see {time_name(LARGE_ROUND_TRIP_US)}"
    if limit > LONGEST_S * 1e3:
        return f"a call takes {limit / 1e3:.0f} s"
    return ""


def calls(limit_ms, budget_s, most):
    """(iterations, warm-up) that take about `budget_s` if a call takes twice its bound."""
    count = int(max(2, min(most, budget_s * 1e3 / max(1.0, 2 * limit_ms))))
    return (count, max(1, count // 10)) if limit_ms < 1e3 else (1, 1)


def cells(one, bounds):
    """The sizes of a fabric, with what the pure function says of them."""
    out = []
    for size in SIZES:
        limit, own = ms(bounds["tree"], size), hosts_ms(bounds, size)
        floor = one.round_trip_us == FLOOR_US  # no bound there: it is what the others are compared with
        out.append(Cell(f"{one.short}-{size_name(size)}", one, "allreduce", size, None if floor else limit,
                        "sumac fabric bounds", iterations=(5, 1) if floor and size >= 1 << 20 else calls(limit, 1.0, 100),
                        hosts_limit=None if floor else own, ring_limit=None if floor else ms(bounds["ring"], size),
                        left_out=why_left_out(one, size, limit)))
    return out
