"""What the site is made of: the repository's Markdown where it lies, the files that it links to, and pages of references."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from mkdocs.structure.files import File, InclusionLevel

sys.path.insert(0, str(Path(__file__).parent))
import reference  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "target"
# A link or an image of Markdown, a source of HTML; and lines that show code, where none of these is one.
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
OUTSIDE = re.compile(r"^[a-z]+:")
# Where a page goes that is not where its name says. The first page is for whoever does not know the project yet.
PLACES = {"docs/site/home.md": "index.html", "README.md": "readme.html"}

WIDE = ["docs/reference/languages.md"]

external = {}


def tracked():
    """Names of Markdown files that git knows, and of new ones that it does not ignore."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "*.md"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [name for name in names if (ROOT / name).is_file()]


def links(name):
    """Where a Markdown file links to, without the part after `#`."""
    text = CODE.sub("", (ROOT / name).read_text(encoding="utf-8"))
    return [(one or other).split("#")[0] for one, other in LINK.findall(text)]


def on_files(files, config):
    """The repository's files in place of what lies in one folder; the theme's own stay."""
    external.clear()
    for file in list(files):
        if file.src_dir == config.docs_dir:
            files.remove(file)
    names = tracked()
    # What the theme and the pages of references need; no Markdown links to it.
    wanted = {*names, "docs/site/site.css", "bindings/web/page/mark.svg", "lab/sotto-bench/published.toml", "lab/sotto-bench/plot.py"}
    wanted.update(str(path.relative_to(ROOT)) for path in (ROOT / reference.SCHEMAS).glob("*.json"))
    for name in names:
        for link in links(name):
            if OUTSIDE.match(link):
                external.setdefault(link, name)
            elif link and (path := (ROOT / name).parent.joinpath(link).resolve()).is_file():
                wanted.add(str(path.relative_to(ROOT)))
    for name in sorted(wanted):
        file = File(name, str(ROOT), config.site_dir, False, inclusion=InclusionLevel.NOT_IN_NAV)
        file.dest_uri = PLACES.get(name, file.dest_uri)
        files.append(file)
    for name, text in reference.pages(ROOT, BUILT):
        page = File.generated(config, name, content=text, inclusion=InclusionLevel.NOT_IN_NAV)
        page.use_directory_urls = False
        files.append(page)
    return files


def on_page_markdown(markdown, page, **_):
    """Pages that are as wide as the window, and one whose table is made here."""
    if page.file.src_uri in WIDE:
        page.meta["hide"] = ["navigation", "toc"]
    return markdown + (reference.contents(ROOT) if page.file.src_uri == reference.CONTENTS else "")


def on_post_build(config):
    """What is no page: the reference of Rust, the page of lookups; and the links that lead elsewhere, which are not followed."""
    site = Path(config.site_dir)
    if (BUILT / "doc/crates.js").exists():
        shutil.copytree(BUILT / "doc", site / "rust", dirs_exist_ok=True)
    reference.copy_page(ROOT, site / "try")
    # Without npm the search needs a server.
    worker = BUILT / "site-npm/node_modules/iframe-worker/shim/index.js"
    text = worker.read_text(encoding="utf-8") if worker.exists() else ""
    (site / "assets/iframe-worker.js").write_text(text, encoding="utf-8")
    lines = [f"{link}  ({name})\n" for link, name in sorted(external.items())]
    (site / "external-links.txt").write_text("".join(lines), encoding="utf-8")
