"""exactformer judge: the outputs of other engines, held against the truth; golden files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from exactformer.cli.common import (
    DONE,
    INTERRUPTED,
    REFUTED,
    UNDECIDED,
    cap_option,
    color_option,
    columns,
    emit,
    fitted,
    format_option,
    output_option,
    paint,
    refuse,
)
from exactformer.cli.golden import GoldenFiles
from exactformer.cli.inputs import STDIN, ids_of, input_options, source_argument, tell_namesakes
from exactformer.cli.journals import Kept, run_options
from exactformer.progress import Progress

if TYPE_CHECKING:
    from exactformer.referee import Engine, Judgements, Models
    from exactformer.worksheets import Input, Worksheet

Reading = Literal["ideal", "stored"]


@click.command("judge")
@source_argument(programs=False)
@click.argument("more", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--outputs", metavar="FILE", multiple=True, type=click.Path(path_type=Path),
    help="What an engine gave: .npz, .safetensors, .npy, or .jsonl of a server. More files may follow; each is an engine.",
)  # fmt: skip
@input_options
@click.option(
    "--dtype", "dtypes", metavar="[ENGINE=]FORMAT", multiple=True,
    help="The format that an engine computes in, where its file does not say: float16, bfloat16, float32 or float64.",
)  # fmt: skip
@click.option("--quantised", metavar="ENGINE", multiple=True, help="This engine rounds its weights: rounding excuses nothing.")
@click.option(
    "--dequantised", metavar="ENGINE=MODEL_DIR", multiple=True,
    help="The weights that a quantised engine computes with: it is held against that network, too.",
)  # fmt: skip
@click.option(
    "--reading", type=click.Choice(("ideal", "stored")),
    help="Rotary angles as real numbers, or the floats that transformers computes for them. Default: stored, and where the other "
    "one has another token, that is said.",
)  # fmt: skip
@cap_option
@click.option("--allow", type=click.Choice(("rounding",)), help="Tokens that are wrong by rounding do not make the status 1.")
@click.option("--strict", is_flag=True, help="Numbers that are farther off than careful floats make the status 1.")
@run_options
@click.option(
    "--golden", metavar="FILE", type=click.Path(path_type=Path),
    help="Instead of judging: write the true values of the prompt, or of --prompts, to FILE.safetensors and FILE.json.",
)  # fmt: skip
@click.option(
    "--prompts", metavar="FILE", type=click.Path(path_type=Path),
    help='With --golden: JSON Lines, each {"ids": [1, 2]} or {"prompt": "text"}.',
)  # fmt: skip
@click.option("--all-positions", is_flag=True, help="With --golden: after each token, not after the last alone.")
@click.option("--steps", is_flag=True, help="With --golden: every step of the pass.")
@format_option("text", "json", "markdown", "html", "svg")
@color_option
@output_option
def command(
    source: str, more: tuple[Path, ...], outputs: tuple[Path, ...], asked: Input, dtypes: tuple[str, ...],
    quantised: tuple[str, ...], dequantised: tuple[str, ...], reading: Reading | None, cap: int, allow: str | None, strict: bool,
    journal: Path | None, workers: int | None, cluster: str | None, golden: Path | None, prompts: Path | None, all_positions: bool,
    steps: bool, form: str, output: Path | None,
) -> None:  # fmt: skip
    """Say which engine is right: each token and number that engines gave, held against the true values of the model."""
    refuse(source == STDIN, "-: judge reads a model from a file or a folder")
    refuse(cluster is not None and workers is not None, "--workers: does not go with --cluster, which has its own")
    files = (*outputs, *more)
    if golden is not None:
        given = (("outputs", files), ("dtype", dtypes), ("quantised", quantised), ("dequantised", dequantised), ("allow", allow))
        for name, value in given:
            refuse(bool(value), f"--{name}: does not go with --golden")
        made = GoldenFiles(golden.with_suffix(".safetensors"), partial(_opened, source, reading), cap, all_positions, steps)
        sys.exit(made.written(asked, prompts, journal, workers, cluster))
    for option, set_ in (("prompts", prompts is not None), ("all-positions", all_positions), ("steps", steps)):
        refuse(set_, f"--{option}: goes with --golden")
    refuse(not files, "--outputs: is missing: which files are to be judged?")
    from exactformer.certificates.question import namer
    from exactformer.render import judgement_page, judgements

    own_weights = _pairs("--dequantised", dequantised)
    for name, folder in own_weights:
        refuse(name not in quantised, f"--dequantised: {name} is not one of --quantised")
        tell_namesakes(folder, programs=False)
    worksheet = _opened(source, reading)
    ids = ids_of(asked, worksheet) if any((asked.prompt, asked.ids, asked.tokens)) else None
    engines = _Engines(tuple(files), ids if ids is None else tuple(ids), _formats(dtypes, files), quantised, source)
    report = _judged(partial(_models, source, reading), engines, worksheet, cap, journal, workers, cluster)
    for name, folder in own_weights:
        own = replace(engines, only=name, quantised=())
        report = _joined(
            report, _judged(partial(_models, folder, reading), own, _opened(folder, reading), cap, None, workers, cluster)
        )
    renderers: dict[str, Any] = {
        "text": partial(judgements.text, paint=paint(output), width=columns(output)),
        "json": judgements.as_json, "markdown": judgements.markdown, "html": judgement_page.page,
        "svg": judgement_page.svg,
    }  # fmt: skip
    shown = renderers[form](report, worksheet.title or source, namer(worksheet, said=True))
    emit(fitted(shown, output, form), output)
    verdict = report.verdict(allow is not None)
    beyond = strict and any(record.get("first_step") for record in report.records)
    sys.exit(REFUTED if beyond else {True: DONE, False: REFUTED, None: UNDECIDED}[verdict])


@dataclass(frozen=True)
class _Engines:
    """Opens the files of all engines, or of one, in whichever process asks."""

    files: tuple[Path, ...]
    ids: tuple[int, ...] | None
    formats: dict[str, str]
    quantised: tuple[str, ...]
    source: str
    only: str = ""

    def __call__(self) -> Sequence[Engine]:
        return self._found

    def __getstate__(self) -> dict[str, Any]:
        """What was read stays in its process."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _found(self) -> Sequence[Engine]:
        from exactformer.checkpoints.modules import module_steps
        from exactformer.numbers.formats import FORMATS
        from exactformer.referee import OutputsError, read_outputs
        from exactformer.worksheets import load
        from exactformer.worksheets.models import place_of

        for name in self.quantised:
            if name not in {path.stem for path in self.files}:
                raise OutputsError(f"--quantised: {name} is not one of {', '.join(path.stem for path in self.files)}")
        modules = module_steps(place_of(self.source), load(self.source).model.config)
        found = []
        for path in self.files:
            format = self.formats.get(path.stem, self.formats.get(""))
            engine = read_outputs(
                path, ids=self.ids, dtype=None if format is None else FORMATS[format], modules=modules,
                quantised=path.stem in self.quantised,
            )  # fmt: skip
            if self.only in ("", engine.name):
                found.append(replace(engine, name=f"{engine.name} (its own weights)") if self.only else engine)
        return found


def _opened(source: str, reading: Reading | None) -> Worksheet:
    """In the reading that is asked for; by default the one that engines compute with, where there are two."""
    from exactformer.worksheets import load

    worksheet = load(source)
    refuse(reading is not None and not worksheet.reading, f"--reading {reading}: {source} has nothing that can be read in two ways")
    return load(source, "stored") if worksheet.reading and reading != "ideal" else worksheet


def _models(source: str, reading: Reading | None) -> Models:
    """The model, and beside it the other reading where none was asked for."""
    from exactformer.referee import Models
    from exactformer.worksheets import load

    worksheet = _opened(source, reading)
    worksheet.checked()
    return Models(worksheet.model, load(source).model if worksheet.reading and reading is None else None)


def _judged(
    models: Any, engines: _Engines, worksheet: Worksheet, cap: int, journal: Path | None, workers: int | None, cluster: str | None
) -> Judgements:
    from exactformer.certificates.memory import check_memory
    from exactformer.referee import judge_all

    longest = max((len(given.ids) for engine in engines() for given in engine.prompts), default=1)
    check_memory(worksheet.model, worksheet.title, longest, cap, compared=True)
    with Progress() as progress:
        kept = Kept(journal, progress)
        try:
            report = judge_all(models, engines, cap=cap, journal=kept.named, workers=workers, cluster=cluster, progress=kept.heard)
        except KeyboardInterrupt:
            kept.interrupted()
            sys.exit(INTERRUPTED)
    kept.done()
    return report


def _joined(report: Judgements, other: Judgements) -> Judgements:
    known = tuple(replace(engine, narrower="") for engine in other.engines)  # that was said of the engine itself
    return replace(report, engines=report.engines + known, records=report.records + other.records)


def _pairs(option: str, texts: tuple[str, ...]) -> list[tuple[str, str]]:
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        refuse(not (name and equals and value), f"{option}: {text[:40]!r} is not ENGINE=…")
        pairs.append((name, value))
    return pairs


def _formats(dtypes: tuple[str, ...], files: Sequence[Path]) -> dict[str, str]:
    """By engine; the empty name stands for all others."""
    from exactformer.numbers.formats import FORMATS

    found: dict[str, str] = {}
    names = {path.stem for path in files}
    for text in dtypes:
        name, equals, value = text.rpartition("=")
        refuse(value not in FORMATS, f"--dtype: {value[:40]!r} is not one of {', '.join(FORMATS)}")
        refuse(bool(equals) and name not in names, f"--dtype: {name[:40]!r} is not one of {', '.join(sorted(names))}")
        refuse(name in found, f"--dtype: {name or 'all engines'}: said twice")
        found[name] = value
    return found
