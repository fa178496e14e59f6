"""exactformer examples: the built-in worksheets and models."""

from __future__ import annotations

import click

from exactformer.cli.helping import offered, sources
from exactformer.cli.inputs import LENGTH

_MANY = 10**9  # inputs that nobody goes through one by one


@click.command("examples")
@click.argument("name", required=False, shell_complete=offered(sources, or_files=False))
def command(name: str | None) -> None:
    """List the built-in examples, programs and models, or print the worksheet of one: a start for your own."""
    from exactformer.programs import PROGRAMS
    from exactformer.proofs.tables import read_domain
    from exactformer.worksheets import example_text, load
    from exactformer.worksheets import examples as names
    from exactformer.worksheets.models import MODELS, networks

    if name is not None:
        click.echo(PROGRAMS[name].worksheet(LENGTH).text if name in PROGRAMS else example_text(name), nl=False)
        return
    for name in names():
        worksheet = load(name)
        _list(name, worksheet.title, worksheet.about, f"trace {name}")
    for name, program in PROGRAMS.items():
        _list(name, "A program, compiled", program.about, f"prove {name} --length {LENGTH}")
    for name, model in MODELS.items():
        _list(name, model.title, model.about, f'certify {name} --prompt "{model.prompt}" --max 40')
    for name in networks():
        worksheet = load(name)
        assert worksheet.theorem is not None
        size = read_domain(worksheet.theorem.domain, worksheet.model.config.vocabulary).size
        _list(name, worksheet.title, worksheet.about, f"prove {name} --count{' --sets' if size > _MANY else ''}")


def _list(name: str, title: str, about: str, how: str) -> None:
    click.echo(f"{name:<12} {title}\n{'':<12} {about}\n{'':<12} exactformer {how}")
