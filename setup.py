"""The README as a package index shows it, which has no files beside it: no pictures, and paths in place of links to files.

All else that is said of the package stands in pyproject.toml.
"""

import re
from pathlib import Path

from setuptools import setup

FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
PICTURE = r"!\[[^\]]*\]\((?!https:)[^)]*\)"
PICTURES = re.compile(rf"^(?:\|.*\n\|[-| ]+\n)?(?:\| )?{PICTURE}(?: \|(?: {PICTURE} \|)*)?\n\n", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\((?!https:|#)([^)#]*)[^)]*\)")


def for_an_index(readme: str) -> str:
    parts = FENCED.split(readme)
    parts[::2] = [LINK.sub(path, PICTURES.sub("", part)) for part in parts[::2]]
    return "".join(parts) + "\nPaths such as `docs/web.md` are those of the source package, which has all pages and pictures.\n"


def path(link: re.Match[str]) -> str:
    title, target = link.groups()
    return f"`{target}`" if title == target else f"{title} (`{target}`)"


readme = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
setup(long_description=for_an_index(readme), long_description_content_type="text/markdown")
