"""A worksheet: a model, an input and a title, read from TOML. docs/worksheets.md describes the format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from exactformer.arithmetics import kind
from exactformer.checkpoints import ENDINGS, FAMILIES, Origin, Outline, Reading, open_checkpoint, outline_checkpoint
from exactformer.checkpoints.foreign import refusal
from exactformer.checkpoints.hub import could_be_named
from exactformer.circuits import Circuit
from exactformer.circuits.story import narrated
from exactformer.messages import listed, quoted
from exactformer.model import InputError, Model
from exactformer.model.recorder import Note, unnoted
from exactformer.model.sight import Mask
from exactformer.proofs.rules import Lookup
from exactformer.reading import decoded, read_regular, toml_table
from exactformer.showing import Saved
from exactformer.tokenizers import Piece, Tokenizer, WordTokenizer, gpt2, load_tokenizer
from exactformer.tokenizers.folder import has_tokenizer
from exactformer.tokenizers.settings import check_settings, read_settings
from exactformer.tokenizers.tokenizer import checked_id
from exactformer.trace import Step, Trace, run
from exactformer.worksheets.circuit import read_circuit, read_rule
from exactformer.worksheets.cost import check_pass, check_patterns
from exactformer.worksheets.models import MODELS, built_in, model_folder, networks, place_of
from exactformer.worksheets.reader import Table, WorksheetError
from exactformer.worksheets.theorem import Stated, read_theorem
from exactformer.worksheets.uncollected import uncollected
from exactformer.worksheets.weights import read_model

GPT2_TOKENS = 50_257
OF_CLAIMS = ("allow", "from", "columns")  # what is said of all claims of a worksheet
LARGEST = 8 * 2**20  # bytes of a worksheet: far more than can be computed exactly


@dataclass(frozen=True)
class Worksheet(Saved):
    """What a worksheet says. `trace()` runs its own input, `trace("b a")` another."""

    model: Model
    tokens: tuple[str, ...]
    title: str
    about: str
    circuit: Circuit | None = None  # where the model is given by heads in words
    rule: Lookup | None = None  # what its theorem demands
    tokenizer: Tokenizer | None = None  # what turns a prompt into tokens
    notes: tuple[tuple[str, str], ...] = ()  # what is said of steps: the end of a step's name, and a sentence
    checked: Callable[[], None] = lambda: None  # refuses weights that are no numbers; asked before they are computed with
    reading: str = ""  # how constants are read that a folder leaves open: rotary angles as real numbers, or as floats
    origin: Origin | None = None  # the files that it was read from, where they are those of a model folder
    theorem: Stated | None = None  # what is claimed of a model that is no circuit
    words: bool = True  # without a tokenizer, is a prompt cut at its blanks? Not where tokens have ids and no names

    def __repr__(self) -> str:
        return f"<worksheet {quoted(self.title)}: {quoted(' '.join(self.tokens))}, {self.model!r}>"

    def trace(
        self,
        tokens: str | Sequence[str] | Sequence[int] | None = None,
        arithmetic: str = "exact",
        stop_at_named: bool = False,
        progress: Callable[[str], None] = lambda step: None,
        prompt: str | None = None,
        patched: Note = unnoted,
    ) -> Trace:
        """Run the pass on tokens (by name, or by id), on a prompt that the tokenizer cuts up, or on the worksheet's own input.

        >>> sheet = load("capstone")
        >>> [sheet.trace(tokens).token(1) for tokens in ("a b", ["a", "b"], [0, 1], None)]
        ['a', 'a', 'a', 'a']
        """
        names = self._names(tokens, prompt)
        self.fits(arithmetic, len(names))
        trace = run(self.model, names, arithmetic, self.title, stop_at_named, progress, patched=patched)
        trace = replace(trace, reader=partial(self._over, arithmetic))
        if self.tokenizer is not None:
            ids, known = self.model.ids(names), len(self.tokenizer.vocabulary)
            trace = replace(trace, pieces=tuple(self.tokenizer.piece(i) for i in ids) if max(ids) < known else ())
        if self.notes:
            trace = replace(trace, steps=tuple(_noted(step, self.notes) for step in trace.steps))
        return trace if self.circuit is None else narrated(trace, self.circuit)

    def _over(self, arithmetic: str, text: str) -> Trace:
        """A pass over a text; where nothing cuts it up, over the tokens that it names."""
        return self.trace(None, arithmetic, prompt=text) if self.takes_text else self.trace(text, arithmetic)

    def _names(self, tokens: str | Sequence[str] | Sequence[int] | None, prompt: str | None) -> tuple[str, ...]:
        if prompt is not None:
            return tuple(piece.name for piece in self.pieces(prompt))
        if tokens is None:
            return self.own_tokens
        vocabulary = self.model.config.vocabulary
        given = tokens.split() if isinstance(tokens, str) else tokens
        if self.tokenizer is not None and isinstance(tokens, str) and not set(given) <= set(vocabulary):
            try:
                self.model.ids(tuple(tokens.split()))
            except InputError as error:
                raise InputError(f"{error}; a text that is to be cut into tokens is given as the prompt") from None
        return tuple(token if isinstance(token, str) else vocabulary[checked_id(token, len(vocabulary))] for token in given)

    @property
    def own_tokens(self) -> tuple[str, ...]:
        """The input that the worksheet itself has; a model in a folder has none."""
        if not self.tokens:
            ways = "--prompt, --ids or --tokens" if self.takes_text else "--ids, as it has no tokenizer"
            raise InputError(f"{self.title or 'the worksheet'}: has no input of its own: give {ways}")
        return self.tokens

    @property
    def takes_text(self) -> bool:
        """Is there something that cuts a prompt into tokens?"""
        return self.tokenizer is not None or self.words

    def fits(self, arithmetic: str, length: int) -> None:
        """Refuse weights that are no numbers, and a pass over `length` tokens that would not end."""
        check_pass(self.model, self.title, arithmetic, length)
        check_patterns(self.model.config, self.title, arithmetic, length)
        self.checked()

    def fits_together(self, length: int) -> None:
        """The same of many passes at once, which floats take whatever the size of the model; others go one by one."""
        config = self.model.config
        if kind("certified").takes(config):
            self.checked()
        else:
            self.fits("arb" if kind("arb").takes(config) else "exact", length)

    def pieces(self, prompt: str) -> tuple[Piece, ...]:
        """A prompt cut into tokens."""
        if not self.takes_text:
            raise InputError(f"--prompt: {self.title} has no tokenizer, which would cut a text into tokens: give --ids")
        tokenizer = self.tokenizer or WordTokenizer(self.model.config.vocabulary)
        pieces = tuple(tokenizer.pieces(prompt))
        if not pieces:
            raise InputError("the prompt is empty: give at least one token")
        return pieces

    def changed(
        self, *, strength: Any = None, length: int | None = None, mask: Mask | None = None, hard: bool = False
    ) -> Worksheet:
        """The same with another mask or with hard attention; a circuit also with other strengths, or for longer inputs."""
        circuit, config = self.circuit, self.model.config
        if circuit is None:
            if strength is not None or length is not None:
                raise WorksheetError(f"{self.title or 'the worksheet'}: has no circuit, whose strength or length could be changed")
            masked = config.mask if mask is None else mask
            return replace(self, model=replace(self.model, config=replace(config, mask=masked, hard=hard or config.hard)))
        circuit = circuit if strength is None else circuit.stronger(strength)
        circuit = replace(
            circuit,
            length=circuit.length if length is None else length,
            mask=circuit.mask if mask is None else mask,
            hard=hard or circuit.hard,
        )
        return replace(self, circuit=circuit, model=circuit.build(), rule=self.rule and replace(self.rule, mask=circuit.mask))


def _noted(step: Step, notes: tuple[tuple[str, str], ...]) -> Step:
    """A step with what the worksheet says of it, at the first position."""
    said = tuple((0, text) for end, text in notes if step.name == end or step.name.endswith(f".{end}"))
    return replace(step, remarks=(*said, *step.remarks), note=" ".join(text for _, text in said)) if said else step


def load(source: str | os.PathLike[str], reading: Reading = "ideal") -> Worksheet:
    """A built-in example or model by name, a worksheet by path, or the model in a folder, whose rotary angles are read as
    `open_checkpoint` says. A model in the local cache of the Hugging Face hub goes by its name there; nothing is fetched.

    >>> load("capstone").trace("a b").token(1)
    'a'
    """
    name = os.fspath(source)
    if name in examples():
        return loads(example_text(name), name)
    if name in MODELS:
        return _built_in(name, reading)
    if not name:
        raise WorksheetError(f"the name of the worksheet is empty (built-in examples: {', '.join((*examples(), *built_in()))})")
    path = place_of(name)
    if path.is_dir() or path.suffix in ENDINGS:
        return _titled(name, path, _checkpoint(str(path), reading))
    with uncollected():
        return read(parse(worksheet_text(name), name), name, path.parent)


def worksheet_text(name: str) -> str:
    """The text of a built-in example, or of a worksheet by path; a file that is something else is refused by what it is."""
    if name in examples():
        return example_text(name)
    path = place_of(name)
    if path.is_file() and (problem := refusal(path)) is not None:
        raise WorksheetError(f"{name}: {problem}")
    if path.suffix == ".json" and path.is_file():
        raise WorksheetError(f"{name}: is JSON, not a worksheet; for a model, give its folder: {path.parent}")
    if not path.exists() and could_be_named(name):
        raise WorksheetError(f"{name}: {_absent(name)}")
    return read_text(path, "example", (*examples(), *built_in())).removeprefix("\ufeff")


def _absent(name: str) -> str:
    """What could have been meant by a name that is nowhere: one of ours, or a model of the hub."""
    ours = (*examples(), *built_in())
    nowhere = "there is no such file, nor a built-in example of that name"
    near = get_close_matches(name.lower(), ours, 3, 0.65)
    meant = f"; did you mean {listed(near, 'or')}?" if near else ""
    if any(family in name.lower() for family in ("/", *FAMILIES)):
        fetch = f"fetch it with: hf download {name} (this program uses no network)"
        return f"{nowhere}, nor a model in the Hugging Face cache; {fetch}{meant}"
    return nowhere + (meant or f" ({', '.join(ours)})")


def _titled(name: str, path: Path, worksheet: Worksheet) -> Worksheet:
    """A model of the cache has the name that was asked for: its folder is called by a hash."""
    return worksheet if path == Path(name) else replace(worksheet, title=name)


def outlined(source: str | os.PathLike[str], text: bool = False) -> tuple[Worksheet, Outline | None]:
    """As `load`, but of a folder, or of a config.json alone, the shapes of the weights: nobody may compute with them.

    A tokenizer is read where a `text` is to be cut up. A worksheet is small: it is read as it is, and has no outline.

    >>> outlined("capstone")[1], outlined("stories")[1].dtype
    (None, 'BF16')
    """
    name = os.fspath(source)
    path = place_of(name)
    if path.suffix in ENDINGS:
        if path.is_file() and (problem := refusal(path)) is not None:
            raise WorksheetError(f"{name}: {problem}")
        path = path.parent
    if name in (*examples(), *networks(), "") or not (path.is_dir() or path.suffix == ".json"):
        return load(name), None
    found = outline_checkpoint(path)
    worksheet = _titled(name, path, Worksheet(found.model, (), found.name, "", words=False))
    if name not in MODELS and not (text and path.is_dir()):
        return worksheet, found
    tokenizer = _folder_tokenizer(path)
    if tokenizer is None and len(found.model.config.vocabulary) == GPT2_TOKENS:
        tokenizer = gpt2()
    if tokenizer is not None:
        found = outline_checkpoint(path, tokenizer.vocabulary)
        worksheet = replace(worksheet, model=found.model, tokenizer=tokenizer)
    return (_carded(name, worksheet) if name in MODELS else worksheet), found


def _folder_tokenizer(folder: Path) -> Tokenizer | None:
    return load_tokenizer(folder) if has_tokenizer(folder) else None


def _checkpoint(name: str, reading: Reading) -> Worksheet:
    folder = Path(name) if Path(name).is_dir() else Path(name).parent
    tokenizer = _folder_tokenizer(folder)
    checkpoint = open_checkpoint(name, None if tokenizer is None else tokenizer.vocabulary, reading)
    if tokenizer is None and len(checkpoint.model.config.vocabulary) == GPT2_TOKENS:  # its own, where the folder has none
        tokenizer = gpt2()
        check_settings(read_settings(folder), tokenizer)
        checkpoint = open_checkpoint(name, tokenizer.vocabulary, reading)
    return Worksheet(
        checkpoint.model, (), checkpoint.name, checkpoint.reading, tokenizer=tokenizer, reading=checkpoint.reading, words=False,
        checked=checkpoint.check_finite, origin=checkpoint.origin,
    )  # fmt: skip


def _built_in(name: str, reading: Reading) -> Worksheet:
    return _carded(name, _checkpoint(str(model_folder(name)), reading))


def _carded(name: str, worksheet: Worksheet) -> Worksheet:
    """With what is said of a built-in model."""
    card = MODELS[name]
    tokens = tuple(piece.name for piece in worksheet.pieces(card.prompt))
    return replace(worksheet, tokens=tokens, title=card.title, about=f"{card.about} {worksheet.about}")


def example_text(name: str) -> str:
    """The worksheet of a built-in example."""
    if name in built_in():
        raise WorksheetError(f"{name}: is a built-in model, whose weights are in a file: it has no worksheet that could be printed")
    if name not in examples():
        raise WorksheetError(f"{name}: there is no built-in example of that name ({', '.join(examples())})")
    return (files("exactformer.worksheets") / "examples" / f"{name}.toml").read_text(encoding="utf-8")


@cache
def examples() -> tuple[str, ...]:
    """The names of the built-in examples."""
    folder = files("exactformer.worksheets") / "examples"
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")))


def loads(text: str, name: str = "worksheet") -> Worksheet:
    """A worksheet from its text; `name` is what errors call it."""
    with uncollected():
        return read(parse(text, name), name)


def parse(text: str, name: str) -> dict[str, Any]:
    return toml_table(text, name, WorksheetError, unread="weights")


def read(raw: dict[str, Any], name: str, folder: Path | None = None) -> Worksheet:
    """The worksheet that a TOML document is; its claims are for `exactformer check`. Files that it names are in the `folder`."""
    table = Table(raw, name)
    for field in ("claims", *OF_CLAIMS):
        table.take(field, None)
    circuit = read_circuit(table) if "circuit" in raw else None
    rule = None if circuit is None else read_rule(table, circuit)
    tokenizer = _tokenizer(raw)
    model = read_model(table, tokenizer, folder) if circuit is None else circuit.build()
    given = table.table("input")
    tokens = _tokens(given, tokenizer)
    given.finish(prompt='vocabulary = "gpt2"')
    notes = table.table("notes", required=False)
    said = tuple((name, notes.text(name)) for name in notes.raw)
    theorem = None if circuit is not None else read_theorem(table, model.config.vocabulary)
    worksheet = Worksheet(
        model, tokens, table.text("title", ""), table.text("about", ""), circuit, rule, tokenizer, said, theorem=theorem
    )
    table.finish(model="weights, not with a circuit", weights="a model, not with a circuit")
    return worksheet


def _tokenizer(raw: dict[str, Any]) -> Tokenizer | None:
    """GPT-2's, where the vocabulary of the model is."""
    model = raw.get("model")
    return gpt2() if isinstance(model, dict) and model.get("vocabulary") == "gpt2" else None


def _tokens(given: Table, tokenizer: Tokenizer | None) -> tuple[str, ...]:
    if tokenizer is not None and "prompt" in given.raw:
        return tuple(piece.name for piece in tokenizer.pieces(given.text("prompt")))
    value = given.take("tokens")
    if isinstance(value, str):
        return tuple(value.split())
    if isinstance(value, list) and all(isinstance(token, str) for token in value):
        return tuple(value)
    raise given.error("tokens", 'is neither a text such as "a b" nor a list of texts')


def read_text(path: Path, kind: str, built_in: Iterable[str], most: int = LARGEST) -> str:
    """The text of a file to the last character; `built_in` are names that could have been meant."""
    absent = f"there is no such file, nor a built-in {kind} of that name ({', '.join(built_in)})"
    return decoded(
        read_regular(path, most, "a worksheet" if most == LARGEST else "a notebook", WorksheetError, absent=absent),
        path,
        WorksheetError,
    )
