#!/usr/bin/env python3
"""No library has a C++ runtime of its own inside and needs one that takes memory from the shared runtime: what the one takes from the
program's `operator new`, the other would free by its own hidden `operator delete`.
usage: allocators.py FOLDER...      every shared object below; prints those that break the rule, status 1 if there is one
"""
import pathlib
import re
import subprocess
import sys

RUNTIMES = ("libstdc++.so.", "libc++.so.", "libc++abi.so.")
# The name of the type that the runtime's own `operator new` throws: a library without symbols still has it inside.
INSIDE = b"\0St9bad_alloc\0"
DELETES = re.compile(r"\s(?P<binding>LOCAL|GLOBAL|WEAK)\s+(?P<visibility>\S+)\s+(?P<section>\S+)\s+(?:_ZdlPv|_ZdaPv)\S*$")


def call(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", call("readelf", "-dW", path))


def is_shared_object(path):
    with path.open("rb") as file:
        head = file.read(18)
    if head[:4] != b"\x7fELF" or head[16:18] != b"\x03\0":
        return False
    return "(NEEDED)" in (dynamic := call("readelf", "-dW", path)) and "PIE" not in dynamic


def hides_operator_delete(path):
    """True for a symbol that the library keeps to itself; without a table of them, for the runtime's own words inside."""
    table = call("readelf", "-sW", path)
    found = [match for line in table.splitlines() if (match := DELETES.search(line)) and match["section"] != "UND"]
    if any(match["binding"] == "LOCAL" or match["visibility"] in ("HIDDEN", "INTERNAL") for match in found):
        return True
    exports = any(match["visibility"] == "DEFAULT" for match in found)
    return not exports and not any(name.startswith(RUNTIMES) for name in needed(path)) and INSIDE in path.read_bytes()


def loaded_with(path):
    """Returns the files that the loader takes for the library's needs, and for theirs."""
    found = re.findall(r"=> (/.*?) \(0x", call("ldd", path))
    return [pathlib.Path(each) for each in found]


def breaches(folders):
    """Returns (number of shared objects, number of those with a runtime inside, lines that say what is wrong)."""
    objects = [path for folder in folders for path in sorted(pathlib.Path(folder).rglob("*"))
               if path.is_file() and not path.is_symlink() and ".so" in path.name and is_shared_object(path)]
    hiding = [path for path in objects if hides_operator_delete(path)]
    wrong = []
    for path in hiding:
        guilty = sorted(str(each) for each in loaded_with(path) if each.name.startswith(RUNTIMES) or any(name.startswith(RUNTIMES) for name in needed(each)))
        if guilty:
            wrong.append(f"{path} has its own operator delete inside, and loads {', '.join(guilty)}")
    return len(objects), len(hiding), wrong


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    objects, hiding, wrong = breaches(sys.argv[1:])
    print("\n".join(wrong + [f"allocators: {objects} shared objects, {hiding} with a C++ runtime inside, {len(wrong)} wrong"]))
    return 1 if wrong or not objects else 0


if __name__ == "__main__":
    sys.exit(main())
