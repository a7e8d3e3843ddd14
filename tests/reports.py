"""What the sanitizers of a build found, in whichever process: daemons and ranks end without a test that looks at how.

Each process writes its reports into a file of the folder. A report counts, but for two kinds. A data race whose accesses were both made by
code that is not ours: gRPC and abseil are not built with ThreadSanitizer, which therefore sees what they touch (through memcpy, free, read)
but not all that orders it. And memory that Open MPI's libraries have lost at the end of an MPI program, some 120 KiB. Nothing is
suppressed: such reports are counted, named and left in the folder.
"""
import os
import pathlib
import re
import shutil

SOURCE = pathlib.Path(__file__).resolve().parent.parent
# Of every sanitizer that a process may have; those of others are ignored.
RUNTIMES = ("ASAN", "UBSAN", "TSAN", "LSAN")
# "    #1 sumac::f() ../../src/x.cpp:12 (x_test+0x34)": the file, if there is debug information, and the program or library.
FRAME = re.compile(r"^ +#\d+ .*? (?P<file>\S+) \((?P<module>[^()]*)\)$")
ACCESS = re.compile(r"^  (?:previous )?(?:atomic )?(?:read|write) of size", re.IGNORECASE)


def sanitizers(build: pathlib.Path) -> str:
    """The build's -fsanitize=, empty without."""
    found = re.search(r"^SUMAC_SANITIZE:\w+=(.*)$", (build / "CMakeCache.txt").read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else ""


def environment(folder: pathlib.Path, whole_stacks: bool = False) -> dict[str, str]:
    """Empties the folder; the variables under which all processes write into it. `whole_stacks` tells who asked a library for memory, which
    it takes a slow walk behind frames without a frame pointer to know; `make asan-component` is quick enough for that."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # A race of others must not fail the process that saw it: judge() says what counts.
    own = {"TSAN": ":exitcode=0:second_deadlock_stack=1", "LSAN": ":exitcode=0", "UBSAN": ":print_stacktrace=1"}
    if whole_stacks:
        own["ASAN"] = ":fast_unwind_on_malloc=0"
    return {f"{name}_OPTIONS": f"{os.environ.get(f'{name}_OPTIONS', '')}:log_path={folder / 'report'}:log_exe_name=1{own.get(name, '')}"
            for name in RUNTIMES}


def is_our_frame(line: str) -> bool:
    """Ours have paths as ninja's compilers get them, relative to the build folder, or below the source. The runtime's are relative too."""
    found = FRAME.match(line)
    if found is None:
        return True
    file, module = found["file"], found["module"]
    if module.startswith("libtsan.so") or file == "<null>":
        return False
    return not file.startswith("/") or file.startswith(f"{SOURCE}/")


# A program with Open MPI in it: some of what is lost at its end was always taken by these.
MPI = re.compile(r"/(?:libmpi|libopen-rte|libopen-pal|mca_\w+)\.so")


def is_our_leak(leak: str) -> bool:
    """In an MPI program: a stack with a frame of the component or what is linked into it. Open MPI's own end in a test's main(), or in the
    component where that hands a call on to the next: libnbc loses some of each persistent collective, also when it is called directly. Open MPI
    unloads the component before this is looked for, and it has no names then; in host-cases it stays (tests/host/keep_loaded.c)."""
    for line in leak.splitlines():
        if re.search(r"/mca_(?!coll_hcoll)\w+\.so", line):
            return False
        if re.search(rf" (?:(?:\.\./)*|{re.escape(str(SOURCE))}/)(?:src|bindings)/", line) and "libsanitizer/" not in line:
            return True
    return False


def is_mpi_leak(report: str) -> bool:
    return "LeakSanitizer: detected memory leaks" in report and MPI.search(report) is not None


def is_ours(report: str) -> bool:
    """Whether a report counts. What can't be read counts."""
    if is_mpi_leak(report):
        return any(is_our_leak(leak) for leak in report.split("\n\n"))
    if "ThreadSanitizer: data race" not in report:
        return True
    accesses = [part.splitlines() for part in report.split("\n\n") if any(ACCESS.match(line) for line in part.splitlines())]
    frames = [[line for line in lines if line.lstrip().startswith("#")] for lines in accesses]
    return len(frames) != 2 or not all(frames) or any(is_our_frame(line) for stack in frames for line in stack)


def reports_of(text: str) -> list[str]:
    """A file's reports one by one, without the number of them in the last line."""
    parts = re.split(r"^=+\n", re.sub(r"^ThreadSanitizer: reported \d+ warnings\n?", "", text, flags=re.MULTILINE), flags=re.MULTILINE)
    return [part.strip("\n") for part in parts if part.strip()]


def judge(folder: pathlib.Path) -> tuple[list[str], list[str]]:
    """(what counts, what doesn't), each with the file it stands in."""
    ours: list[str] = []
    foreign: list[str] = []
    for path in sorted(folder.glob("report*")):
        for report in reports_of(path.read_text(encoding="utf-8", errors="replace")):
            (ours if is_ours(report) else foreign).append(f"{path}:\n{report}")
    return ours, foreign


def tell(folder: pathlib.Path) -> int:
    """Prints what counts and names the rest; how many count."""
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
