#!/usr/bin/env python3
"""Checks that no compiler does: READMEs, file lengths, dead files, include arrows, paths, links, comments, spelling, pictures.

Each function below named check_x is the ctest test `tidy.x`, and says what to do about what it finds.
usage: tests/tidy.py [--only NAME] [--dot build/dev/arrows.dot]
"""
import argparse
import io
import os
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parent.parent
README_LINES_MAX = 15
FILE_LINES_MAX = 600
STARTERS_MAX = 9
CODE = {".cpp", ".hpp", ".c", ".h", ".py", ".sh", ".cmake", ".proto", ".js"}
# Files of one name in bindings/mpi and bindings/pmpi: what a shell must have. Its processes learn of each other by its own means
# (start-up data there, a collective here), its own calls move what is posted, and a request is the MPI's own object.
TWINS = {"presence", "progress", "requests"}


def files() -> list[str]:
    """Paths of the project, relative: git's view, or a walk where there is no git (a tarball, another user's clone)."""
    git = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         capture_output=True, text=True)
    if git.returncode == 0:
        return sorted({f for f in git.stdout.split("\0") if f and (ROOT / f).is_file()})
    found = []
    for folder, names, leaves in os.walk(ROOT):
        names[:] = [n for n in names if n not in {"build", ".git", "__pycache__", ".cache"}]
        found += [str((pathlib.Path(folder) / leaf).relative_to(ROOT)) for leaf in leaves]
    return sorted(found)


FILES = files()


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


def is_text(path: str) -> bool:
    return b"\0" not in (ROOT / path).read_bytes()[:4096]


def check_readme() -> list[str]:
    """Every folder with a target, and those of documents and scripts, says in 15 lines what lives there."""
    folders = {str(pathlib.PurePath(f).parent) for f in FILES if f.endswith("/CMakeLists.txt")}
    folders |= {f for f in ("docs/adr", "cmake", "packaging", "tests") if (ROOT / f).is_dir()}
    found = []
    for folder in sorted(folders):
        readme = f"{folder}/README.md"
        if readme not in FILES:
            found.append(f"{folder}: no README.md: say what lives here, what it uses, who may use it")
        elif folder != "docs/adr" and (lines := len(text(readme).splitlines())) > README_LINES_MAX:  # that one is a list of pages
            found.append(f"{readme}: {lines} lines, at most {README_LINES_MAX}: the rest belongs into docs/")
    return found


def check_length() -> list[str]:
    """A file past 600 lines holds a second idea; old ones may stay as long as they are (tests/ratchet.txt)."""
    allowed = {}
    for line in text("tests/ratchet.txt").splitlines():
        if line.strip() and not line.startswith("#"):
            path, lines = line.split()
            allowed[path] = int(lines)
    found = [f"tests/ratchet.txt: {path} is gone: drop the line" for path in allowed if path not in FILES]
    for path in FILES:
        if pathlib.PurePath(path).suffix not in CODE:
            continue
        lines, limit = len(text(path).splitlines()), max(FILE_LINES_MAX, allowed.get(path, 0))
        if lines > limit:
            found.append(f"{path}: {lines} lines, at most {limit}: what second idea moved in?")
    return found


def check_starters() -> list[str]:
    """Tests and benches start processes by tests/harness/processes.py: the few others are installed, or start the tests themselves."""
    starting = [path for path in FILES if path.startswith(("tests/", "bench/")) and path.endswith(".py")
                and path != "tests/tidy.py" and "subprocess.Popen(" in text(path)]
    if len(starting) <= STARTERS_MAX:
        return []
    return [f"{len(starting)} files call subprocess.Popen, at most {STARTERS_MAX}: call harness.processes.start instead: {', '.join(starting)}"]


def check_dead() -> list[str]:
    """Each source is named in a CMakeLists.txt above it; each header is public, named there too, or included by another file.

    A module of JavaScript is imported by another one, or started by a page (.html, .yml) beside it; what it exports is imported."""
    sources = [f for f in FILES if f.endswith((".cpp", ".hpp", ".c", ".h", ".proto"))]
    includes: dict[str, set[str]] = {}
    for path in sources:
        for name in re.findall(r'#\s*include\s+["<]([^">]+)[">]', text(path)):
            includes.setdefault(pathlib.PurePath(name).name, set()).add(path)
    found = []
    for path in sources:
        pure = pathlib.PurePath(path)
        lists = [f"{parent}/CMakeLists.txt" for parent in pure.parents]
        named = re.compile(r"(^|[\s\"/(])" + re.escape(pure.name) + r"($|[\s\")])", re.MULTILINE)
        # Public headers are for others; one under shim/ stands in for a header that other people's headers include.
        if path.startswith("include/") or "shim" in pure.parts or any(named.search(text(cmake)) for cmake in lists if cmake in FILES):
            continue
        # CMake is often given the stem of a .proto, or of examples in a loop.
        stem = re.compile(r"(^|[\s(])" + re.escape(pure.stem) + r"($|[\s)])", re.MULTILINE)
        if any(stem.search(text(cmake)) for cmake in lists if cmake in FILES):
            continue
        if pure.suffix in {".hpp", ".h"}:
            if not includes.get(pure.name, set()) - {path}:
                found.append(f"{path}: nothing includes it: delete it")
        else:
            found.append(f"{path}: in no CMakeLists.txt: add it to its folder's target, or delete it")
    return found + dead_modules(FILES, text)


IMPORT = re.compile(r"^import\s*(?:\{(?P<names>[^}]*)\}\s*from\s*)?['\"](?P<path>\./[^'\"]+)['\"]", re.MULTILINE)
EXPORT = re.compile(r"^export\s+(?:async\s+)?(?:function\*?|class|const|let)\s+(\w+)", re.MULTILINE)
EXPORTS = re.compile(r"^export\s*\{([^}]*)\}", re.MULTILINE)


def dead_modules(paths: list[str], read) -> list[str]:
    """Modules of JavaScript that nothing starts, names that are imported and not there, and names that are exported for nobody."""
    modules = [f for f in paths if f.endswith(".js")]
    exported = {f: set(EXPORT.findall(read(f))) | {name.strip() for names in EXPORTS.findall(read(f)) for name in names.split(",") if name.strip()} for f in modules}
    started = {match for f in paths if f.endswith((".html", ".yml")) for match in re.findall(r"[\w-]+\.js", read(f))}
    used: dict[str, set[str]] = {}
    found = []
    for path in modules:
        for match in IMPORT.finditer(read(path)):
            target = str(pathlib.PurePosixPath(path).parent / match["path"][2:])
            names = {name.split(" as ")[0].strip() for name in (match["names"] or "").split(",") if name.strip()}
            used.setdefault(target, set()).update(names)
            found += [f"{path}: imports {name} of {target}, which exports no such name" for name in sorted(names - exported.get(target, set()))]
            body = IMPORT.sub("", read(path))
            for name in (match["names"] or "").split(","):
                own = name.split(" as ")[-1].strip()
                if own and not re.search(rf"(?<![\w$])(?<!(?<!\.\.)\.){re.escape(own)}(?![\w$])", body):
                    found.append(f"{path}: imports {own} and does not use it")
    for path in modules:
        if path not in used and pathlib.PurePosixPath(path).name not in started:
            found.append(f"{path}: nothing imports or starts it: delete it")
        found += [f"{path}: exports {name}, which no other module imports" for name in sorted(exported[path] - used.get(path, set()))
                  if pathlib.PurePosixPath(path).name not in started]
    return found


def allowed_arrows() -> dict[str, set[str]]:
    """The table of cmake/Sumac.cmake: folder -> folders it may use."""
    rows = re.findall(r"^set\(SUMAC_MAY_(\w+)([^)]*)\)", text("cmake/Sumac.cmake"), re.MULTILINE)
    return {name: set(uses.replace('"', "").split()) for name, uses in rows}


def room_of(path: str, rooms: dict[str, set[str]]) -> str:
    """Returns the row of the table that a file or the target of an #include belongs to: bindings/python/core/ is `python_core`; "": none."""
    parts = pathlib.PurePath(path).parts[:-1]
    if parts[:2] == ("bindings", "python"):
        names = ["_".join(parts[1:3]), *parts[2:3]]
    elif parts[:1] in (("src",), ("bindings",)):
        names = list(parts[1:2])
    else:
        names = list(parts[:1])
    return next((name for name in names if name in rooms), "")


def check_includes() -> list[str]:
    """An #include is an arrow as well: a header-only use would slip through CMake's table."""
    allowed = allowed_arrows()
    found = []
    for path in FILES:
        pure = pathlib.PurePath(path)
        # A test, a helper of tests (test_*) or a fuzzer may stand on more than the library beside it; CMake checks what it links.
        if pure.suffix not in {".cpp", ".hpp", ".c", ".h"} or pure.stem.endswith(("_test", "_fuzz")) or pure.stem.startswith("test_"):
            continue
        folder = room_of(path, allowed)
        if not folder:
            continue
        for target in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text(path), re.MULTILINE):
            name = room_of(target, allowed)
            if name and name != folder and name not in allowed[folder]:
                found.append(f"{path}: includes {name}/, which {folder} must not use (table in cmake/Sumac.cmake)")
    return sorted(set(found))


def check_twins() -> list[str]:
    """What both MPI front ends need is in src/rank, once: a file of one name in both is a copy that nobody meant to keep."""
    def stems(folder: str) -> set[str]:
        return {pathlib.PurePath(f).stem for f in FILES if f.startswith(folder) and pathlib.PurePath(f).suffix in {".c", ".h", ".cpp", ".hpp"}}
    both = stems("bindings/mpi/") & stems("bindings/pmpi/")
    return ([f"bindings/mpi and bindings/pmpi both have {name}: move what they share to src/rank" for name in sorted(both - TWINS)]
            + [f"{name} is no twin any more: take it out of TWINS" for name in sorted(TWINS - both)])


def check_paths() -> list[str]:
    """No path of a developer's machine: it works for one person only. A line may be excused by the words `tidy: path`."""
    homes = re.compile(r"(?<![\w./-])/(home|Users)/[A-Za-z][\w.-]*/")
    # A short or shared prefix (/src, /tmp/sumac) is a word that honest files use too.
    here = [p for p in (str(ROOT), os.environ.get("HOME", "")) if p.count("/") > 1 and not p.startswith(("/tmp/", "/opt/", "/var/"))]
    found = []
    for path in FILES:
        if not is_text(path):
            continue
        for number, line in enumerate(text(path).splitlines(), 1):
            if "tidy: path" not in line and (homes.search(line) or any(h in line for h in here)):
                found.append(f"{path}:{number}: an absolute path of one machine: {line.strip()[:80]}")
    return found


def check_links() -> list[str]:
    """Links between our documents lead somewhere."""
    found = []
    for path in (f for f in FILES if f.endswith(".md")):
        body = re.sub(r"```.*?```", "", text(path), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", body):
            if re.match(r"[a-z]+:|#", target):
                continue
            if not (ROOT / path).parent.joinpath(target.split("#")[0]).exists():
                found.append(f"{path}: link to {target}, which does not exist")
    return found


def check_promises() -> list[str]:
    """Each promise of docs/security.md and docs/failures.md, a row of a table whose last column is `test`, names a test that exists."""
    tests = {f"guard.{pathlib.PurePath(f).stem}" for f in FILES if f.startswith("tests/guard/") and f.endswith(".py")}
    for path in (f for f in FILES if f.endswith("_test.cpp")):
        tests |= {".".join(names) for names in re.findall(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", text(path), re.MULTILINE)}
    for path in (f for f in FILES if f.startswith("tests/") and f.endswith("_test.py")):
        folder = pathlib.PurePath(path).parent.name
        tests |= {f"{folder}.{name}" for name in re.findall(r"^    def (test_\w+)\(", text(path), re.MULTILINE)}
    tests |= {f"faults.{pathlib.PurePath(f).stem.removesuffix('_cases')}" for f in FILES if f.startswith("tests/faults/") and f.endswith("_cases.py")}
    tests |= {f"python.{pathlib.PurePath(f).stem.removesuffix('_test')}" for f in FILES if f.startswith("bindings/python/tests/") and f.endswith("_test.py")}
    found = []
    for page in ("docs/security.md", "docs/failures.md"):
        promises, in_table = 0, False
        for number, line in enumerate(text(page).splitlines(), 1):
            cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
            in_table = bool(cells) and (in_table or cells[-1] == "test")
            if not in_table or cells[-1] == "test" or set(cells[-1]) <= {"-"}:
                continue
            promises += 1
            names = re.findall(r"`([^`]+)`", cells[-1])
            found += [f"{page}:{number}: no test named for: {cells[0][:60]}"] if not names else []
            found += [f"{page}:{number}: there is no test {name}" for name in names if name not in tests]
        found += [] if promises else [f"{page}: no table of promises (last column: test)"]
    return found

# Files of src/manager around its machines: they may know control.proto and the page.
MANAGER_SHELL = {"main", "metrics", "service", "status", "view", "words"}
FUNCTIONS_MAX = 40


def functions_of(body: str) -> dict[str, int]:
    """The classes of C++ in a file, and how many functions each declares."""
    body = C_TOKEN.sub(lambda match: " " if match["comment"] else '""', body)
    found = {}
    for head in re.finditer(r"\b(?:class|struct)\s+(\w+)[^;{}()]*\{", body):
        depth, at, outside = 1, head.end(), ""
        while depth and at < len(body):
            outside += ";" if body[at] == "}" and depth == 2 else body[at] if depth == 1 else ""
            depth += {"{": 1, "}": -1}.get(body[at], 0)
            at += 1
        while outside != (less := re.sub(r"<[^<>;]*>", "", outside)):
            outside = less
        statements = [re.sub(r"\b(public|private|protected):", "", one).strip() for one in outside.split(";")]
        found[head[1]] = sum(bool(re.match(r"(?!using\b|friend\b|static_assert\b)[^=]*?(?:~?\w+|operator\s*\S+)\s*\(", one)) for one in statements)
    return found


# The files that hold a virtual clock and deliver messages. Whoever needs one more builds on the first: it takes events of any type.
TEST_WORLDS = {
    "sim/event_queue.hpp": "the clock and the queue of sim's network, and of the tests of manager and sharpd",
    "src/p2p/test_world.hpp": "connections that take messages late from their senders' memory and deliver them in halves",
    "src/proto/test_tree.hpp": "wires without faults between nodes and clients, whose messages a test delivers one by one",
}
WORLD_CLOCK = re.compile(r"^\s*(?:mutable )?(?:sumac::)?Time (?:now|clock|time)_?\s*(?:\{[^;]*|=[^;]*)?;|\bself\.(?:now|clock)\s*\+?=", re.MULTILINE)
WORLD_QUEUE = re.compile(r"\bstd::(?:deque|queue|priority_queue|multimap)<|\bpush_heap\(|\bheapq\.|\bdeque\("
                         r"|\bstd::(?:vector|list)<[^;()]*>\s+\w*(?:queue|in_flight|under_way|messages|frames|datagrams|events)\w*(?:\{[^;]*)?;")


def test_worlds(paths: list[str], read) -> set[str]:
    """Tests, fuzzers and files of sim that have a clock of their own and messages that wait for their delivery."""
    found = set()
    for path in paths:
        pure = pathlib.PurePath(path)
        is_test = path.startswith("sim/") or pure.stem.startswith("test_") or pure.stem.endswith(("_test", "_tests", "_fuzz"))
        if not is_test or pure.suffix not in {".cpp", ".hpp", ".c", ".h", ".py"}:
            continue
        body = read(path)
        if pure.suffix != ".py":
            body = C_TOKEN.sub(lambda match: " " if match["comment"] else '""', body)
        if WORLD_CLOCK.search(body) and WORLD_QUEUE.search(body):
            found.add(path)
    return found


def check_house() -> list[str]:
    """The manager stays several small machines: they know neither control.proto's messages nor the page, and no class grows back into one for all.

    Machines are joined in few test worlds: each world of its own delivers, loses and delays by rules that no other test checks."""
    worlds = test_worlds([f for f in FILES if f != "tests/tidy_test.py"], text)
    found = [f"{path}: a clock and a queue of messages of its own: build on sim/event_queue.hpp or sim/network.hpp, or make it a scenario of theirs"
             for path in sorted(worlds - TEST_WORLDS.keys())]
    found += [f"tests/tidy.py: TEST_WORLDS names {path}, which is none any more" for path in sorted(TEST_WORLDS.keys() - worlds)]
    for path in FILES:
        pure = pathlib.PurePath(path)
        if str(pure.parent) != "src/manager" or pure.suffix not in {".cpp", ".hpp"} or pure.stem.startswith("test_") or pure.stem.endswith(("_test", "_fuzz")):
            continue
        found += [f"{path}: {name} has {count} functions, at most {FUNCTIONS_MAX}: what second thing does it know?"
                  for name, count in functions_of(text(path)).items() if count > FUNCTIONS_MAX]
        if pure.stem not in MANAGER_SHELL:
            found += [f"{path}:{number}: a machine of the manager uses a plain record instead (records.hpp, facts.hpp): {line.strip()[:80]}"
                      for number, line in enumerate(text(path).splitlines(), 1) if re.search(r"control::v1|\.pb\.h|\bpage(?:::|/)", line)]
    return found


# A string, a character or a comment, whichever begins first; the quote in 1'000 begins no character.
C_TOKEN = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|(?P<comment>//[^\n]*|/\*.*?\*/)', re.DOTALL)
# The same in JavaScript, which has strings in single quotes and templates, and regular expressions where a value may stand.
JS_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`|(?<=[(,=:!&|?{};])\s*/(?![/*])(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\\\n])+/'
                      r"|(?P<comment>//[^\n]*|/\*.*?\*/)", re.DOTALL)
HASH_TOKEN = re.compile(r"""(?<![^\s(;])'[^'\n]*'|"(?:\\.|[^"\\\n])*"|(?<!\S)(?P<comment>#(?!!)[^\n]*)""")
SHEBANG = re.compile(r"#!\s*(?:/usr)?/bin/(?:env )?(?P<program>python3?|(?:ba|da)?sh)\b")


def comments(path: str) -> list[tuple[int, int, str]]:
    """(line, column, text) of each comment, in their order."""
    body, pure = text(path), pathlib.PurePath(path)
    shebang = SHEBANG.match(body)
    if pure.suffix == ".py" or (shebang and shebang["program"].startswith("python")):
        tokens = tokenize.generate_tokens(io.StringIO(body).readline)
        return [(*t.start, t.string) for t in tokens if t.type == tokenize.COMMENT]
    if pure.suffix in {".cpp", ".hpp", ".c", ".h", ".cu", ".proto"}:
        token = C_TOKEN
    elif pure.suffix == ".js":
        token = JS_TOKEN
    elif pure.suffix in {".cmake", ".sh"} or pure.name == "CMakeLists.txt" or shebang:
        token = HASH_TOKEN
    else:
        return []
    found = []
    for match in token.finditer(body):
        if match["comment"]:
            start = match.start()
            found.append((body.count("\n", 0, start) + 1, start - body.rfind("\n", 0, start) - 1, match["comment"]))
    return found


def check_words() -> list[str]:
    """A comment is a sentence: one that opens with What, Who, Of, By, How or Where is a heading, unless it asks something."""
    heading = re.compile(r"[/*#!<\s]*(?:What|Who|Of|By|How|Where)\b(?P<sentence>.*?(?:[.?](?=\s|$)|$))", re.IGNORECASE | re.DOTALL)
    found = []
    for path in FILES:
        blocks: list[tuple[int, str]] = []
        lines = text(path).splitlines()
        last = (-1, -1)  # line and column of the comment before: one right below it, without code, goes on with it
        for line, column, words in comments(path):
            if last == (line - 1, column) and not lines[line - 1][:column].strip() and not words.startswith("/*"):
                blocks[-1] = (blocks[-1][0], blocks[-1][1] + " " + words.lstrip("/<#"))
            else:
                blocks.append((line, words))
            last = (line, column)
        for line, words in blocks:
            opening = heading.match(words)
            if opening and not opening["sentence"].endswith("?"):
                found.append(f"{path}:{line}: write a sentence with subject and verb: {words.splitlines()[0][:80]}")
    return found


# The arithmetic of a method: rounds among members, the part of a vector on a link, the time of bytes at a rate.
COST = re.compile(r"log2\s*\(|\bbit_(?:width|length)\b|2(?:\.0)? \* \((?:[\w.]*\.)?(?:n|size|hosts|ranks|members)_? ?- 1(?:\.0)?\)"
                  r"|\((?:[\w.]*\.)?(?:n|size|hosts|ranks|members)_? - 1(?:\.0)?\)? ?/ ?(?:[\w.]*\.)?(?:n|size|hosts|ranks|members)_?\b|\b8(?:\.0|e\d+)? / [^;,]*(?:rate|bits_per_s)"
                  r"|\* 8(?:\.0)? / \(?[\w.>-]*rate|8 \* \w+ / \(?[\w.>-]*rate|8 \* \([^()]*\) / \(?[\w.>-]*rate|\* \w+ / 8 / 1'000")
COST_EXCEPTIONS = {
    "src/coll/canonical_fold.hpp": "the depth of a stack of partial sums, not a time",
    "src/shm/single/decisions.hpp": "classes of sizes that share a decision",
    "src/shm/stores.cpp": "classes of sizes that share a decision",
    "src/shm/stores.hpp": "classes of sizes that share a decision",
    "src/shm/scatter.cpp": "the number of cells in a buffer of a power of two",
    "src/team/comparison.hpp": "classes of sizes that share a decision",
    "src/base/log2_histogram.hpp": "classes of times in a histogram",
    "lab/virtual_fabric.cpp": "an emulated link plays its rate; no method is computed",
    "bench/demolib/cases.py": "the time of bytes on one link: the bare yardstick that methods are held against",
    "bench/fabric/cases.py": "the headers on one link: no method sends them, so `sumac fabric bounds` leaves them out",
}


def check_cost() -> list[str]:
    """What a method costs is computed in src/cost alone: who needs it asks there, a bench by `sumac fabric bounds --json`."""
    found, used = [], set()
    for path in FILES:
        pure = pathlib.PurePath(path)
        is_test = pure.stem.endswith(("_test", "_fuzz", "_tests")) or pure.stem.startswith("test_")
        if pure.parts[0] not in {"src", "bindings", "tools", "bench", "lab", "sim"} or is_test or path.startswith("src/cost/"):
            continue
        if pure.suffix not in {".cpp", ".hpp", ".c", ".h", ".py"}:
            continue
        lines = text(path).splitlines()
        for line, column, words in comments(path):
            lines[line - 1] = lines[line - 1][:column]
            for more in range(line, line + words.count("\n")):
                lines[more] = ""
        for number, line in enumerate(lines, 1):
            if not COST.search(line):
                continue
            used.add(path)
            if path not in COST_EXCEPTIONS:
                found.append(f"{path}:{number}: the cost of a method stands in src/cost: {line.strip()[:80]}")
    return found + [f"tests/tidy.py: COST_EXCEPTIONS names {path}, which needs none" for path in sorted(COST_EXCEPTIONS.keys() - used)]


def run_tool(tool: str, arguments: list[str]) -> list[str]:
    try:
        done = subprocess.run([tool, *arguments], cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        return [f"{tool} is not installed: make setup-dev"]
    if done.returncode == 0:
        return []
    return (done.stdout + done.stderr).splitlines() or [f"{tool} ended with {done.returncode} and said nothing"]


def check_spelling() -> list[str]:
    """codespell; words it is wrong about go into tests/spelling.txt."""
    paths = [f for f in FILES if is_text(f) and f != "tests/spelling.txt" and "/testdata/" not in f]
    return run_tool("codespell", ["--ignore-words", "tests/spelling.txt", "--", *paths])


def check_shell() -> list[str]:
    """shellcheck, on everything that starts with a shell's name."""
    shebang = re.compile(r"#!\s*(/usr)?/bin/(env )?(ba|da)?sh\b")
    scripts = [f for f in FILES if is_text(f) and shebang.match(text(f)[:64])]
    return run_tool("shellcheck", ["--", *scripts]) if scripts else []


def check_arrows(dot: str | None) -> list[str]:
    """The picture in docs/architecture.md shows the arrows that CMake has."""
    if not dot:
        return []
    return run_tool(sys.executable, ["docs/arrows.py", "--dot", dot])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    checks = {name[6:]: check for name, check in globals().items() if name.startswith("check_")}
    parser.add_argument("--only", choices=sorted(checks))
    parser.add_argument("--dot", help="arrows.dot of a configured build folder; without it the picture is not checked")
    args = parser.parse_args()
    bad = 0
    for name in [args.only] if args.only else checks:
        for line in checks[name](args.dot) if name == "arrows" else checks[name]():
            print(f"tidy.{name}: {line}")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
