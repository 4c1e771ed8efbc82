"""`easee studio`: the page on which a prior is written, seen, raced and checked."""

import os
import signal
import sys
import threading
import webbrowser
from typing import Annotated, Any, NoReturn

import typer

from easee.cli.console import print_line, print_warning
from easee.studio.security import LOOPBACK


def studio_command(
    port: Annotated[int, typer.Option(help="Port to listen at; 0 for any free one.")] = 8765,
    host: Annotated[
        str,
        typer.Option(help="Address to listen at; others than 127.0.0.1 are open to your network."),
    ] = "127.0.0.1",
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address of the page.")
    ] = False,
    modules: Annotated[
        list[str] | None,
        typer.Option("--import", help="Package that registers environments; repeatable."),
    ] = None,
) -> None:
    """Open a page on which you write a prior, see its graph, race it and check it."""
    from easee.studio.server import Studio  # lazy: other commands do not need it

    studio = Studio(host, port, modules or ())
    if host not in LOOPBACK:
        print_warning(
            f"the studio listens at {host}, so everybody in your network who learns its address "
            "can use it, and the connection is not encrypted"
        )
    print_line(f"the studio is at {studio.url}")
    if not no_browser and not _open(studio.url):
        print_line("no browser was found: open this address yourself")
    print_line("Ctrl-C ends it")
    signal.signal(signal.SIGTERM, _interrupt)
    threading.Thread(target=studio.jobs.warm_up, daemon=True).start()
    try:
        studio.serve_forever()
    except KeyboardInterrupt:
        print_line("the studio has ended")
    finally:
        studio.server_close()


def _open(url: str) -> bool:
    """Open a page in a browser with windows; return whether there is one."""
    if sys.platform == "linux" and not {"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ):
        return False  # only browsers for terminals would be found
    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False


def _interrupt(*_: Any) -> NoReturn:
    raise KeyboardInterrupt
