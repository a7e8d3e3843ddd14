"""Collects the findings of a build's sanitizers from every process: daemons and ranks end without a test that looks at their exit. Each
process writes its reports into a file of the folder. Every report counts, except two kinds. The first is a data race whose accesses were
both made by foreign code: gRPC and abseil are not built with ThreadSanitizer, which therefore sees their accesses (through memcpy, free,
read) but not all that orders them. The second is memory that Open MPI's libraries have lost at the end of an MPI program, some 120 KiB.
Nothing is suppressed: such reports are counted, named and left in the folder.
"""
import os
import pathlib
import re
import shutil

SOURCE = pathlib.Path(__file__).resolve().parent.parent
# A process may have any of these sanitizers; options of the others are ignored.
RUNTIMES = ("ASAN", "UBSAN", "TSAN", "LSAN")
# A frame is "    #1 sumac::f() ../../src/x.cpp:12 (x_test+0x34)": the file, if there is debug information, and the
# program or library.
FRAME = re.compile(r"^ +#\d+ .*? (?P<file>\S+) \((?P<module>[^()]*)\)$")
ACCESS = re.compile(r"^  (?:previous )?(?:atomic )?(?:read|write) of size", re.IGNORECASE)


def sanitizers(build: pathlib.Path) -> str:
    """Returns the build's -fsanitize=, empty without one."""
    found = re.search(r"^SUMAC_SANITIZE:\w+=(.*)$", (build / "CMakeCache.txt").read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else ""


def environment(folder: pathlib.Path, whole_stacks: bool = False) -> dict[str, str]:
    """Empties the folder; returns the variables that make all processes write into it. `whole_stacks` makes reports name the caller that
    asked a library for memory, which takes a slow walk over frames without a frame pointer; `make asan-component` is quick enough for
    that."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # A race in foreign code must not fail the process that saw it: judge() decides which reports count.
    # Memory that nobody has is a NULL, as without AddressSanitizer.
    own = {"ASAN": ":allocator_may_return_null=1", "TSAN": ":exitcode=0:second_deadlock_stack=1", "LSAN": ":exitcode=0", "UBSAN": ":print_stacktrace=1"}
    if whole_stacks:
        own["ASAN"] += ":fast_unwind_on_malloc=0"
    return {f"{name}_OPTIONS": f"{os.environ.get(f'{name}_OPTIONS', '')}:log_path={folder / 'report'}:log_exe_name=1{own.get(name, '')}"
            for name in RUNTIMES}


def is_our_frame(line: str) -> bool:
    """Our frames have paths as ninja passes them to compilers, relative to the build folder, or below the source. The runtime's are
    relative too."""
    found = FRAME.match(line)
    if found is None:
        return True
    file, module = found["file"], found["module"]
    if module.startswith("libtsan.so") or file == "<null>":
        return False
    return not file.startswith("/") or file.startswith(f"{SOURCE}/")


# This matches the libraries of a program with Open MPI in it: some of the memory lost at its end was always taken by
# them.
MPI = re.compile(r"/(?:libmpi|libopen-rte|libopen-pal|mca_\w+)\.so")


def is_our_leak(leak: str) -> bool:
    """Returns whether a leak of an MPI program is ours: its stack has a frame of the component or its libraries. Open MPI's own leaks end
    in a test's main(), or in the component when that passes a call on to the next module: libnbc loses some memory for each persistent
    collective, also when it is called directly. Open MPI unloads the component before leaks are searched, so its frames have no names
    then; in host-cases it stays loaded (tests/host/keep_loaded.c)."""
    for line in leak.splitlines():
        if re.search(r"/mca_(?!coll_hcoll)\w+\.so", line):
            return False
        if re.search(rf" (?:(?:\.\./)*|{re.escape(str(SOURCE))}/)(?:src|bindings)/", line) and "libsanitizer/" not in line:
            return True
    return False


def is_mpi_leak(report: str) -> bool:
    return "LeakSanitizer: detected memory leaks" in report and MPI.search(report) is not None


def is_ours(report: str) -> bool:
    """Returns whether a report counts. One that cannot be parsed counts."""
    if is_mpi_leak(report):
        return any(is_our_leak(leak) for leak in report.split("\n\n"))
    if "ThreadSanitizer: data race" not in report:
        return True
    accesses = [part.splitlines() for part in report.split("\n\n") if any(ACCESS.match(line) for line in part.splitlines())]
    frames = [[line for line in lines if line.lstrip().startswith("#")] for lines in accesses]
    return len(frames) != 2 or not all(frames) or any(is_our_frame(line) for stack in frames for line in stack)


def reports_of(text: str) -> list[str]:
    """Returns a file's reports one by one, without the number of them in the last line."""
    parts = re.split(r"^=+\n", re.sub(r"^ThreadSanitizer: reported \d+ warnings\n?", "", text, flags=re.MULTILINE), flags=re.MULTILINE)
    return [part.strip("\n") for part in parts if part.strip()]


def judge(folder: pathlib.Path) -> tuple[list[str], list[str]]:
    """Returns (reports that count, the others), each with the name of its file."""
    ours: list[str] = []
    foreign: list[str] = []
    for path in sorted(folder.glob("report*")):
        for report in reports_of(path.read_text(encoding="utf-8", errors="replace")):
            (ours if is_ours(report) else foreign).append(f"{path}:\n{report}")
    return ours, foreign


def tell(folder: pathlib.Path) -> int:
    """Prints the reports that count and names the rest; returns how many count."""
    ours, foreign = judge(folder)
    for report in ours:
        if is_mpi_leak(report):
            leaks = report.split("\n\n")
            report = "\n\n".join([leaks[0], *(leak for leak in leaks if is_our_leak(leak))])
        print(report)
    kinds: dict[str, int] = {}
    for report in foreign:
        summary = report.splitlines()[-1]
        kinds[summary] = kinds.get(summary, 0) + 1
    for summary, times in sorted(kinds.items()):
        print(f"not ours, {times} times: {summary}")
    if foreign:
        print(f"{len(foreign)} reports in which no code of ours stands: see {folder}")
    return len(ours)
