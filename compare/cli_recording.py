"""The commands on recordings: replay, export and import."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from compare.cli_options import lanes_option
from compare.cli_output import Output, output_options
from compare.process import AS_EXPECTED, SURPRISED, lanes_at_work
from compare.visible import visible

if TYPE_CHECKING:  # --help need not wait for what only a command needs
    from compare.recording.load import Recording
    from compare.secrets import Masker

MISSED = 4
"""The exit code of a replay in which a lane sent what was not recorded."""
REPLAY_EPILOG = """\b
Exit codes:
  0   each lane did what was recorded
  1   a lane ended otherwise, or did not send all that was recorded
  2   wrong usage or input
  4   a lane sent a request that means what no recorded one does; nobody else was asked
  70  a fault of Diptych's own
  130 interrupted"""
file_argument = click.argument("file", metavar="FILE", type=click.Path(path_type=Path))


@click.command(epilog=REPLAY_EPILOG)
@file_argument
@lanes_option
@click.option(
    "--pace",
    type=click.Choice(["fast", "real"]),
    default="fast",
    show_default=True,
    help="Without the pauses of the replies, or with them as they were recorded.",
)
@output_options
def replay(file: Path, lanes: Sequence[str], pace: str, out: Output) -> int:
    """Run lanes against a recording, without a model and without a network."""
    from compare.lanes import load_lanes
    from compare.recording.load import load
    from compare.recording.replay import prompts_of, replay_prompt
    from compare.recording.told import told, told_of

    recording = load(file)
    for line in told_of(recording):
        click.echo(line, err=True)
    with lanes_at_work():
        loaded = load_lanes(lanes)
        prompts = prompts_of(recording)
        names = [f"replay-{number}" if len(prompts) > 1 else "replay" for number, _ in enumerate(prompts, 1)]
        results = [
            replay_prompt(task, recorded, loaded, pace, name)
            for (task, recorded), name in zip(prompts, names, strict=True)
        ]
    if not results:
        raise click.UsageError(f"{file} holds no run, so there is nothing to replay")
    out.deliver([comparison for comparison, _ in results], {"all"} if len(results) > 1 else {"replay"})
    replays = [one for _, of_lanes in results for one in of_lanes]
    for line in told(replays):
        click.echo(line, err=out.taken)
    if any(one.misses for one in replays):
        return MISSED
    return AS_EXPECTED if all(one.agrees for one in replays) else SURPRISED


@click.command()
@file_argument
@click.option("--har", metavar="OUT", type=click.Path(path_type=Path), help="An HTTP Archive (HAR 1.2).")
@click.option(
    "--minimal",
    metavar="OUT.toml",
    type=click.Path(path_type=Path),
    help="The smallest scenario that shows what the recording shows, to attach to a bug report.",
)
@click.option("--curl", metavar="N", type=click.IntRange(1), help="Print the command that sends request N again.")
@click.option(
    "--pytest",
    "test_file",
    metavar="OUT.py",
    type=click.Path(path_type=Path),
    help="A test that replays, with the recording beside it.",
)
@lanes_option
def export(
    file: Path, har: Path | None, minimal: Path | None, curl: int | None, test_file: Path | None, lanes: Sequence[str]
) -> int:
    """Turn a recording into what other tools read. Give at least one of the forms."""
    from compare.recording.load import load
    from compare.recording.told import told_of
    from compare.secrets import Masker, keys_in

    if not (har or minimal or curl or test_file):
        raise click.UsageError("say what to make of it: --har, --minimal, --curl or --pytest")
    recording, masker = load(file), Masker(keys_in(os.environ))
    for line in told_of(recording):
        click.echo(line, err=True)
    if har:
        from compare.recording.har import to_har
        from compare.report import to_json

        har.write_text(to_json(masker.value(to_har(recording))) + "\n", encoding="utf-8")
        click.echo(f"written: {har}", err=True)
    if curl:
        from compare.recording import curl as command

        click.echo(masker.text(command.curl(recording, curl)))
    if minimal or test_file:
        export_replayed(recording, lanes, minimal, test_file, masker)
    return AS_EXPECTED


def export_replayed(
    recording: "Recording", lanes: Sequence[str], minimal: Path | None, test_file: Path | None, masker: "Masker"
) -> None:
    """The forms for which the lanes have to run."""
    from compare.lanes import functions_only, load_lanes
    from compare.recording.minimal import write_minimal
    from compare.recording.pytest_file import write_test
    from compare.recording.replay import prompts_of, replay_prompt

    if not recording.runs:
        raise click.UsageError(f"{recording.path} holds no run, so there is nothing to run again")
    with lanes_at_work():
        loaded = functions_only(load_lanes(lanes))
        if minimal:
            shown, lacking = write_minimal(recording, loaded, minimal, masker)
        if test_file:
            tasks = prompts_of(recording)
            replays = [replay_prompt(task, recorded, loaded)[1] for task, recorded in tasks]
            beside = write_test(recording, replays, test_file)
    if minimal:
        for lane, what in sorted(shown):
            click.echo(visible(f"{lane}: {what}"), err=True)
        for lane, what in sorted(lacking):
            click.echo(visible(f"{lane}: recorded, but not shown by it: {what}"), err=True)
        click.echo(f"written: {minimal}", err=True)
    if test_file:
        click.echo(f"written: {test_file}, which reads {beside}", err=True)


@click.command("import")
@click.argument("har", metavar="FILE.har", type=click.Path(path_type=Path))
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path))
def import_archive(har: Path, out: Path) -> int:
    """Make a recording of the Chat Completions in an HTTP Archive, secrets masked."""
    from compare.recording.har_import import import_har
    from compare.secrets import keys_in

    count = import_har(har, out, keys_in(os.environ))
    click.echo(f"written: {out}, with {count} exchanges", err=True)
    return AS_EXPECTED
