"""exactformer examples: the built-in worksheets."""

from __future__ import annotations

import click


@click.command("examples")
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """List the built-in examples, or print the worksheet of one: a start for your own."""
    from exactformer.worksheets import example_text, load
    from exactformer.worksheets import examples as names

    if name is not None:
        click.echo(example_text(name), nl=False)
        return
    for name in names():
        worksheet = load(name)
        click.echo(f"{name:<12} {worksheet.title}\n{'':<12} {worksheet.about}\n{'':<12} exactformer trace {name}")
