"""Makes the folder in which a program starts: its input files, and what other programs of the same package make of them."""

import shutil
from pathlib import Path

from demolib.compiling import Absent, run_quietly

INPUTS = Path(__file__).with_name("inputs")
CAVITY = Path("/usr/share/doc/openfoam-examples/examples/incompressible/icoFoam/cavity/cavity")
FOAM = {"WM_PROJECT_DIR": "/usr/share/openfoam"}
GROMACS = Path("/usr/share/gromacs/top")
PREPARE_S = 120


def filled(name):
    """Returns a function that writes an input file with the numbers of the size in the places of its `@word@`s."""
    def prepare(folder, _ranks, size):
        text = (INPUTS / name).read_text()
        for word, value in size.items():
            text = text.replace(f"@{word}@", str(value))
        (folder / name).write_text(text)
    return prepare


def in_folder(folder, command, what, environment=None):
    """Runs one program of a preparation there."""
    words = [f"{name}={value}" for name, value in (environment or {}).items()]
    run_quietly(["env", "-C", folder, "OMP_NUM_THREADS=1", *words, *map(str, command)], PREPARE_S, what)


def water(folder, _ranks, _size):
    """A box of water: the one that GROMACS brings, eight times."""
    if not GROMACS.exists():
        raise Absent(f"{GROMACS} is missing: packaging/install packaging/apt-apps.txt")
    (folder / "water.top").write_text((INPUTS / "water.top").read_text() + "SOL 1728\n")
    in_folder(folder, ["gmx", "genconf", "-f", GROMACS / "spc216.gro", "-nbox", 2, 2, 2, "-o", "water.gro"], "gmx genconf")
    in_folder(folder, ["gmx", "grompp", "-f", INPUTS / "water.mdp", "-c", "water.gro", "-p", "water.top", "-o", "water.tpr", "-maxwarn", 1],
              "gmx grompp")


def squarest(ranks):
    """Returns the two factors of a number that are nearest to each other."""
    rows = max(i for i in range(1, ranks + 1) if ranks % i == 0 and i * i <= ranks)
    return ranks // rows, rows


def cavity(folder, ranks, size):
    """OpenFOAM's first tutorial with more cells, cut for the ranks; it writes its last step only."""
    if not CAVITY.exists():
        raise Absent(f"{CAVITY} is missing: packaging/install packaging/apt-apps.txt")
    shutil.copytree(CAVITY, folder, dirs_exist_ok=True)
    mesh, control = folder / "system" / "blockMeshDict", folder / "system" / "controlDict"
    mesh.write_text(changed(mesh.read_text(), "(20 20 1)", f"({size['cells']} {size['cells']} 1)"))
    text = control.read_text()
    for old, new in (("deltaT          0.005", f"deltaT          {0.1 / size['cells']:g}"), ("writeInterval   20", f"writeInterval   {size['steps']}"),
                     ("endTime         0.5", f"endTime         {0.1 / size['cells'] * size['steps']:g}")):
        text = changed(text, old, new)
    control.write_text(text)
    columns, rows = squarest(ranks)
    (folder / "system" / "decomposeParDict").write_text(
        "FoamFile { version 2.0; format ascii; class dictionary; object decomposeParDict; }\n"
        f"numberOfSubdomains {ranks};\nmethod simple;\nsimpleCoeffs {{ n ({columns} {rows} 1); delta 0.001; }}\n")
    for program in ("blockMesh", "decomposePar"):
        in_folder(folder, [program], program, FOAM)


def changed(text, old, new):
    if old not in text:
        raise Absent(f"OpenFOAM's tutorial has no '{old}'")
    return text.replace(old, new)


def empty(folder):
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder


def fresh(folder, prepared):
    """Returns a folder with a copy of what was prepared and nothing else: a run must not find what the run before it left."""
    shutil.copytree(prepared, empty(folder), dirs_exist_ok=True)
    return folder
