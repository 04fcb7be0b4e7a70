#!/usr/bin/env python3
"""Checks README.md and docs/: quoted code must match its source, and link targets must exist.

A code block below a line `<!-- from: examples/x/main.cpp -->` must occur in that file unchanged. A
line of capitals only is a placeholder that was not filled in, and is an error.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUOTE = re.compile(r"<!-- from: (\S+) -->\n+```\w*\n(.*?)```", re.S)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)
GAP = re.compile(r"^[A-Z_]{6,}$", re.M)
LINK = re.compile(r"\[[^\]]*\]\(([^)#]+)(?:#[^)]*)?\)")


def check(page: pathlib.Path) -> list[str]:
    text = page.read_text()
    name = page.relative_to(ROOT)
    errors = []
    for source, code in QUOTE.findall(text):
        file = ROOT / source
        if not file.exists() or code not in file.read_text():
            first = code.strip().splitlines()[0] if code.strip() else "(empty)"
            errors.append(f"{name}: quoted code not found in {source}: {first}")
    errors += [f"{name}: placeholder '{gap}' was not filled in" for gap in GAP.findall(text)]
    for target in LINK.findall(CODE.sub("", text)):
        if "://" not in target and not (page.parent / target).exists():
            errors.append(f"{name}: link target {target} does not exist")
    return errors


def main() -> int:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("bench/*.md")]
    errors = [error for page in sorted(pages) for error in check(page)]
    print("\n".join(errors) if errors else f"docs: {len(pages)} pages ok")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
