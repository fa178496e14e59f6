"""exactformer certify --plan: what a proof is expected to take, before any of it is done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from exactformer.cli.common import emit, fitted, refuse
from exactformer.cli.inputs import STDIN, ids_of, opened, read_or_compiled
from exactformer.progress import Progress

if TYPE_CHECKING:
    from exactformer.worksheets import Input


def planned(source: str, asked: Input, length: int | None, most: int, workers: int, form: str, output: Path | None) -> None:
    """What a proof is expected to take, from the shapes of the weights, and from what an earlier run kept of them."""
    from exactformer.planning import LENGTH, plan
    from exactformer.render.plans import plan_json, plan_text
    from exactformer.worksheets import outlined

    refuse(source == STDIN, "-: a plan is made of an example, of a file or of a folder")
    spoken = asked.prompt is not None or asked.tokens is not None
    refuse(length is not None and (spoken or asked.ids is not None), "--length: does not go with an input, which has its own")
    own = read_or_compiled(source)
    worksheet, outline = outlined(source, text=spoken) if own is None else (own, None)
    config = worksheet.model.config
    if length is None and (spoken or asked.ids is not None or worksheet.tokens):
        length = len(ids_of(asked, worksheet))
    title = worksheet.title or source
    with Progress() as progress:
        seen = _seen(source, worksheet, outline, progress)
        found = plan(
            worksheet.model, title, "exact" if outline is None else outline.dtype,
            min(LENGTH, config.length or LENGTH) if length is None else length, most, workers, seen, progress=progress,
        )  # fmt: skip
    emit(plan_json(found) if form == "json" else fitted(plan_text(found), output), output)


def _seen(source: str, worksheet: Any, outline: Any, progress: Progress) -> Any:
    """What is kept of a model whose weights are at hand, if there is anything to look for, and memory to look for it in."""
    from exactformer.certificates.memory import available
    from exactformer.certificates.storage import any_kept, kept

    if not any_kept() or (outline is not None and outline.folder is None):
        return None
    free = available()
    if outline is not None and free is not None and 3 * outline.size > free:
        return None
    progress("the weights, for what is kept of them")
    return kept(worksheet.model if outline is None else opened(source).model)
