#!/usr/bin/env python3
"""Counts broken links: in the documents as the repository has them, and in the built site; and resources that a page would load from elsewhere.

Prints one line for each fault on stderr and the entry of `make toolkit` on stdout:
{"case": "site-links", "unit": "broken", "sumac": 0, "limit": 0}

usage: packaging/site/links.py [--site build/site] [--sources]     --sources: the documents alone, without a built site
"""
import argparse
import html.parser
import json
import pathlib
import re
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FAR = re.compile(r"^(?:[a-z][a-z0-9+.-]*:)?//|^(?:https?|ftp):", re.IGNORECASE)


def anchors_of(text: str) -> set[str]:
    """The anchors that a reader of the repository's Markdown gets: GitHub's rule for headings, and named ones."""
    found, seen = set(re.findall(r'<a (?:id|name)="([^"]+)"', text)), {}
    for heading in re.findall(r"^#{1,6}\s+(.+?)\s*#*$", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.add(slug if slug not in seen else f"{slug}-{seen[slug]}")
        seen[slug] = seen.get(slug, 0) + 1
    return found


def in_sources(root: pathlib.Path, pages: list[pathlib.Path]) -> list[str]:
    """Links of Markdown files, which must lead to files of the repository and to anchors of them."""
    found = []
    for page in pages:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        text = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", lambda span: "" if "](" in span[0] else span[0], text)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            path, _, anchor = target.partition("#")
            there = (page.parent / path).resolve() if path else page
            where = page.relative_to(root)
            if not there.exists() or root not in (there, *there.parents):
                found.append(f"{where}: {target}: there is no such file")
            elif anchor and there.suffix == ".md" and anchor not in anchors_of(there.read_text(encoding="utf-8")):
                found.append(f"{where}: {target}: {there.relative_to(root)} has no such heading")
    return found


class Page(html.parser.HTMLParser):
    """The anchors and links of a built page, and what it loads by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and "href" in values and not {"next", "prev", "canonical"} & set(values.get("rel", "").split()):
            self.loads.append(values["href"])
        if tag != "a":
            self.loads += [values[name] for name in ("src", "data", "poster") if values.get(name)]
            self.loads += [part.split()[0] for part in values.get("srcset", "").split(",") if part.strip()]
        self.loads += re.findall(r"url\(['\"]?([^'\")]+)", values.get("style", ""))

    handle_startendtag = handle_starttag


def in_site(site: pathlib.Path) -> list[str]:
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    if not pages:
        return [f"{site}: no page is there: `make site` builds them"]
    found = []
    for path, page in pages.items():
        where = path.relative_to(site)
        for link in page.links + page.loads:
            if FAR.match(link):
                if link in page.loads:
                    found.append(f"{where}: loads {link} from elsewhere")
                continue
            parts = urllib.parse.urlsplit(link)
            if parts.scheme:  # data:, mailto:
                continue
            name = urllib.parse.unquote(parts.path)
            # The page for a wrong address has links from the root, for it may be shown at any depth.
            there = path if not name else site / name.lstrip("/") if name.startswith("/") else (path.parent / name)
            there = there.resolve()
            there = there / "index.html" if there.is_dir() else there
            if not there.is_file():
                found.append(f"{where}: {link}: there is no such page or file")
            elif parts.fragment and there in pages and parts.fragment not in pages[there].ids and not parts.fragment.startswith("__"):
                found.append(f"{where}: {link}: that page has no such anchor")
    for path in sorted(site.rglob("*.css")):
        found += [f"{path.relative_to(site)}: loads {target} from elsewhere"
                  for target in re.findall(r"(?:url\(|@import\s+)['\"]?([^'\")\s]+)", path.read_text(encoding="utf-8")) if FAR.match(target)]
    return found


def documents() -> list[pathlib.Path]:
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
                            capture_output=True, text=True, check=False)
    names = listed.stdout.split("\0") if listed.returncode == 0 else [str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md")]
    return sorted({ROOT / name for name in names if name and (ROOT / name).is_file()})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", default=str(ROOT / "build/site"))
    parser.add_argument("--sources", action="store_true")
    options = parser.parse_args()
    found = in_sources(ROOT, documents())
    if not options.sources:
        found += in_site(pathlib.Path(options.site).resolve())
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    print(json.dumps({"case": "site-links", "unit": "broken", "sumac": len(found), "limit": 0}))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
