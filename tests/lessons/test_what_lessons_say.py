"""What the built-in lessons say beside their bound numbers: commands print what is shown, and what is said of floats is right."""

from __future__ import annotations

import re
import struct
from fractions import Fraction
from pathlib import Path

import pytest

import exactformer as xf
from exactformer.lessons import page
from exactformer.lessons.languages import words
from exactformer.lessons.lesson import Bound, Use, View
from exactformer.lessons.reader import read
from test_documentation import run

FOLDER = Path(xf.__file__).parent / "lessons"
LESSONS = {f"{path.parent.name}/{path.stem}": path for path in sorted(FOLDER.glob("??/*.md"))}
TEXTS = {name: path.read_text(encoding="utf-8") for name, path in LESSONS.items()}
FLOATS = TEXTS["en/what-floats-do"]
CONSOLE = sorted({block for text in TEXTS.values() for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL)})
VIEW = re.compile(r"<!-- exactformer: (?:step|picture|number|break) [^>]*-->.*?<!-- /exactformer -->", re.DOTALL)


def test_there_are_seven_and_two_in_spanish() -> None:
    assert len(LESSONS) == 9
    assert {name[3:] for name in LESSONS if name.startswith("es/")} == {"transformer-by-hand", "four-tokens"}


@pytest.mark.parametrize("block", [pytest.param(each, marks=pytest.mark.large if " poster" in each else ()) for each in CONSOLE])
def test_commands_print_what_a_lesson_shows(block: str, tmp_path: Path) -> None:
    command, *expected = block.removeprefix("$ ").rstrip("\n").split("\n")
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stderr
    pattern = ".*?".join(re.escape(part) for part in ("\n" + "\n".join(expected) + "\n").split("\n...\n"))
    assert re.search(pattern, "\n" + done.stdout, re.DOTALL), command


@pytest.mark.parametrize("name", LESSONS)
def test_links_lead_to_lessons(name: str) -> None:
    for target in re.findall(r"\]\(((?!http)[^)#]+)\)", TEXTS[name]):
        assert (LESSONS[name].parent / target).exists(), target
    following = read(TEXTS[name]).next
    assert not following or f"en/{following}" in LESSONS


def directives(name: str) -> list[str]:
    """Everything that a lesson binds and shows, without its hints, which are translated."""
    found = []
    for block in read(TEXTS[name]).blocks:
        match block:
            case Use():
                found.append(f"use {block.name} {block.tokens} {block.backward}")
            case Bound():
                found.append(f"{block.to} {[[spot.text for spot in row] for row in block.rows]}")
            case View():
                where = f"{block.to} {block.position} {block.head}"
                found.append(f"{block.kind} {where} {block.mistake} {block.claim} {block.tokens} {len(block.hints)}")
    return found


@pytest.mark.parametrize("slug", ["transformer-by-hand", "four-tokens"])
def test_a_translation_binds_and_shows_the_same(slug: str) -> None:
    assert directives(f"es/{slug}") == directives(f"en/{slug}")


@pytest.mark.parametrize("name", LESSONS)
def test_every_lesson_asks_at_least_two_questions_about_one_number_each(name: str) -> None:
    asked = [block for block in read(TEXTS[name]).blocks if isinstance(block, View) and block.kind == "exercise"]
    assert len(asked) >= 2
    assert all(block.hints for block in asked)


@pytest.mark.parametrize("name", LESSONS)
def test_every_term_in_bold_is_in_the_glossary(name: str) -> None:
    text = VIEW.sub("", TEXTS[name])
    terms = words(name[:2]).glossary.values()
    known = {form.lower() for term in terms for form in (term.term, *term.also)} | {"your turn.", "te toca."}
    bold = re.findall(r"(?<!-->)\*\*([^*\n]+)\*\*", text)
    assert len(bold) >= 3
    assert [term for term in bold if term.lower() not in known] == []


@pytest.mark.parametrize("name", LESSONS)
def test_no_line_of_prose_begins_with_a_comment(name: str) -> None:
    """To a Markdown reader such a line ends the paragraph, and is HTML to its end."""
    assert re.findall(r"^(?:> )?<!-- exactformer: [^>]*-->(?=\S).*$", TEXTS[name], re.MULTILINE) == []


def rounded(x: float, kind: str) -> Fraction:
    return Fraction(*struct.unpack(f"<{kind}", struct.pack(f"<{kind}", x))[0].as_integer_ratio())


@pytest.mark.parametrize(("title", "kind"), [("as float64 stores them", "d"), ("as float32 stores them", "f")])
def test_the_fractions_are_those_that_floats_store(title: str, kind: str) -> None:
    sheet = next(block for block in re.findall(r"```toml exactformer\n(.*?)```", FLOATS, re.DOTALL) if title in block)
    stored = [Fraction(text) for text in re.findall(r'"(\d+/\d+)"', sheet)]
    assert stored == [rounded(x, kind) for x in (0.1, 0.2, 0.3)]


def test_the_shepherdess_becomes_a_bear(tmp_path: Path) -> None:
    """The table of the five largest logits: places in the vocabulary, four decimals, and what bfloat16 makes of them."""
    shown = re.findall(r"^\| (\d+) \| `( \w+)` \| ([\d.]+) \| ([\d.]+) \|$", FLOATS, re.MULTILINE)
    done = run('exactformer certify stories --prompt "Once upon a time, a lonely" --digits 6', tmp_path)
    proved = re.findall(r'"( \w+)" (\d+) +([\d.]+)$', done.stdout, re.MULTILINE)
    assert len(shown) == len(proved) == 5
    for (place, token, printed, stored), (name, number, digits) in zip(shown, proved, strict=True):
        assert (token, place) == (name, number)
        assert len(digits) > len("9.123456")
        assert round(Fraction(digits), 4) == Fraction(printed)
        assert 8 < Fraction(digits) < 16  # where the neighbours in bfloat16 are 1/16 apart
        assert Fraction(round(Fraction(digits) * 16), 16) == Fraction(stored)
    tied = {token: int(place) for place, token, _, stored in shown if stored == shown[0][3]}
    assert min(tied, key=lambda token: tied[token]) == " bear"


def test_a_lesson_links_to_one_in_another_language() -> None:
    """Where its own language has none: the page finds it by its name."""
    assert "['a', {'lesson': 'induction-heads'}" in str(page(read(TEXTS["es/four-tokens"], "four-tokens.md")))
