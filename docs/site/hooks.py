"""What the site is made of: the repository's Markdown where it lies, and the files that it links to."""

import re
import subprocess
from pathlib import Path

from mkdocs.structure.files import File, InclusionLevel

ROOT = Path(__file__).resolve().parents[2]
# A link or an image of Markdown, a source of HTML; and lines that show code, where none of these is one.
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
OUTSIDE = re.compile(r"^[a-z]+:")

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
    wanted = set(names)
    for name in names:
        for link in links(name):
            if OUTSIDE.match(link):
                external.setdefault(link, name)
            elif link and (path := (ROOT / name).parent.joinpath(link).resolve()).is_file():
                wanted.add(str(path.relative_to(ROOT)))
    for name in sorted(wanted):
        files.append(File(name, str(ROOT), config.site_dir, False, inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_post_build(config):
    """Links that lead elsewhere are not followed; this is the list of them."""
    lines = [f"{link}  ({name})\n" for link, name in sorted(external.items())]
    (Path(config.site_dir) / "external-links.txt").write_text("".join(lines), encoding="utf-8")
