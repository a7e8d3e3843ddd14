#!/usr/bin/env python3
"""`make toolkit` runs the checks of this folder on what people install, and writes their numbers; status 1 if one exceeds its limit."""

import argparse
import importlib
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
CASES = ["deb_fresh", "deb_quiet", "deb_services", "tar_no_root", "metrics_cost", "bench_form", "doctor", "manager_page", "site_links"]
# A caller may give these to a check; no program of ours reads them.
GIVEN = ("SUMAC_OSU_SRC", "SUMAC_SEEDS")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/dev", help="build folder that the packages are made of (build/dev)")
    parser.add_argument("--out", default="build/toolkit.json", help="the rows of all (build/toolkit.json)")
    parser.add_argument("--case", default="", help="only cases whose name contains one of these, with commas")
    args = parser.parse_args()
    sys.path.insert(0, str(HERE))
    from rows import Rows  # pylint: disable=import-outside-toplevel
    import roots  # pylint: disable=import-outside-toplevel
    import work  # pylint: disable=import-outside-toplevel

    words = [word for word in args.case.replace("-", "_").split(",") if word]
    wanted = [name for name in CASES if not words or any(word in name for word in words)]
    if not wanted:
        sys.exit(f"toolkit: no case has {args.case!r} in its name: {', '.join(CASES)}")
    try:
        roots.check_machine()
    except roots.Unavailable as why:
        sys.exit(f"toolkit: {why}")
    # A variable of the caller must not reach a check of what people have who set none.
    given = {name: os.environ[name] for name in GIVEN if os.environ.get(name)}
    for name in list(os.environ):
        if name.startswith(("SUMAC_", "HCOLL_", "SHARP_", "OMPI_", "PMIX_", "MAKE")):
            del os.environ[name]
    rows, shared = Rows(), work.Work(args.build, pathlib.Path(args.out).parent / "toolkit", given)
    for name in wanted:
        print(f"--- {name.replace('_', '-')}", flush=True)
        began = time.monotonic()
        importlib.import_module(name).check(rows, shared)
        rows.write(args.out)  # After each case, because half an hour's rows must outlive a Ctrl-C.
        print(f"    {time.monotonic() - began:.0f} s", flush=True)
    print(f"\n{len(rows.rows)} rows, {len(rows.violated())} violated; {args.out}")
    sys.exit(1 if rows.violated() else 0)


main()
