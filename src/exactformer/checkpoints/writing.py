"""A model as a folder that is opened again: config.json and model.safetensors, as the transformers library has them, or nanoGPT, or
TransformerLens.

Which of them a model is written for follows from what it has. Whether that format can say all of it is not argued: what was written
is read again, and is refused where it is another configuration or another weight.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from exactformer.checkpoints.errors import CheckpointError
from exactformer.checkpoints.fields import Fields
from exactformer.checkpoints.lens import OUTPUTS
from exactformer.checkpoints.opening import CONFIG, WHOLE, model_of, open_checkpoint
from exactformer.checkpoints.safetensors import tensors_as_parts
from exactformer.checkpoints.saved_formats import Arrays, Format, format_of
from exactformer.files import usual_mode, whole_folder, write_whole
from exactformer.messages import quoted
from exactformer.model import Model
from exactformer.model.taking import entry
from exactformer.numbers import Exact
from exactformer.numbers.parse import equal_float
from exactformer.reading import json_table


def save_checkpoint(model: Model, folder: Path | str, files: Mapping[str, str] | None = None) -> str:
    """Write a folder, whole or not at all, and with these `files` beside; the format that it has, in words.

    >>> from exactformer.worksheets import load
    >>> save_checkpoint(load("capstone").model, "capstone")
    Traceback (most recent call last):
    exactformer.checkpoints.errors.CheckpointError: capstone: norm: 'post' cannot be said by a folder of nanoGPT; ...
    """
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CheckpointError(folder, "is there already, and is not an empty folder")
    form = format_of(model)
    document = form.document(model)
    _check_config(model, form, document, folder)
    with whole_folder(folder, usual_mode() | (usual_mode() & 0o444) >> 2) as made:
        write_whole(made / CONFIG, json.dumps(document, indent=1) + "\n", usual_mode())
        with (made / WHOLE).open("wb") as file:
            for part in tensors_as_parts(dict(_floats(form.tensors(model, document), folder)), {"format": "pt"}):
                file.write(part)
        for name, text in (_output_names(model) | dict(files or {})).items():
            write_whole(made / name, text, usual_mode())
        _check_weights(model, made, form, folder)
    return form.name


def _output_names(model: Model) -> dict[str, str]:
    names = model.config.outputs
    return {OUTPUTS: json.dumps(names, ensure_ascii=False) + "\n"} if names else {}


# -- what is said is what is meant
def _check_config(model: Model, form: Format, document: dict[str, Any], folder: Path) -> None:
    parsed = json_table(json.dumps(document).encode(), CheckpointError, folder)
    try:
        said, _ = model_of(Fields(parsed, folder / CONFIG), None, model.config.vocabulary, "ideal")
    except CheckpointError as error:
        raise CheckpointError(folder, f"{form.name} cannot say this model", str(error)) from None
    config = said.config
    if len(config.spoken) == len(model.config.spoken) and config.unembedding == "own":  # their names are in a file beside
        config = replace(config, outputs=model.config.outputs)
    if (field := model.config.differs(config)) is not None:
        meant = getattr(model.config, field)
        raise _unsaid(folder, field, quoted(str(meant) if isinstance(meant, Exact) else meant), form)


def _check_weights(model: Model, made: Path, form: Format, folder: Path) -> None:
    opened = open_checkpoint(made, model.config.vocabulary).model
    if opened.config.outputs != model.config.outputs:
        raise _unsaid(folder, "outputs", quoted(model.config.outputs), form)
    again = dict(opened.weights.named())
    given = dict(model.weights.named())
    for name in sorted(given.keys() ^ again.keys()):
        raise _unsaid(folder, name, "a weight that is there" if name in given else "a weight that is not there", form)
    for name, values in given.items():
        if not np.array_equal(_exact_floats(name, values, folder), again[name]):
            raise _unsaid(folder, name, "what it holds", form)


def _unsaid(folder: Path, field: str, what: str, form: Format) -> CheckpointError:
    return CheckpointError(folder, field, f'{what} cannot be said by a folder of {form.name}; a worksheet can: save("model.toml")')


def _floats(tensors: Arrays, folder: Path) -> Arrays:
    for name, values in tensors:
        yield name, _exact_floats(name, values, folder)


def _exact_floats(name: str, values: Any, folder: Path) -> Any:
    """The floats that numbers are; a number that is none is refused."""
    if values.dtype != object:
        return values
    result = np.empty(values.size)
    for n, value in enumerate(values.flat):
        if (float64 := equal_float(value)) is None:
            problem = f'{quoted(str(value))} is not a float, and a folder holds floats: save("model.toml") keeps it'
            raise CheckpointError(folder, entry(name, values, n), problem)
        result[n] = float64
    return result.reshape(values.shape)
