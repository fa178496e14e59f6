"""exactformer examples: the built-in worksheets and models."""

from __future__ import annotations

import click


@click.command("examples")
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """List the built-in examples and models, or print the worksheet of one: a start for your own."""
    from exactformer.worksheets import example_text, load
    from exactformer.worksheets import examples as names
    from exactformer.worksheets.models import MODELS, networks

    if name is not None:
        click.echo(example_text(name), nl=False)
        return
    for name in names():
        worksheet = load(name)
        click.echo(f"{name:<12} {worksheet.title}\n{'':<12} {worksheet.about}\n{'':<12} exactformer trace {name}")
    for name, model in MODELS.items():
        shown = f'exactformer certify {name} --prompt "{model.prompt}" --max 40'
        click.echo(f"{name:<12} {model.title}\n{'':<12} {model.about}\n{'':<12} {shown}")
    for name in networks():
        worksheet = load(name)
        click.echo(f"{name:<12} {worksheet.title}\n{'':<12} {worksheet.about}\n{'':<12} exactformer prove {name} --count")
