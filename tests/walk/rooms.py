"""From the recorder's rings to rooms: which CMake targets a thread went through, in the order in which it did.

A room is the target that a function belongs to. `base`, `wire` and `coll` are the words that the others speak in (results, message layouts, the table of
collectives), and `recorder` is their note of what they do: a function there counts as part of the room that called it, as the C library does, and so does a function of a header. What a thread does while it has nothing to do but
wait counts as part of the room that waits as well.
"""
import dataclasses
import pathlib
import re
import struct
import subprocess

EVENTS, DEPTH = 1 << 18, 256  # recorder.c
LEFT = 1 << 63
ROOT = pathlib.Path(__file__).resolve().parents[2]
# The rooms from the lowest to the highest, in the order of the table.
TABLE = re.findall(r"^set\(SUMAC_MAY_(\w+)", (ROOT / "cmake" / "Sumac.cmake").read_text(encoding="utf-8"), re.MULTILINE)
ROOMS = TABLE
BINDINGS = {"bindings/mpi": "mpi", "bindings/pmpi": "pmpi", "bindings/python/core": "python_core", "bindings/python/numpy": "numpy",
            "bindings/python/torch": "torch"}
NAMESPACES = {"python": "python_core", "torch_backend": "torch"}  # Their rooms have other names.
TRANSPARENT = {"base", "recorder", "wire", "coll"}
LOOK = "net::TcpTransport::progress"
WAITING = ("sumac_limits_drive", "python::Team::look_in_run", "hcoll_drive_mpi", "net::TcpTransport::arm", "client::TreeAcross::sleep", "shm::RankWait::", "net::Waiter::", "node::Shard::wait", "proto::Node::next_due",
           "control::WakeEvent::")
LONGEST_LOOP = 24


@dataclasses.dataclass(frozen=True)
class Function:
    name: str
    room: str  # "" if its file is none of ours


@dataclasses.dataclass(frozen=True)
class Step:
    """A thread comes from one room into another: by a call, or by the return from one."""
    room: str
    came_from: str
    function: str  # called, or returned to
    is_call: bool


def plain(name):
    """`void sumac::shm::fold<sumac::Kernel>(int)` is `sumac::shm::fold`: no result, no template arguments, no parameters."""
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    name = name.replace("(anonymous namespace)::", "")
    return re.sub(r"\(.*", "", name).split(" ")[-1]


def room_of_name(name):
    """The namespace of a C++ function is its room, and whatever else is in `sumac` is base's. Returns "" for a function outside of it."""
    parts = plain(name).split("::")
    if parts[0] != "sumac":
        return ""
    room = NAMESPACES.get(parts[1], parts[1])
    return room if room in ROOMS else "base"


def room_of(path):
    """`/somewhere/src/shm/group.cpp` is in the room `shm`."""
    found = re.search(r"/(?:src/(\w+)|(bindings/(?:python/)?\w+)|(tools|lab|bench|sim))/", path)
    if not found or "/tests/" in path:
        return ""
    return found[1] or BINDINGS.get(found[2]) or found[3] or ""


def read_ring(path):
    """Returns the events, oldest first, as (ns, address, is_call), and the addresses of the functions that the thread is still in."""
    data = pathlib.Path(path).read_bytes()
    written, depth = struct.unpack_from("<QQ", data)
    stack = list(struct.unpack_from(f"<{DEPTH}Q", data, 16))[:depth]
    kept = min(written, EVENTS)
    events = []
    for number in range(written - kept, written):
        ns, function = struct.unpack_from("<QQ", data, 16 + 8 * DEPTH + 16 * (number % EVENTS))
        events.append((ns, function & ~LEFT, not function & LEFT))
    return events, stack


def stacks_after(events, stack):
    """Yields each event, the latest first, with the stack right after it. The ring may have lost the beginning, so this goes back from the end."""
    now = list(stack)
    for ns, function, is_call in reversed(events):
        yield ns, function, is_call, tuple(now)
        if is_call:
            if now:
                now.pop()
        else:
            now.append(function)


def innermost(stack, functions):
    """Returns (room, function's name) of the innermost function that counts, ("", "") outside of all rooms."""
    waits = next((at for at, address in enumerate(stack) if functions[address].name.startswith(WAITING)), len(stack))
    for address in reversed(stack[:waits]):
        function = functions[address]
        if function.room and function.room not in TRANSPARENT:
            return function.room, function.name
    return "", ""


def steps_of(events, stack, functions, begin, end):
    """Returns the thread's changes of room between two times."""
    inside, room = [], ""
    for ns, _, is_call, after in stacks_after(events, stack):
        if ns < begin:
            room = innermost(after, functions)[0]  # the window finds the thread here
            break
        if ns <= end:
            inside.append((is_call, innermost(after, functions)))
    steps = []
    for is_call, (new, name) in reversed(inside):
        if new and new != room:
            steps.append(Step(new, room, name, is_call))
            room = new
    return steps


def without_loops(steps):
    """A thread that waits goes the same way again and again: each such round counts once."""
    out = []
    for step in steps:
        out.append(step)
        for length in range(1, min(LONGEST_LOOP, len(out) // 2) + 1):
            if [(s.room, s.is_call) for s in out[-length:]] == [(s.room, s.is_call) for s in out[-2 * length:-length]]:
                del out[-length:]
                break
    return out


def without_idle_looks(steps):
    """A look at the network that finds nothing is waiting as well: the thread comes back without having been anywhere else."""
    out = []
    for step in steps:
        if out and not step.is_call and out[-1].function == LOOK and out[-1].is_call and step.room == out[-1].came_from:
            out.pop()
            if not out or out[-1].room == step.room:
                continue
        out.append(step)
    return out


def without_second_looks(steps):
    """Whether a thread finds its peers' messages in one look at the network or in several is chance: looks without anything between them
    count as one."""
    out = []
    for step in steps:
        if out and step.is_call and step.function == LOOK and not out[-1].is_call and (out[-1].came_from, out[-1].room) == (step.room, step.came_from):
            out.pop()
        else:
            out.append(step)
    return out


def plain_walk(steps):
    """Returns the walk without what waiting and chance add to it."""
    return without_loops(without_second_looks(without_idle_looks(steps)))


def hand_overs(steps):
    return [s for s in steps if s.is_call and s.came_from]


def calls_back(steps):
    """Returns the functions that are called in a higher room from which the call itself has come."""
    found, inside = set(), []
    for s in steps:
        if not inside:
            inside.append(s.came_from)
        if s.is_call:
            if s.room in inside and ROOMS.index(s.room) > ROOMS.index(inside[-1]):
                found.add(s.function)
            inside.append(s.room)
        elif s.room in inside:
            while inside[-1] != s.room:
                inside.pop()
        else:
            inside = [s.room]
    return sorted(found)


def picture(steps):
    """`mpi > team < mpi`: a call, a return; `^` is a call back into a higher room from which the call has come."""
    back = set(calls_back(steps))
    words = []
    for s in steps:
        if words:
            words.append("<" if not s.is_call else "^" if s.function in back else ">")
        words.append(s.room)
    return " ".join(words)


def objects_of(maps):
    """Returns (begin, end, offset in the file, file) of each mapped file."""
    found = []
    for line in pathlib.Path(maps).read_text().splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].startswith("/"):
            begin, end = (int(word, 16) for word in fields[0].split("-"))
            found.append((begin, end, int(fields[2], 16), fields[5]))
    return found


def functions_of(addresses, maps):
    """Returns {address: Function}, by the line tables of the mapped files."""
    objects = objects_of(maps)
    first = {}
    for begin, _, offset, path in objects:
        first[path] = min(first.get(path, begin - offset), begin - offset)
    by_file = {}
    for address in addresses:
        path = next((path for begin, end, _, path in objects if begin <= address < end), None)
        by_file.setdefault(path, []).append(address)
    functions = {address: Function("?", "") for address in by_file.pop(None, [])}
    for path, some in by_file.items():
        asked = "\n".join(hex(address - first[path]) for address in some)
        lines = subprocess.run(["addr2line", "-f", "-C", "-e", path], input=asked, capture_output=True, text=True, check=True).stdout.splitlines()
        for address, name, place in zip(some, lines[::2], lines[1::2]):
            is_inline = re.search(r"\.(hpp|h):", place) is not None or "operator" in name
            functions[address] = Function(plain(name).removeprefix("sumac::"), "" if is_inline else room_of_name(name) or room_of(place))
    return functions
