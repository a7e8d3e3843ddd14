"""site-links: broken links of the documents and of the site that `make site` builds of them."""

import subprocess
import sys

import work as shared


def check(rows, _work):
    built = subprocess.run(["make", "-C", shared.TOP, "site"], capture_output=True, text=True, check=False)
    if built.returncode != 0:
        rows.failures("site-links", "broken", [f"make site: {(built.stderr or built.stdout).strip()[-300:]}"])
        return
    done = subprocess.run([sys.executable, shared.TOP / "packaging" / "site" / "links.py"], capture_output=True, text=True, check=False)
    rows.failures("site-links", "broken", done.stderr.splitlines() + ([] if done.returncode in (0, 1) else ["links.py did not end well"]))
