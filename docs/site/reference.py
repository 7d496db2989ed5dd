"""Pages of references, made when the site is: of the JSON that the command prints, of Python, TypeScript and Rust."""

import json
import re
import shutil
import tomllib

SCHEMAS = "docs/reference/schemas"
CONTENTS = f"{SCHEMAS}/README.md"
# A link of Rust's documentation: its text stays.
RUST_LINK = re.compile(r"\[(`[^`\]]+`)\](?:\([^)]*\))?|\[([^\]]+)\]\((?!https?:)[^)]*\)")

# Of what TypeDoc makes: its heading, and links to one of several headings of the same name.
TYPESCRIPT_LEFT = re.compile(r"^#.*\n|\[([^\]]*)\]\(#constructor-\d+\)")


def pages(root, built):
    """Names and texts of the pages."""
    for path in sorted((root / SCHEMAS).glob("*.json")):
        yield f"{SCHEMAS}/{path.stem}.md", schema_page(path)
    yield "docs/reference/python.md", PYTHON
    yield "docs/reference/rust.md", rust(root, built)
    typescript = built / "site-typescript/README.md"
    yield "docs/reference/typescript.md", TYPESCRIPT + (
        TYPESCRIPT_LEFT.sub(lambda found: found[1] or "", typescript.read_text(encoding="utf-8"))
        if typescript.exists()
        else MISSING.format(what="TypeScript", need="npm", command="make site")
    )


MISSING = """
!!! note
    The reference of {what} is not in this build of the site: it needs {need}. `{command}` on a machine that has it
    makes the site with it.
"""

PYTHON = """# Python

The package `sotto`. [Its README](../../bindings/python/README.md) says how it is used, and
[the same lookup in four languages](languages.md) how it compares. Everything below is made of the docstrings and types of
`bindings/python/python/sotto`, which mypy checks.

::: sotto
    options:
      show_root_heading: false
      show_root_toc_entry: false
      heading_level: 2
"""

TYPESCRIPT = """# TypeScript

The package `@sotto/client`, for browsers. [Its README](../../bindings/web/README.md) says how it is used, and
[the same lookup in four languages](languages.md) how it compares. Everything below is made of
`bindings/web/js/index.d.ts`, which the TypeScript compiler checks.
"""


def rust(root, built):
    """The published crates, each with its sentence and a link to what rustdoc made of it."""
    manifests = [*root.glob("crates/*/Cargo.toml"), *root.glob("schemes/**/Cargo.toml"), *root.glob("guests/*/Cargo.toml")]
    packages = [tomllib.loads(path.read_text(encoding="utf-8"))["package"] for path in manifests]
    published = sorted((p for p in packages if p.get("publish", True)), key=lambda p: p["name"])
    first = ["sotto-client", "sotto-server", "sotto-db", "sotto-catalog", "sotto-core", "sotto-plan"]
    text = """# Rust

Most programs need `sotto-client` alone: [its README](../../crates/sotto-client/README.md), and
[the same lookup in four languages](languages.md). The documentation of the crates is rustdoc's, with a search of its own.
"""
    if not (built / "doc/crates.js").exists():
        text += MISSING.format(what="Rust", need="cargo", command="make docs site")
    for title, names in [("Where to begin", first), ("All published crates", [p["name"] for p in published])]:
        text += f"\n## {title}\n\n| crate | what it is |\n|---|---|\n"
        for package in (p for name in names for p in published if p["name"] == name):
            module = package["name"].replace("-", "_")
            # rustdoc's pages are no pages of this site, so that Markdown cannot link to them.
            there = (built / "doc" / module / "index.html").exists()
            name = f'<a href="../../rust/{module}/index.html"><code>{module}</code></a>' if there else f"`{module}`"
            text += f"| {name} | {package['description']} |\n"
    return text


def contents(root):
    """What each verb prints, in a sentence for each kind of object."""
    text = "\n| verb | prints |\n|---|---|\n"
    for path in sorted((root / SCHEMAS).glob("*.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        kinds = [sentence(schema["$defs"].get(name(one), {}).get("description", "")) for one in schema["anyOf"]]
        text += f"| [`{title(path)}`]({path.stem}.md) | {' '.join(kind for kind in kinds if kind)} |\n"
    return text


def title(path):
    return path.stem.replace("-", " ") if path.stem not in ("exit-codes", "rotate-key", "self-test") else path.stem


def name(schema):
    return schema.get("$ref", "").rsplit("/", 1)[-1]


def anchor(of):
    return re.sub(r"[^a-z0-9_-]", "", of.lower())


def prose(text):
    return RUST_LINK.sub(lambda found: found[1] or found[2], text).replace("\n\n", "<br>").replace("\n", " ").replace("|", "\\|")


def sentence(text):
    return prose(text).split(". ")[0].split("; ")[0].rstrip(".") + "." if text else ""


def schema_page(path):
    schema = json.loads(path.read_text(encoding="utf-8"))
    types = schema.get("$defs", {})
    verb = title(path)
    what = "an error, which every verb can print" if verb == "error" else f"`sotto {verb} --json`"
    text = f"# {verb}\n\nWhat {what} prints: " if verb != "error" else f"# error\n\nWhat is printed on stderr for {what}: "
    first = [name(one) for one in schema["anyOf"]]
    text += ", or ".join(f"[{one}](#{anchor(one)})" for one in first if one in types) or "a JSON Schema"
    text += f". The schema: [{path.name}]({path.name}). All verbs: [JSON of the command](README.md).\n"
    for one in [*first, *(other for other in types if other not in first)]:
        if one in types:
            text += f"\n## {one}\n\n" + described(types[one], types)
    return text


def described(schema, types):
    text = prose(schema["description"]) + "\n\n" if "description" in schema else ""
    if "properties" in schema:
        return text + fields(schema, types)
    if "oneOf" in schema or "anyOf" in schema:
        branches = schema.get("oneOf") or schema["anyOf"]
        if all("const" in one or "enum" in one for one in branches):
            rows = [(value, one) for one in branches for value in one.get("enum", [one.get("const")])]
            return text + "| value | meaning |\n|---|---|\n" + "".join(
                f"| `{value}` | {prose(one.get('description', ''))} |\n" for value, one in rows
            )
        return text + "One of:\n\n" + "\n".join(
            f"{prose(one.get('description', ''))}\n\n{fields(one, types) if 'properties' in one else kind(one)}" for one in branches
        )
    return text + f"It is {kind(schema)}.\n"


def fields(schema, types):
    """A table; a field that says nothing of itself has the sentence of its type. `required` is in the order of the code."""
    needed = schema.get("required", [])
    text = "| field | type | meaning |\n|---|---|---|\n"
    for field in dict.fromkeys([*needed, *schema["properties"]]):
        of = schema["properties"][field]
        absent = "" if field in needed else " (may be absent)"
        of = of if isinstance(of, dict) else {}
        said = prose(of.get("description", "")) or sentence(types.get(name(of), {}).get("description", ""))
        text += f"| `{field}` | {kind(of)}{absent} | {said} |\n"
    return text + "\n"


def kind(schema):
    """The type of a value, in words."""
    if schema is True or not isinstance(schema, dict):
        return "any"
    if name(schema):
        return f"[{name(schema)}](#{anchor(name(schema))})"
    for words in ("anyOf", "oneOf"):
        if words in schema:
            return " or ".join(kind(one) for one in schema[words])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    of = schema.get("type")
    if isinstance(of, list):
        return " or ".join(kind({**schema, "type": one}) for one in of)
    if of == "array" and "prefixItems" in schema:
        return "list: " + ", ".join(kind(one) for one in schema["prefixItems"])
    if of == "array":
        return f"list of {kind(schema.get('items', True))}"
    if of == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object: each value {kind(schema['additionalProperties'])}"
    if of == "object" and "properties" in schema:
        return "object: " + ", ".join(f"`{field}` {kind(one)}" for field, one in schema["properties"].items())
    if of == "string" and "pattern" in schema:
        return "hexadecimal text"
    return {"integer": "integer", "string": "text", "boolean": "true or false"}.get(of, of or "any")


def copy_page(root, out):
    """The page of lookups as a recording: the page itself, over a module that plays lookups which were made before."""
    page, recorded = root / "bindings/web/page", root / "docs/site/recorded"
    out.mkdir(parents=True, exist_ok=True)
    for file in [*page.glob("*.html"), *page.glob("*.css"), *page.glob("*.js"), *page.glob("*.svg"), *recorded.glob("*.js*")]:
        shutil.copy(file, out / file.name)
