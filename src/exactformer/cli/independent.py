"""The checker that needs Python alone: run in a process of its own, and given its witness."""

from __future__ import annotations

import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import click

from exactformer.cli.common import BAD_INPUT, INTERNAL, REFUTED, paint, refuse
from exactformer.cli.inputs import opened
from exactformer.files import usual_mode, whole_file
from exactformer.messages import Refused
from exactformer.painting import judged
from exactformer.progress import Progress

if TYPE_CHECKING:
    from exactformer.certificates.certificate import Certificate
    from exactformer.checkpoints import Origin

_MOST = 256  # processes of the checker


def verified_independently(source: str, file: Path, witness: Path | None, workers: int | None) -> int:
    """The status of the checker, which sees neither this program nor what is installed beside it.

    It proves its own table, so the file is looked at first: is it as it was written, and about this model, and does the table
    follow from the tokens?
    """
    import exactformer_check
    from exactformer.certificates.file import read
    from exactformer.certificates.verifying import TORN, Problem, check_problem, doubted, other_files
    from exactformer.proofs.runner import cores
    from exactformer.worksheets.models import place_of

    folder = place_of(source)
    refuse(not folder.is_dir(), f"{source}: --independent checks certificates of model folders")
    written = read(file)
    certificate = written.certificate
    if certificate.check is None:
        raise Refused(
            f"{file}: has nothing for the checker: it is not about a model folder, or not about one that the checker knows"
        )
    worksheet = opened(source, reading=certificate.check.reading)
    problem = check_problem(certificate) if written.intact else Problem("sha256", TORN)
    if problem is None:
        with Progress() as progress:
            problem = doubted(certificate, worksheet.model, worksheet.origin, progress) or other_files(
                certificate, worksheet.origin
            )
    if problem is not None:
        click.echo(judged(f"refused: {file}, line {written.line(problem.place)}: {problem}", False, paint()))
        return REFUTED
    options = ["--processes", str(min(workers or cores(), _MOST))]
    options += [f"--witness={witness}"] if witness is not None else []
    status = _followed([sys.executable, "-I", str(exactformer_check.__file__), *options, "--", str(file), str(folder)])
    if status in (0, REFUTED, BAD_INPUT):
        return status
    click.echo(f"exactformer: {file}: the checker did not come to its end, its status is {status}; nothing is shown", err=True)
    return INTERNAL


def _followed(command: list[str]) -> int:
    """The status of a program; its progress is shown as it comes, and what it found when it has ended."""
    progress = None if sys.stderr.isatty() else subprocess.PIPE  # on a terminal it writes one changing line
    with (
        TemporaryFile("w+", encoding="utf-8") as found,
        subprocess.Popen(command, stdout=found, stderr=progress, encoding="utf-8") as process,
    ):
        before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # which ends the checker, too
        try:
            for line in process.stderr or ():
                click.echo(line, nl=False, err=True)
            status = process.wait()
        finally:
            process.kill()  # nothing of it is left where this is interrupted
            signal.signal(signal.SIGTERM, before)
        found.seek(0)
        click.echo(found.read(), nl=False)
    return status


def write_witness(certificate: Certificate, origin: Origin | None, path: Path) -> None:
    """The products that the checker would compute, as it computes them, whole or not at all."""
    from exactformer.certificates.file import document

    checker: Any = import_module("exactformer_check")
    if certificate.check is None or origin is None:
        raise Refused(
            "--witness: this certificate has nothing for the checker: it is not about a model folder, or not about one that the "
            "checker knows, or no token is proved"
        )
    try:
        with whole_file(path, usual_mode()) as file, Progress() as progress:
            progress("the products for the witness")
            checker.check(document(certificate), str(origin.folder), keep=file.write, tell=progress.part)
    except checker.Refused as error:
        raise Refused(f"--witness: {error}") from None
    click.echo(f"exactformer: {path}: {path.stat().st_size:,} bytes", err=True)
