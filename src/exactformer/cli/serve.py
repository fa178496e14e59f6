"""exactformer serve: the page in the browser."""

from __future__ import annotations

import ipaddress
import socket
import webbrowser
from pathlib import Path

import click

from exactformer.cli.common import Whole, refuse
from exactformer.cli.inputs import STDIN, source_argument, standard_input
from exactformer.messages import NotInstalled, printable

STORIES = "stories"  # the model that is served where none is given
_BACKLOG = 2048  # connections that wait until the server has started


@click.command("serve")
@source_argument(required=False, metavar="EXAMPLE|WORKSHEET|MODEL_DIR|LESSON.md|-", programs=False)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on. Others than this machine are served only where you give one.",
)
@click.option(
    "--port", type=Whole(0, 65535), default=8642, show_default=True, help="The port to listen on; 0 takes any that is free."
)
@click.option(
    "--allow-host", "names", multiple=True, metavar="NAME", help="Another name by which browsers may reach it; repeatable."
)
@click.option("--workers", type=Whole(2, 64), default=4, show_default=True, help="How many processes compute.")
@click.option("--seconds", type=click.FloatRange(1, 3600), default=20, show_default=True, help="The most time for one computation.")
@click.option(
    "--memory", type=Whole(256), default=1024, show_default=True, help="The most memory for one computation, in megabytes."
)
@click.option(
    "--token-seconds",
    type=click.FloatRange(1, 86400),
    default=300,
    show_default=True,
    help="The most time for one token of the model.",
)
@click.option(
    "--docs", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The documentation as a site, which the page links to. Default: what make docs built, in a clone.",
)  # fmt: skip
@click.option("--open/--no-open", "browse", default=True, show_default=True, help="Open the page in the browser.")
def command(
    source: str | None, host: str, port: int, names: tuple[str, ...], workers: int, seconds: float, memory: int,
    token_seconds: float, docs: Path | None, browse: bool,
) -> None:  # fmt: skip
    """Open the page: the whole pass in the browser, every number clickable, your own tokens and weights in place of ours.

    A lesson of your own, LESSON.md, is shown as a lesson of the page, with the worksheets of its folder (docs/lessons.md); what you
    change in it is there when the page is loaded again.

    The page also proves the next tokens of a model, as exactformer certify does, and walks through its passes: of the one given,
    such as a GPT-2 folder, or of the built-in model stories.
    """
    try:
        from exactformer.web.app import LOOPBACK, application
        from exactformer.web.listening import server
    except ImportError:
        raise NotInstalled("the page needs its extra", "web") from None

    lesson = source if source is not None and source.lower().endswith(".md") else None
    at = "" if lesson is None else _lesson(lesson)
    source = STORIES if source is None or lesson else source
    text = standard_input() if source == STDIN else None
    source = "standard input" if source == STDIN else source
    _check(source, text)
    docs = _docs(docs)
    listener = _listener(host, port)
    with listener:
        address = f"http://{_shown(host)}:{listener.getsockname()[1]}/{at}"
        click.echo(f"exactformer: {address}  (Ctrl-C ends it)")
        if browse:
            webbrowser.open(address)
        own = () if lesson is None else (lesson,)
        app = application({*LOOPBACK, _shown(host), *names}, workers, seconds, memory << 20, source, token_seconds, text, own, docs)
        server(app, log_level="warning").run([listener])


def _docs(given: Path | None) -> Path | None:
    """The folder that is given, or that of a clone, if it has been built."""
    found = Path(__file__).parents[3] / "build" / "docs" if given is None else given
    refuse(
        given is not None and not (found / "index.html").is_file(),
        f"{found}: has no index.html: make docs writes one to build/docs",
    )
    return found if (found / "index.html").is_file() else None


def _lesson(source: str) -> str:
    """The address of a lesson on the page. What is wrong in it is reported here, and on the page."""
    from exactformer.lessons.checking import problems, report
    from exactformer.lessons.shelf import Shelf

    shelf = Shelf.of([source])
    ((slug, _),) = shelf.own
    for line in problems(report(shelf.read(slug))):
        click.echo(f"exactformer: {printable(line)}", err=True)
    return f"#lesson/{slug}"


def _check(source: str, text: str | None) -> None:
    """Refuse at once what can be seen at once: no model, one without logits, too little memory."""
    from exactformer.certificates.memory import check_memory
    from exactformer.certificates.proving import CAP
    from exactformer.worksheets import load, loads

    worksheet = load(source) if text is None else loads(text, source)
    refuse(worksheet.model.config.unembedding == "none", f"{source}: the model has no logits: there is no token to prove")
    check_memory(worksheet.model, worksheet.title or source, 1, CAP)


def _listener(host: str, port: int) -> socket.socket:
    """A socket that listens, made here so that a port that is taken is one clear line, and whoever is told of it can connect."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else the end of an answer waits 40 ms for its beginning
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise click.ClickException(f"{host}:{port}: cannot listen there: {error.strerror or error}") from None
    return listener


def _shown(host: str) -> str:
    """An address as it stands in a URL; that of every network is reached as localhost."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return "localhost"
    return f"[{host}]" if address.version == 6 else host
