"""What mkdocs calls while it builds the site: adds the pages that lie outside docs/, and gives each page the text that pages.py makes."""
import os
import pathlib
import re
import sys

from mkdocs.structure.files import File

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import pages  # noqa: E402


def on_files(files, config):
    """Adds the pages made from the code, from the folder SUMAC_REFERENCE, and the files outside docs/ that pages link to, and those that the added ones link to."""
    docs = pathlib.Path(config["docs_dir"])
    made = pathlib.Path(os.environ["SUMAC_REFERENCE"])
    for name in pages.MADE.values():
        files.append(File.generated(config, name, content=(made / name).read_text(encoding="utf-8")))
    waiting = [(f"docs/{page.relative_to(docs)}", page.read_text(encoding="utf-8")) for page in sorted(docs.rglob("*.md"))]
    seen = set()
    while waiting:
        path, text = waiting.pop()
        for target in pages.targets(path, text):
            name = str(target)
            if name.startswith("docs/") or name in seen or not (pages.ROOT / name).exists():
                continue
            seen.add(name)
            whole = pages.ROOT / name
            if name.endswith((".svg", ".png")):
                files.append(File.generated(config, pages.place(name), abs_src_path=str(whole)))
                continue
            files.append(File.generated(config, pages.place(name), content=pages.copied(name)))
            if whole.is_dir():
                waiting.append((f"{name}/x", "".join(f"[x]({p.name})\n" for p in whole.iterdir() if p.is_file())))
            elif name.endswith(".md"):
                waiting.append((name, whole.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown, page, **_):
    if page.file.src_uri.startswith("repository/"):
        return markdown
    # The site draws no mermaid, whose script is large; the same arrows are a picture beside it.
    markdown = re.sub(r"<!-- arrows:begin.*?-->\n```mermaid.*?```\n<!-- arrows:end -->", "![folders and their arrows](architecture.svg)", markdown,
                      flags=re.DOTALL)
    if page.file.src_uri == "adr/README.md":
        markdown += pages.decisions()
    return pages.lists(pages.relink(f"docs/{page.file.src_uri}", markdown))
