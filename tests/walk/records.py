"""The records of an operation: structs of the product that hold three or more of kind, count, type, operation, root and buffer."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOPS = ("src", "bindings", "include")
NO_PRODUCT = re.compile(r"(_test|_fuzz|bench|speed|pingpong)\.|^(test|fuzz|fake|sample)_|^(samples|reference)\.")
NAMES = {
    "kind": {"kind", "coll", "collective"},
    "count": {"count", "bytes", "elements", "length", "counts"},
    "type": {"type", "dtype", "datatype", "sdtype", "rdtype"},
    "operation": {"op", "operation", "fold", "reduce_op"},
    "root": {"root"},
    "buffer": {"in", "out", "data", "buffer", "send", "receive", "sbuf", "rbuf"},
}
LEAST = 3  # so many of them make a record
# Records that the product may have; one of them is the terms that ranks compare, in messages and in a host's memory (wire/peer.hpp), and
# one a call in MPI's own terms, with its handles, at both MPI doors (rank/arguments.h). Four are libucc's: two of its interface, a request, and the
# elements of a type of the program's own. One is a datagram's header, in C that the kernel runs too (hop/frame.h).
MOST = 13
OPENING = re.compile(r"\b(?:struct|class)\s+(?:alignas\([^)]*\)\s*)?([A-Za-z_]\w*)?[^;{}()=]*\{")


def without_comments(text):
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    return re.sub(r"//.*", "", text)


def own_text(text, at):
    """Returns what stands between the braces that open at `at`, without what stands in braces inside."""
    depth, out = 0, []
    for letter in text[at:]:
        if letter == "}":
            depth -= 1
            if depth == 0:
                break
        if depth == 1 and letter not in "{}":
            out.append(letter)
        if letter == "{":
            depth += 1
    return "".join(out)


def fields_of(body):
    """Returns the names of the members: the last word of a declaration that is no function, without a trailing underscore.

    A member that is an Operation, or points to one, is no copy of its parts.
    """
    names = set()
    for part in body.split(";"):
        part = re.sub(r"\s*=.*", "", part, flags=re.DOTALL).strip()
        if "(" in part or re.match(r"using |typedef |friend |static |(const )?(coll::)?Operation\b", part):
            continue
        for word in re.findall(r"(\w+?)_?(?:\[[^\]]*\])*\s*(?:,|$)", part):
            names.add(word)
    return names


def held(names):
    return [what for what, words in NAMES.items() if words & names]


def records_in(text):
    """Returns [(name of the struct, what it holds)]."""
    text = without_comments(text)
    found = []
    for match in OPENING.finditer(text):
        body = own_text(text, match.end() - 1)
        what = held(fields_of(body))
        if len(what) >= LEAST:
            name = match[1] or re.match(r"\W*(\w*)", text[match.end() + len(body) + 1:])[1]
            found.append((name, what))
    return found


def records():
    """Returns [(path, name, what it holds)] of the product."""
    found = []
    for top in TOPS:
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in {".cpp", ".hpp", ".c", ".h"} and not NO_PRODUCT.search(path.name):
                found += [(str(path.relative_to(ROOT)), name, what) for name, what in records_in(path.read_text())]
    return found

