"""The tar of the build folder that SUMAC_BUILD names, unpacked, and what its files ask of a machine."""

import os
import pathlib
import re
import shutil
import subprocess
import zipfile

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SUMAC_BUILD", TOP / "build/dev")).resolve()


def tar(folder):
    """Makes it in the folder; returns the archive, and its unpacked folder beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    # The least compression, because the archive is unpacked again at once.
    made = subprocess.run([TOP / "packaging/tar", BUILD, folder], env={**os.environ, "XZ_OPT": "-0"}, capture_output=True, text=True, check=True)
    archive = pathlib.Path(made.stdout.split()[-1])
    subprocess.run(["tar", "-C", folder, "-xf", archive], check=True)
    return archive, archive.with_name(archive.name.removesuffix(".tar.xz"))


def wheel(archive, folder):
    """Unpacks a wheel into the folder, and returns it."""
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(archive) as files:
        files.extractall(folder)
    return folder


def newest_glibc(folder):
    """Returns the minor number of the newest version of glibc that a file below the folder asks for."""
    newest = 0
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
            text = subprocess.run(["readelf", "-VW", path], capture_output=True, text=True, check=True).stdout
            newest = max([newest, *(int(each) for each in re.findall(r"Name: GLIBC_2\.(\d+)", text))])
    return newest
