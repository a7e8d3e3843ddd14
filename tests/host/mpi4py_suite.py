#!/usr/bin/env python3
"""Runs the tests of mpi4py (its PyPI source package), with the component off and on: `make mpi4py`. A failure in both runs is Open MPI's
own; a failure only with the component on is ours. It ends with one line, and with status 1 if any failure is ours. The virtual
environment stays below the build folder, so that the second run starts at once. Each part of the run has some of the test modules, so
that a hanging test takes only its own part with it, and a part can be repeated alone (--pieces 3,4).
"""
import argparse
import os
import pathlib
import re
import selectors
import signal
import subprocess
import sys
import tarfile

VERSION = "4.1.2"
SHA256 = "56860286dc45f20e8821e93cb06669e30462348bf866f685553fa4b712d58d02"

# These tests are left out in all runs, with the reason.
LEFT_OUT = {
    # This test emulates MPI_Comm_iagree by MPI_Iallreduce; one rank posts it before a barrier of that communicator, the
    # others after it. MPI 3.1 (5.12) wants one order of all collectives, blocking or not; Open MPI's own happen to keep
    # them apart by tags.
    "testIAgree",
}

# These modules are left out in all runs, with the reason.
MODULES_LEFT_OUT = {
    "test_spawn": "on a machine with more processes than cores children of Open MPI 4.1's MPI_Comm_spawn hang in PMIx_Init, with our component and without",
}

PIECES = 6


def ask(*command, **options):
    """Runs a command whose failure ends everything, with its own output."""
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"mpi4py: {' '.join(str(word) for word in command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def install(folder: pathlib.Path, variables: dict | None = None) -> tuple[pathlib.Path, pathlib.Path]:
    """Makes a virtual environment with mpi4py built against an MPI; returns its python, and the folder of the tests. `variables` are for the
    build: MPICC names a compiler other than mpicc."""
    python, tests = folder / "bin" / "python", folder / f"mpi4py-{VERSION}" / "test"
    if (folder / f"installed-{VERSION}").exists():
        return python, tests
    print(f"mpi4py {VERSION}: building it in {folder}", flush=True)
    ask(sys.executable, "-m", "venv", folder)
    wanted = folder / "requirements.txt"
    wanted.write_text(f"mpi4py=={VERSION} --hash=sha256:{SHA256}\n", encoding="utf-8")
    ask(python, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "mpi4py", "--require-hashes", "-r", wanted, "-d", folder)
    archive = folder / f"mpi4py-{VERSION}.tar.gz"
    ask(python, "-m", "pip", "install", "--quiet", "--no-deps", archive, env={**os.environ, **(variables or {})})
    with tarfile.open(archive) as packed:
        packed.extractall(folder, members=[member for member in packed if member.isreg() and ".." not in member.name])
    (folder / f"installed-{VERSION}").touch()
    return python, tests


def incomplete(modules, why):
    """Names a part that did not come to its end."""
    return f"{modules[0]}{' and the rest of its piece' if len(modules) > 1 else ''}: {why}"


def end(process):
    """Ends a launcher, which ends its ranks if it is asked politely; returns what it printed."""
    process.terminate()
    try:
        return process.communicate(timeout=10)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0]


def listen(process, silent_s):
    """Reads what a launcher's ranks print, a line for each test. Returns (the text, whether it was ended since no word came for `silent_s`)."""
    said, waiting = bytearray(), selectors.DefaultSelector()
    waiting.register(process.stdout, selectors.EVENT_READ)
    while waiting.select(silent_s):
        if not (some := os.read(process.stdout.fileno(), 1 << 16)):
            process.wait()
            return said.decode(errors="replace"), False
        said += some
    return (said + end(process)).decode(errors="replace"), True


def modules_of(tests):
    """Distributes the test modules over the parts in rotation."""
    names = sorted(path.stem for path in tests.glob("test_*.py") if path.stem not in MODULES_LEFT_OUT)
    return [names[i::PIECES] for i in range(PIECES)]


def words_of(python, modules):
    """Returns the command line of one rank."""
    return [str(python), "main.py", "-v", "-i", rf"(^|/)({'|'.join(modules)})(\.py)?$", *(word for name in sorted(LEFT_OUT) for word in ("-x", name))]


def run(python, tests, modules, ranks, flags, silent_s):
    """Runs a part with this machine's Open MPI."""
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    command = ["mpirun", *root, "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", *flags, "-n", str(ranks)]
    return run_by(command, dict(os.environ, OMPI_MCA_rmaps_base_oversubscribe="1"), python, tests, modules, ranks, silent_s)


def run_by(launcher, environment, python, tests, modules, ranks, silent_s):
    """Runs a part by the words of a launcher, and ends it when no rank has a word for `silent_s`. Returns (the tests that failed at any rank,
    with one entry for the whole part if it did not complete; the tests that ran, 0 if it did not complete; the output)."""
    command = [str(word) for word in launcher] + words_of(python, modules)
    with subprocess.Popen(command, cwd=tests, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          start_new_session=True) as process:
        try:
            text, is_silent = listen(process, silent_s)
        except KeyboardInterrupt:
            end(process)
            raise
    if is_silent:
        return {incomplete(modules, f"hangs, no word for {silent_s} s")}, 0, text
    # The pattern may occur inside a line too, since ranks write into each other's lines.
    failed = set(re.findall(r"(?:FAIL|ERROR): (\S+ \(\S+\))", text))
    ran = [int(count) for count in re.findall(r"Ran (\d+) tests? in ", text)]
    if len(ran) != ranks or 0 in ran or (process.returncode != 0 and not failed):
        return failed | {incomplete(modules, f"exit status {process.returncode}, {len(ran)} of {ranks} ranks came to the end")}, 0, text
    return failed, max(ran, default=0), text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--ranks", default="2,3", help="sizes of the job, with commas")
    parser.add_argument("--silent", type=int, default=120, help="seconds without a word after which a piece hangs")
    parser.add_argument("--pieces", default=",".join(str(i + 1) for i in range(PIECES)), help=f"which of the {PIECES} pieces, with commas")
    parser.add_argument("--no-baseline", action="store_true", help="with the component only")
    args = parser.parse_args()
    build = pathlib.Path(args.build).resolve()
    python, tests = install(build / "mpi4py")
    os.environ["SUMAC_BUILD"] = str(build)
    sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
    from harness import case  # pylint: disable=import-outside-toplevel

    for module, why in MODULES_LEFT_OUT.items():
        print(f"mpi4py: left out: {module}: {why}", flush=True)
    pieces = modules_of(tests)
    ours, totals = 0, {"without": 0, "with": 0}
    for ranks in (int(word) for word in args.ranks.split(",")):
        for piece in (int(word) for word in args.pieces.split(",")):
            modules, off = pieces[piece - 1], set()
            where = f"{ranks} ranks, piece {piece} of {PIECES}"
            if not args.no_baseline:
                off, count, _ = run(python, tests, modules, ranks, [], args.silent)
                totals["without"] += count
                print(f"mpi4py: {where}, without Sumac: {count} tests at each rank, {len(off)} failed", flush=True)
            on, count, text = run(python, tests, modules, ranks, case.component_flags(), args.silent)
            totals["with"] += count
            log = build / "mpi4py" / f"on-{ranks}-{piece}.log"
            log.write_text(text, encoding="utf-8")
            tally = re.search(r"^sumac: .*$", text, re.MULTILINE)
            print(f"mpi4py: {where}, with Sumac: {count} tests at each rank, {len(on)} failed ({log})", flush=True)
            print(f"  {tally.group(0) if tally else 'no line of Sumac: was the component on?'}", flush=True)
            for name in sorted(on):
                print(f"  {'also without Sumac' if name in off else 'OURS'}: {name}", flush=True)
            ours += len(on - off) + (0 if tally else 1)
    print(f"mpi4py: {totals['without']} tests without Sumac, {totals['with']} with it: " + ("passed" if ours == 0 else f"{ours} failures are ours"))
    return 0 if ours == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
