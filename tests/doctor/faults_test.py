#!/usr/bin/env python3
"""`sumac doctor --hosts` in a lab of four hosts: a healthy one has no finding, and a selection of the faults of `make toolkit` is named with
its remedy. usage: faults_test.py [--all] [--only PART OF A NAME]"""

import os
import sys

import check
import faults
import lab


def main():
    chosen = [one for one in faults.FAULTS if one.quick or "--all" in sys.argv]
    if "--only" in sys.argv:
        chosen = [one for one in faults.FAULTS if sys.argv[sys.argv.index("--only") + 1] in one.name]
    try:
        made = lab.Lab(os.environ.get("SUMAC_BUILD", "build/dev"))
    except lab.Unavailable as why:
        print(f"no lab: {why}")
        return 1 if os.environ.get("CI") == "true" else 77
    try:
        result = check.run(made, chosen)
    finally:
        made.close()
    print(f"{result.made} faults made, {len(result.not_made)} not made, {len(result.missed)} missed, {len(result.false)} false")
    for each in result.missed + result.false:
        print(f"! {each}")
    return 1 if result.missed or result.false else 0


if __name__ == "__main__":
    sys.exit(main())
