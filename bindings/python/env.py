"""Prints for CMake, one `key=value` a line, where the Python that runs it keeps what a module is built with.

PyTorch is found without an import: an isolated build (pip) hides the packages of the environment that it installs into,
but the folder of its packages is known.
"""
import importlib.util
import pathlib
import re
import sysconfig


def package(name: str) -> pathlib.Path | None:
    """Returns the folder of an importable package, or of one that an isolated build hides."""
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.origin is not None:
        return pathlib.Path(spec.origin).parent
    hidden = pathlib.Path(sysconfig.get_path("platlib")) / name
    return hidden if (hidden / "__init__.py").exists() else None


def main() -> None:
    """Prints what there is; a key that is missing means that the thing is."""
    include = pathlib.Path(sysconfig.get_path("include"))
    if (include / "Python.h").exists():
        print(f"include={include}")
    print(f"suffix={sysconfig.get_config_var('EXT_SUFFIX')}")
    pybind11 = package("pybind11")
    if pybind11 is not None and (pybind11 / "include").is_dir():
        print(f"pybind11={pybind11 / 'include'}")
    torch = package("torch")
    if torch is not None and (torch / "include").is_dir():
        version = re.search(r"__version__ = '([^']+)'", (torch / "version.py").read_text(encoding="utf-8"))
        if version:
            print(f"torch={torch}")
            print(f"torch_version={version[1]}")


main()
