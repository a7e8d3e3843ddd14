"""The tables of `sumac bench` beside real ones, read by one parser (bench/field/form.py): Intel's IMB-MPI1 and IMB-NBC from PyPI's impi-rt, the tables
of the published texts (SUMAC_SEEDS, or ../shared/seeds beside this checkout), and OSU's own programs where SUMAC_OSU_SRC is a built tree of them."""

import os
import pathlib
import re
import subprocess
import sys

from work import TOP

sys.path[:0] = [str(TOP / "bench" / "field"), str(TOP / "tests" / "pasted")]
import facts  # noqa: E402
import form  # noqa: E402
import impi  # noqa: E402

CASE = "bench-form"
OSU_WORDS = ["-m", "4:16", "-i", "3", "-x", "1"]
IMB_WORDS = ["-npmin", "2", "-iter", "2", "-msglog", "2:3"]


def output_of(command, found, variables=None, seconds=300):
    done = subprocess.run([str(word) for word in command], env={**os.environ, **(variables or {})}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", timeout=seconds, check=False)
    if done.returncode != 0:
        found.append(f"{' '.join(map(str, command))}: status {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


class Sources:
    """All tables that were read: ours by family and kind, and the differences that were found."""

    def __init__(self, work):
        self.work, self.found, self.read = work, [], {}
        self.mpirun = ["mpirun", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
        self.program = work.build / "lib/sumac/bench/sumac-bench"
        self.root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def count(self, source, tables):
        self.read[source] = self.read.get(source, 0) + len(tables)
        return tables

    def ours(self, words, ranks=2):
        text = output_of([*self.mpirun, "-n", ranks, self.program, *words], self.found, self.root)
        tables = self.count("ours", form.read(text))
        for table in tables:
            self.found += form.own_faults(table)
        return text, tables

    def compare(self, real, ours, what):
        """Tables of two programs, one by one."""
        if [table.kind for table in real] != [table.kind for table in ours]:
            self.found.append(f"{what}: the tables {[table.kind for table in real]} in the real output, {[table.kind for table in ours]} in ours")
        for one, other in zip(real, ours):
            self.found += [f"{what}: {words}" for words in form.differences(one, other)]


def osu_names():
    return [(kind, is_nonblocking, f"osu_{'i' if is_nonblocking else ''}{kind.lower()}") for kind in facts.KINDS for is_nonblocking in (False, True)]


def real_osu(tree, name):
    """Returns OSU's program in a built tree; None if that version has none of this name."""
    found = [path for path in pathlib.Path(tree).rglob(name) if os.access(path, os.X_OK) and path.is_file() and ".libs" not in path.parts]
    return found[0] if found else None


def check_osu(sources, tree):
    compared = 0
    for kind, is_nonblocking, name in osu_names():
        real = real_osu(tree, name) if tree else None
        for options in ([], ["-f"]):
            _, ours = sources.ours([name, *OSU_WORDS, *options])
            sources.compare([facts.osu(kind, is_nonblocking, bool(options))], ours, f"{name} {' '.join(options)} and the facts")
            if real:
                text = output_of([*sources.mpirun, "-n", 2, real, *OSU_WORDS, *options], sources.found, sources.root)
                # Versions write "Non-blocking" and "Non-Blocking", and one of ours is spelt so.
                tables = sources.count("real OSU", form.read(text.replace("Non-Blocking", "Non-blocking")))
                sources.compare(tables, ours, f"{name} {' '.join(options)}")
                compared += 1
    if tree and not compared:
        sources.found.append(f"SUMAC_OSU_SRC={tree} has no program of OSU's: build that tree with Open MPI's mpicc first")


def check_pairs(sources, tree):
    for name in facts.PAIRS:
        _, ours = sources.ours([name, *OSU_WORDS])
        sources.compare([facts.pair(name)], ours, f"{name} and the facts")
        real = real_osu(tree, name) if tree else None
        if real:
            text = output_of([*sources.mpirun, "-n", 2, real, *OSU_WORDS], sources.found, sources.root)
            sources.compare(sources.count("real OSU", form.read(text)), ours, name)


def check_intel(sources):
    folder = sources.work.build.parent / "impi-rt"
    if impi.missing():
        sources.found.append(f"Intel's programs can't run: there is no {impi.missing()}")
        return
    for name, kinds in (("IMB-MPI1", facts.KINDS), ("IMB-NBC", [f"I{kind.lower()}{end}" for kind in facts.KINDS for end in ("", "_pure")])):
        # This version of Intel's has no such benchmark.
        kinds = [kind for kind in kinds if "_block" not in kind]
        # One rank more than take part at first. MPICH's ranks spin, so that three of them on two cores are slow, but it is few calls.
        real = output_of([impi.LAUNCHER, "-n", 3, impi.program(folder, name), *IMB_WORDS, *kinds], sources.found, impi.variables(folder))
        text, ours = sources.ours([name, *IMB_WORDS, *kinds], ranks=3)
        sources.compare(sources.count(f"real {name}", form.read(real)), ours, name)
        theirs, own = form.imb_preamble(real), form.imb_preamble(text)
        sources.found += [f"{name}: first lines: {line!r} instead of {other!r}" for other, line in zip(theirs, own) if other != line]
        if len(theirs) != len(own):
            sources.found.append(f"{name}: {len(theirs)} first lines in the real output, {len(own)} in ours")
        if real.rstrip().splitlines()[-1:] != text.rstrip().splitlines()[-1:]:
            sources.found.append(f"{name}: another last line than the real output's")


def check_published(sources, folder):
    own = {}
    for words in (["osu_barrier"], ["osu_allreduce", "-m", ":2048"], ["IMB-MPI1", "Barrier", "-npmin", "2"], ["osu_bcast", "-m", "1:32768"]):
        few = ["-iter", "2"] if words[0] == "IMB-MPI1" else ["-i", "2", "-x", "1"]
        own[words[0] if words[0] == "IMB-MPI1" else words[0].removeprefix("osu_").capitalize()] = sources.ours([*words, *few])[1][-1]
    for path in sorted(folder.glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        tables = sources.count("published texts", form.read(text, exact=False))
        titles = len(re.findall(r"OSU MPI .+ Latency Test|^# Benchmarking |^msglen ", text, re.MULTILINE))
        if titles != len(tables):
            sources.found.append(f"{path.name}: {titles} titles, but {len(tables)} tables were read")
        for table in tables:
            ours = own.get("IMB-MPI1" if table.family == "imb" else table.kind)
            if ours is None:
                sources.found.append(f"{path.name}: a table of {table.kind}, which nobody compares")
            elif table.family != "compared":
                sources.found += [f"{path.name}: {words}" for words in form.differences(table, ours)]
            # Fewer rows than ours are those of a smaller -m.
            if ours and table.sizes and table.sizes != ours.sizes[:len(table.sizes)]:
                sources.found.append(f"{path.name}: sizes {table.sizes} of {table.kind}, ours are {ours.sizes}")


def check(rows, work):
    sources = Sources(work)
    check_osu(sources, work.given_variables.get("SUMAC_OSU_SRC"))
    check_pairs(sources, work.given_variables.get("SUMAC_OSU_SRC"))
    check_intel(sources)
    published = pathlib.Path(work.given_variables.get("SUMAC_SEEDS") or TOP.parent / "shared/seeds")
    if published.is_dir():
        check_published(sources, published)
    elif "SUMAC_SEEDS" in work.given_variables:
        sources.found.append(f"SUMAC_SEEDS={published} is no folder")
    else:
        print("  left out: the published texts (SUMAC_SEEDS names their folder)", flush=True)
    if "SUMAC_OSU_SRC" not in work.given_variables:
        print("  left out: OSU's own programs (SUMAC_OSU_SRC names a built tree of them); their form is in bench/field/facts.py", flush=True)
    print("  tables read: " + ", ".join(f"{count} of {source}" for source, count in sources.read.items()), flush=True)
    rows.failures(CASE, "differences of form", sources.found)
