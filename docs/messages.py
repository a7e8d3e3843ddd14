#!/usr/bin/env python3
"""Writes the page messages.md: each error and log line that is written in the code, by program, with its remedy from messages.yaml.

The messages are literals of the calls that report them (`fail`, `complain`, SUMAC_WARN and their kin, `raise`), so the code is the
table. A placeholder becomes `…`. messages.yaml has the remedies, each with the piece of text by which a message is recognised.
usage: docs/messages.py [--write FILE]     without --write it prints the page; either way it names remedies without a message and messages without one
"""
import argparse
import ast
import functools
import pathlib
import re
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
REMEDIES = ROOT / "docs/messages.yaml"

# Each program, the beginnings of the paths of its sources, and a sentence on where its lines appear. The first that fits counts.
PROGRAMS = [
    ("sumac run", ["tools/run/", "src/launch/"], "On stderr, after `sumac run:` or `sumac: run:`."),
    ("sumac lab", ["tools/lab/", "lab/"], "On stderr, after `sumac: lab` or `sumac lab:`."),
    ("sumac fabric, and fabric files", ["tools/fabric/", "src/fabricfile/", "src/topo/"], "On stderr of `sumac fabric` and `sumac lab`, and in the log of `sharp_am`, which reads the same files."),
    ("sumac tune and doctor", ["tools/tune/", "tools/doctor/"], "On stderr, after `sumac:`."),
    ("sumac bench", ["tools/bench/", "bench/field/"], "On stderr, after `sumac: bench:` or `sumac bench:`, or after the benchmark's name."),
    ("sumac up, down, status, page, pki", ["tools/up/", "tools/"], "On stderr, after `sumac:`."),
    ("sharp_am", ["src/manager/", "src/page/"], "In the manager's log: stderr, or `--log-file`. Refusals of a job also reach the program that asked."),
    ("sharp_an", ["src/node/", "src/proto/", "src/reduce/"], "In the node's log: stderr, or `--log-file`. Refusals also reach the ranks."),
    ("sharpd", ["src/hostd/"], "In sharpd's log: stderr, or `--log-file`. Refusals also reach the program that asked."),
    ("libsharp_coll", ["src/client/"], "On stderr of the program, after `[host:rank:pid - file:line] LEVEL`; `SHARP_COLL_LOG_LEVEL` says how much."),
    ("MPI programs", ["src/rank/", "bindings/mpi/", "bindings/pmpi/", "src/team/", "src/shm/", "src/machine/"],
     "On stderr of the program, after `[host:pid:rank][file:line:function]`, or as a reason in what `SUMAC_EXPLAIN=1` prints."),
    ("Clients of HCOLL's interface", ["bindings/hcoll/"], "On stderr of the program, after `[host:pid:rank][file:line:function] hcoll:`."),
    ("Programs of UCC", ["bindings/ucc/"], "On stderr of the program, after `[host:pid:rank][file:line:function] ucc:`."),
    ("Programs of XCCL", ["bindings/xccl/"], "On stderr of the program, after `[host:pid:rank][file:line:function] xccl:`."),
    ("C programs with a team", ["bindings/c/"], "From `sumac_team_why()`."),
    ("Python package", ["bindings/python/"], "As an exception, or on stderr after `sumac:`."),
    ("Several programs", ["src/base/", "src/wire/", "src/net/", "src/control/", "src/http/", "src/multicast/", "src/p2p/", "src/coll/"],
     "As a part of the lines above: options, files, connections, certificates."),
]
TOOLS = "sharp_cmd, sharp_hello, sharp_mpi_test and the other utilities"
PROGRAMS.insert(4, (TOOLS, ["tools/sharp/"], "On stderr, after the tool's name."))

# Their functions return the words of a table.
TABLES = {"src/client/status.cpp"}
# A new message of these sources needs a remedy, unless it says itself what to do (SAYS): people meet them with nobody to ask.
ASKED = ("tools/", "src/rank/", "bindings/python/", "src/client/session.cpp", "src/client/devices.cpp", "src/client/job.cpp")

CALLS = re.compile(r"\b(fail|fail_errno|failure|failed|refused?|complain|stop|warn|warnings\.push_back|remarks\.push_back|SUMAC_SAY|sumac_say_once"
                   r"|SUMAC_(?:FATAL|ERROR|WARN|INFO|LOG|LOG_IN)|step\.say|Failure|Error|tell|print|fprintf|snprintf|value_error|type_error|runtime_error)"
                   r"\s*[({]")
CONSTANTS = re.compile(r"\b(k[A-Z]\w* =)\s*(?=\")")
LITERALS = re.compile(r'(?:"(?:\\.|[^"\\\n])*"(?:\s|PRI[a-z]\d\d|(?<=\s)//[^\n]*\n)*)+')
COMMENT = re.compile(r'(?P<raw>R"(\w*)\(.*?\)\2")|"(?:\\.|[^"\\\n])*"|(?P<comment>(?<!\w)\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*.*?\*/)', re.DOTALL)
PLACEHOLDER = re.compile(r"%[-+ #0]*[\d.*]*(?:hh|h|ll|l|z|j|t)?[diouxXeEfgGcspm]|\{[^{}]*\}")


def without_comments(text: str) -> str:
    """Comments, raw strings (programs of other languages) and characters (a quote among them) become blanks of the same length."""
    return COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]) if found["comment"] or found["raw"] else found[0], text)


def arguments(text: str, start: int) -> str:
    """The text between the bracket that opens before `start` and the one that closes it."""
    depth, at = 1, start
    while at < len(text) and depth:
        if text[at] == '"':
            at = re.compile(r'"(?:\\.|[^"\\\n])*"').match(text, at).end() if re.compile(r'"(?:\\.|[^"\\\n])*"').match(text, at) else at + 1
            continue
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(text[at], 0)
        at += 1
    return text[start:at - 1]


def tidy(message: str) -> str:
    """The message with `…` for each placeholder."""
    message = message.replace("{{", "\1").replace("}}", "\2")
    message = PLACEHOLDER.sub("…", message).replace("%%", "%").replace("\1", "{").replace("\2", "}")
    return re.sub(r"\s+", " ", message).strip()


def is_message(text: str) -> bool:
    """A sentence, or the rest of one: it has two words, and one of them is none of a program's own."""
    return len(re.findall(r"[A-Za-z]{2,}", text)) >= 2 and " " in text


def of_c(text: str, source: str) -> dict[str, bool]:
    """Message -> whether the operating system's words follow it."""
    text = without_comments(text)
    found: dict[str, bool] = {}
    calls = [*CALLS.finditer(text), *CONSTANTS.finditer(text)] + (list(re.finditer(r"(return)\s(?=\")", text)) if source in TABLES else [])
    for call in calls:
        plain = call[1] == "return" or call[1].endswith("=")
        inside = text[call.end():text.index(";", call.end())] if plain else arguments(text, call.end())
        if call[1] in ("print", "fprintf") and not inside.lstrip().startswith("stderr"):
            continue
        if plain and (len(inside) > 300 or "\\n" in inside or len(inside.split()) < 2 + 4 * (call[1] != "return")):
            continue
        if re.search(r"LogLevel::(debug|trace)", inside.split('"')[0]):
            continue
        for run in LITERALS.finditer(inside):
            parts = re.findall(r'"((?:\\.|[^"\\\n])*)"(\s*PRI[a-z]\d\d)?', run[0])
            joined = "".join(part[:-1] + "%d" if macro and part.endswith("%") else part for part, macro in parts)
            message = tidy(re.sub(r"\\(.)", lambda m: {"n": " ", "t": " "}.get(m[1], m[1]), joined))
            if is_message(message):
                found[message] = found.get(message, False) or call[1] == "fail_errno"
    return found


def of_python(text: str, _: str) -> dict[str, bool]:
    def words(node: ast.AST) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.JoinedStr):
            return "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        return ""

    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            found |= {re.sub(r"\s+", " ", words(arg)).strip(): False for arg in node.exc.args if is_message(words(arg))}
    return found


def of_shell(text: str, _: str) -> dict[str, bool]:
    found = {}
    for quoted in re.findall(r'^[^#\n]*?\b(?:die|say|fail|complain)\s+(?:\d+\s+)?"((?:\\.|[^"\\])*)"', text, re.MULTILINE):
        message = re.sub(r"\s+", " ", re.sub(r"\$\{[^}]*\}|\$\([^)]*\)|\$\w+|\$[@*#?]", "…", quoted.replace("\\", ""))).strip()
        if is_message(message):
            found[message] = False
    return found


def is_source(path: pathlib.Path) -> bool:
    name, parts = path.name, path.relative_to(ROOT).parts
    return (path.suffix in {".cpp", ".hpp", ".c", ".h", ".py", ".sh"} and not re.search(r"(_test|_fuzz)\.\w+$", name)
            and not name.startswith("test_") and not {"tests", "shim", "build_backend"} & set(parts) and name not in ("env.py", "fuzz_input.hpp")
            and name not in ("isend_barrier.c", "lab_multicast.py"))


class Message:
    def __init__(self) -> None:
        self.sources: list[str] = []
        self.errno = False


@functools.cache
def collect() -> dict[str, dict[str, Message]]:
    """Program -> text -> the message."""
    found: dict[str, dict[str, Message]] = {name: {} for name, _, _ in PROGRAMS}
    for path in sorted(path for folder in ("src", "tools", "bindings", "lab", "bench/field") for path in (ROOT / folder).rglob("*") if path.is_file()):
        source = str(path.relative_to(ROOT))
        program = max(((len(start), name) for name, starts, _ in PROGRAMS for start in starts if source.startswith(start)), default=(0, None))[1]
        if program is None or not is_source(path):
            continue
        read = {".py": of_python, ".sh": of_shell}.get(path.suffix, of_c)
        for text, errno in read(path.read_text(encoding="utf-8", errors="replace"), source).items():
            message = found[program].setdefault(text, Message())
            message.sources.append(source)
            message.errno = message.errno or errno
    return found


# The signs of a message that says itself what to do: a command in backticks, a question, or an imperative behind a colon, semicolon or bracket.
SAYS = re.compile(r"`[^`]+`|\?|[:;,(] *(see|give|install|set|name|choose|use|run|write|add|mend|correct|raise|lower|make|remove|start|stop|chown|chmod"
                  r"|update|unset|enlarge|move|look|build|destroy|complete|free|link|say|call|take|wait|ask|close|describe|leave|end|check|let|have|correct"
                  r"|expected|usage|one of|a number|at most|did you mean|names must|letters|tcp or ucx|allreduce,|sharpd,)\b"
                  r"|\bmust\b|\bexpected\b|please check|\(give |\(set |needs a value")


def needs_remedy(text: str, message: Message) -> bool:
    return (any(source.startswith(ASKED) for source in message.sources) and not message.errno and not SAYS.search(text)
            and len(re.findall(r"[A-Za-z]{2,}", text)) >= 3)


@functools.cache
def remedies() -> list[tuple[str, str, str]]:
    """(piece of text, beginning of the sources' paths, remedy) for each piece, in the order of the file."""
    rows = yaml.safe_load(REMEDIES.read_text(encoding="utf-8"))
    return [(says, row.get("in", ""), row["remedy"].strip())
            for row in rows for says in ([row["says"]] if isinstance(row["says"], str) else row["says"])]


def remedy_of(text: str, sources: list[str], table: list[tuple[str, str, str]]) -> str:
    """That of the longest piece of text in the message: `sharpd closed the connection` goes before `closed`."""
    fits = ((len(says), remedy) for says, where, remedy in table if says in text and any(source.startswith(where) for source in sources))
    return max(fits, default=(0, ""), key=lambda fit: fit[0])[1]


def code(text: str) -> str:
    """A code span that may hold backticks, in a cell of a table."""
    fence = "``" if "`" in text else "`"
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}".replace("|", "\\|")


HEAD = """# Messages, and what to do

Errors and log lines as they are written in the code, by the program that reports them. `…` stands for a name, a number or a reason. One printed line often joins several
messages, from the outermost inwards: `join tree 7: connect an-3: no answer in 2000 ms`; search for its last part first.

Made from the sources and from `docs/messages.yaml`, which has the remedies. [Troubleshooting](troubleshooting.md) goes the other way, from what you see to its cause.

## Words of the operating system

Many messages end with the system's own words for what it refused:

| words | remedy |
|---|---|
| `Permission denied`, `Operation not permitted` | The user of this process may not do that: look at the owner and mode of the file named, or start the program as the user that its page names. |
| `No such file or directory` | The path is mistyped, or on a disk of another host: programs on other hosts need the file at the same path. |
| `No space left on device`, `Disk quota exceeded` | Free room there. For `/dev/shm` enlarge it (`docker --shm-size`). |
| `Too many open files` | Raise `ulimit -n`, or `LimitNOFILE=` of the service. |
| `Cannot allocate memory` | The machine or the cgroup of the job has no memory left: fewer ranks on this host, or a larger limit. |
| `Address already in use` | Another process has the port: end it (`ss -ltnp` names it), or choose another port. |
| `Connection refused` | The machine answers, and nothing listens at that port: start the daemon there. |
| `No route to host`, `Connection timed out`, `Network is unreachable` | A firewall or a wrong address stands between: `sumac doctor` and `ip route get ADDRESS`. |
"""


def page() -> str:
    out = [HEAD]
    for program, _, where in PROGRAMS:
        out.append(f"\n## {program}\n\n{where}\n")
        with_remedy: dict[str, list[tuple[str, Message]]] = {}
        others = []
        for text, m in sorted(collect()[program].items()):
            if remedy := remedy_of(text, m.sources, remedies()):
                with_remedy.setdefault(remedy, []).append((text, m))
            else:
                others.append((text, m))
        if with_remedy:
            out.append("| message | remedy | source |\n|---|---|---|")
        for remedy, rows in with_remedy.items():
            sources = sorted({source for _, m in rows for source in m.sources})
            cell = remedy.replace("|", "\\|")
            out.append(f"| {'<br>'.join(code(text) for text, _ in rows)} | {cell} | {'<br>'.join(sources)} |")
        if others:
            out.append(f"\n{'Further messages' if with_remedy else 'Messages'}, which say themselves what to do, report what went on, or give the reason of one above:\n")
            out.append("| message | source |\n|---|---|")
            out += [f"| {code(text)}{' + the words of the system' if m.errno else ''} | {'<br>'.join(m.sources)} |" for text, m in others]
    return "\n".join(out) + "\n"


def faults() -> list[str]:
    """Remedies without a message, and messages that need a remedy and have none."""
    all_of = [(text, m) for rows in collect().values() for text, m in sorted(rows.items())]
    found = [f"docs/messages.yaml: no message{' of ' + where if where else ''} has the words `{says}` any more: correct or drop them"
             for says, where, _ in remedies() if not any(says in text and any(source.startswith(where) for source in m.sources) for text, m in all_of)]
    pieces = [(says, where) for says, where, _ in remedies()]
    found += [f"docs/messages.yaml: `{says}` is there twice" for says, where in sorted(set(pieces)) if pieces.count((says, where)) > 1]
    return found + [f"docs/messages.yaml: no remedy for `{text}` ({', '.join(m.sources)}): add one, or let the message say what to do"
                    for text, m in all_of if needs_remedy(text, m) and not remedy_of(text, m.sources, remedies())]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE", help="write the page there, and print how many messages it has")
    options = parser.parse_args()
    found = faults()
    if options.write:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        options.write.write_text(page(), encoding="utf-8")
        print(f"{sum(map(len, collect().values()))} messages, {len(remedies())} pieces of text with a remedy")
    else:
        print(page(), end="")
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
