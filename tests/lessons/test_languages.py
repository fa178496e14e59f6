"""One catalogue a language: what is missing falls back to English and is listed."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from exactformer.lessons import LessonError, built, read
from exactformer.lessons import languages as catalogues
from exactformer.lessons.languages import languages, missing, words
from exactformer.model.operations.records import RECORDS


@pytest.mark.parametrize("language", languages())
def test_nothing_is_missing(language: str) -> None:
    assert list(missing(language)) == []


def test_what_is_missing_is_said_in_english_and_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    poorer = {"name": "Poor", "views": {"broken": "Kaputt", "spare": "x"}, "extra": {}}
    real = catalogues._catalogue.__wrapped__
    monkeypatch.setattr(catalogues, "_catalogue", lambda language: poorer if language == "es" else real(language))
    words.cache_clear()
    try:
        said = words("es")
        assert said.say("views", "broken") == "Kaputt"
        assert said.say("views", "correct") == "Correct"
        assert said.glossary["token"].term == "token"
        listed = list(missing("es"))
        assert "views.correct: is missing" in listed
        assert "titles.softmax: is missing" in listed
        assert "views.spare: is not known" in listed
        assert "extra: is not known" in listed
    finally:
        words.cache_clear()


def test_unknown_languages_are_refused() -> None:
    with pytest.raises(LessonError, match="there are no words of the language 'xx'"):
        words("xx")
    with pytest.raises(LessonError, match="'xx'"):
        built(read("---\nlanguage: xx\n---\n<!-- exactformer: use capstone -->\n<!-- exactformer: step embed -->\n"))


def test_views_speak_the_language_and_keep_numbers_names_and_formulas() -> None:
    shown = "<!-- exactformer: break no-mask from blocks.0.attn.pattern -->\n"
    text = "---\nlanguage: {}\n---\n<!-- exactformer: use capstone -->\n" + shown
    english, spanish = (built(read(text.format(language))) for language in ("en", "es"))
    assert "Correct" in english
    assert "Correcto" in spanish
    assert re.findall(r"[\d./]+|`[^`]*`", english) == re.findall(r"[\d./]+|`[^`]*`", spanish)


def test_every_operation_says_what_it_does_in_one_sentence() -> None:
    assert len(RECORDS) > 30
    for record in RECORDS:
        assert 40 < len(record.about) <= 130, record.name
        assert record.about.endswith(".")
        assert record.about[0].isupper()


@pytest.mark.parametrize("language", languages())
def test_terms_are_explained_in_one_sentence_and_met_once(language: str) -> None:
    forms = [form.lower() for term in words(language).glossary.values() for form in (term.term, *term.also)]
    assert len(forms) == len(set(forms))
    for term in words(language).glossary.values():
        assert len(term.text) <= 160
        assert term.text.endswith(".")


def test_texts_of_the_page_stand_in_its_modules() -> None:
    static = files("exactformer.web") / "static"
    said = "".join((static / name).read_text(encoding="utf-8") for name in ("number.js", "answer.js"))
    for text in words().tables["texts"]:
        assert re.search(rf'say\([^)]*"{re.escape(text)}"', said), text
    called = re.findall(r'say\("([^"]+)"\)', said)
    assert set(called) <= set(words().tables["texts"])
    assert len(called) > 10


def test_mistakes_are_told_in_the_language_of_the_lesson() -> None:
    use = "<!-- exactformer: use capstone -->\n<!-- exactformer: break no-mask from blocks.0.attn.masked -->\n"
    text = f"---\nlanguage: es\n---\n{use}"
    assert "Roto (`no-mask`: no se oculta nada)" in built(read(text))


def test_a_gradient_is_called_one_on_both_sides() -> None:
    text = "<!-- exactformer: use capstone backward -->\n<!-- exactformer: step grad.blocks.0.attn.pattern -->\n"
    assert "`∂attn.pattern = ∂attn.z · attn.vᵀ`" in built(read(text))
