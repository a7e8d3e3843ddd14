"""The records that `make toolkit` writes: a number, and the limit that it must not exceed."""

import json
import pathlib


class Rows:
    def __init__(self):
        self.rows = []

    def add(self, case, unit, value, limit):
        self.rows.append({"case": case, "unit": unit, "sumac": value, "limit": limit})
        print(f"  {'ok ' if value <= limit else 'BAD'} {case}: {value:g} {unit} (at most {limit:g})", flush=True)

    def failures(self, case, unit, found):
        """`found` has a sentence for each failure; none may be there."""
        for each in found:
            print(f"  - {each}", flush=True)
        self.add(case, unit, len(found), 0)

    def violated(self):
        return [row for row in self.rows if row["sumac"] > row["limit"]]

    def write(self, path):
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.rows, indent=1) + "\n", encoding="utf-8")
