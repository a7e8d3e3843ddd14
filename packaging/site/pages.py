"""Turns a document of the repository into the text of a page of the site: lists, and links. No mkdocs is needed here.

- A list may follow a paragraph without a blank line, and its inner lists be indented by two or three blanks: Markdown of the
  repository has that, Python's Markdown wants a blank line and four blanks.
- docs/reference.md names the pages that are made from the code: a link to one of its headings leads to that page.
- A link out of docs/ leads to a copy of that file in the site: it works without a network and for the very version.
"""
import pathlib
import posixpath
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^\s*(```|~~~)")
ITEM = re.compile(r"^(\s*)([-*]|\d+\.) ")
# Heading of docs/reference.md -> the page made from the code (target `reference` of CMake, BUILD/docs).
MADE = {"options": "config.md", "metrics": "metrics-list.md", "messages": "messages.md", "types": "types.md", "wire": "wire.md", "published-command-lines": "pasted.md"}
LANGUAGES = {".py": "python", ".c": "c", ".cpp": "cpp", ".hpp": "cpp", ".yaml": "yaml", ".cmake": "cmake"}


def outside_fences(text):
    """(line, is it code?) of each line."""
    code = False
    for line in text.splitlines():
        edge = bool(FENCE.match(line))
        yield line, code or edge
        code ^= edge


def lists(text):
    """Puts a blank line before each list, and indents inner lists by four."""
    out, before, inside = [], "", False
    for line, code in outside_fences(text):
        item = None if code else ITEM.match(line)
        if item and before.strip() and not inside and not before.lstrip().startswith("|"):
            out.append("")
        if item:
            inside = True
        elif not line.strip() or (inside and not line.startswith(" ") and not before.strip()):
            inside = inside and not line.strip()
        if inside and not code and 2 <= len(line) - len(line.lstrip(" ")) < 4 and line.strip():
            line = "    " + line.lstrip(" ") if item else line
        out.append(line)
        before = line
    return "\n".join(out) + "\n"


def targets(path, text):
    """The files of the repository that a document links to."""
    for line, code in outside_fences(text):
        for _, target, _ in () if code else LINK.findall(line):
            if not re.match(r"[a-z][a-z+.-]*:|#|/", target):
                yield pathlib.PurePosixPath(posixpath.normpath(posixpath.join(posixpath.dirname(path), target.split("#")[0])))


def place(path):
    """The name in the site of a file of the repository."""
    path = str(path)
    if path.startswith("docs/"):
        return path[5:]
    if (ROOT / path).is_dir():
        return f"repository/{path}/index.md"
    if path.endswith((".svg", ".png")):
        return f"repository/{path}"
    return f"repository/{path}" if path.endswith(".md") else f"repository/{path}.md"


def relink(path, text):
    """Each link of the document at `path` of the repository, as one between pages of the site."""
    here = posixpath.dirname(place(path))

    def one(found):
        target, _, anchor = found[2].partition("#")
        if re.match(r"[a-z][a-z+.-]*:|/", found[2]) or not target:
            return found[0]
        there = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if there == "docs/reference.md" and anchor in MADE:
            there, anchor = f"docs/{MADE[anchor]}", ""
        return f"{found[1]}{posixpath.relpath(place(there), here or '.')}{'#' + anchor if anchor else ''}{found[3]}"

    return "\n".join(line if code else LINK.sub(one, line) for line, code in outside_fences(text)) + "\n"


def decisions():
    """The list of docs/adr, each page with its title."""
    pages = sorted((ROOT / "docs/adr").glob("0*.md"))
    return "\n" + "".join(f"- [{page.read_text(encoding='utf-8').splitlines()[0].removeprefix('# ')}]({page.name})\n" for page in pages)


def copied(path):
    """The page of a file outside docs/: Markdown as it is, other files as code, a folder as the list of its files."""
    whole = ROOT / path
    head = "---\nsearch:\n  exclude: true\nhide: [navigation]\n---\n"
    if whole.is_dir():
        return head + f"# {path}\n\n" + "".join(f"- [{name}]({name}.md)\n" for name in sorted(p.name for p in whole.iterdir() if p.is_file()))
    if path.endswith(".md"):
        return head + lists(relink(path, whole.read_text(encoding="utf-8")))
    return head + f"# {path}\n\n````{LANGUAGES.get(whole.suffix, 'text')}\n{whole.read_text(encoding='utf-8')}````\n"
