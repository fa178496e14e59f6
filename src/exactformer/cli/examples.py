"""exactformer examples: the built-in worksheets and models."""

from __future__ import annotations

import click

from exactformer.cli.helping import offered, sources

_LENGTH = 4  # of the inputs that programs are compiled for
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
        click.echo(PROGRAMS[name].worksheet(_LENGTH).text if name in PROGRAMS else example_text(name), nl=False)
        return
    for name in names():
        worksheet = load(name)
        click.echo(f"{name:<12} {worksheet.title}\n{'':<12} {worksheet.about}\n{'':<12} exactformer trace {name}")
    for name, program in PROGRAMS.items():
        click.echo(
            f"{name:<12} A program, compiled\n{'':<12} {program.about}\n{'':<12} exactformer prove {name} --length {_LENGTH}"
        )
    for name, model in MODELS.items():
        shown = f'exactformer certify {name} --prompt "{model.prompt}" --max 40'
        click.echo(f"{name:<12} {model.title}\n{'':<12} {model.about}\n{'':<12} {shown}")
    for name in networks():
        worksheet = load(name)
        assert worksheet.theorem is not None
        size = read_domain(worksheet.theorem.domain, worksheet.model.config.vocabulary).size
        shown = f"exactformer prove {name} --count{' --sets' if size > _MANY else ''}"
        click.echo(f"{name:<12} {worksheet.title}\n{'':<12} {worksheet.about}\n{'':<12} {shown}")
