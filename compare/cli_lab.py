"""The command that opens the lab: a page on this machine, to watch lanes at work."""

import contextlib
import webbrowser

import click

from compare.process import AS_EXPECTED


@click.command("lab")
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="A port of your choice (default: any free one).")
@click.option("--no-browser", is_flag=True, help="Show the address, and open no browser.")
@click.option(
    "--lanes", default="raw,lc,lc.sturdy", show_default=True, help="Lanes to choose from, as MODULE or MODULE:FUNCTION."
)
def lab(port: int, no_browser: bool, lanes: str) -> int:
    """Open a page on this machine that shows the lanes at work, message by message, until interrupted (Ctrl-C)."""
    from compare.lab.endpoint import from_environment
    from compare.lab.serve import Serving
    from compare.lab.server import Lab
    from compare.lanes import functions_only, load_lanes
    from compare.scenario import catalogue, load

    loaded = functions_only(load_lanes(lanes))
    serving = Serving(Lab(loaded, [load(path) for path in catalogue()], from_environment()), port)
    click.echo(
        f"The lab is open at {serving.address}\nThe address is its key: do not pass it on. Ctrl-C closes the lab."
    )
    if not no_browser:
        webbrowser.open(serving.once)
    with contextlib.suppress(KeyboardInterrupt):
        serving.run()
    return AS_EXPECTED
