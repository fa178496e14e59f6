"""exactformer serve: the page in the browser."""

from __future__ import annotations

import ipaddress
import socket
import webbrowser

import click


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on; beyond this machine only if told.")
@click.option("--port", type=click.IntRange(0, 65535), default=8642, show_default=True, help="0: any that is free.")
@click.option("--allow-host", "names", multiple=True, metavar="NAME", help="A name that browsers may use for it; repeatable.")
@click.option("--workers", type=click.IntRange(2, 64), default=4, show_default=True, help="Processes that compute.")
@click.option("--seconds", type=click.FloatRange(1, 3600), default=20, show_default=True, help="Time for one computation.")
@click.option("--memory", type=click.IntRange(256), default=1024, show_default=True, help="Megabytes for one computation.")
@click.option("--open/--no-open", "browse", default=True, show_default=True, help="Open the page in the browser.")
def command(host: str, port: int, names: tuple[str, ...], workers: int, seconds: float, memory: int, browse: bool) -> None:
    """Open the page: the whole pass in the browser, every number clickable, your own tokens and weights in place of ours."""
    try:
        import uvicorn

        from exactformer.web.app import LOOPBACK, application
    except ImportError:
        raise click.ClickException("the page needs its extra: pip install 'exactformer[web]'") from None

    listener = _listener(host, port)
    with listener:
        address = f"http://{_shown(host)}:{listener.getsockname()[1]}/"
        click.echo(f"exactformer: {address}  (Ctrl-C ends it)")
        if browse:
            webbrowser.open(address)
        app = application({*LOOPBACK, _shown(host), *names}, workers, seconds, memory << 20)
        config = uvicorn.Config(app, log_level="warning", server_header=False, timeout_graceful_shutdown=1)
        uvicorn.Server(config).run([listener])


def _listener(host: str, port: int) -> socket.socket:
    """A socket that listens, made here so that a port that is taken is one clear line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
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
