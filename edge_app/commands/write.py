"""`specsteer write`, `demo` and `replay`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import one_line
from decoding_core.messages import BasePlace
from decoding_core.methods import available, build, summary
from edge_app import sample
from edge_app.commands.options import complete_models, complete_people
from edge_app.commands.output import Output
from edge_app.commands.terminal import STOPPED, stoppable
from edge_app.config.settings import (
    GuardMode,
    Settings,
    read_settings,
    sample_store_path,
    store_path,
)
from edge_app.decoding.events import (
    Drafted,
    Event,
    Finished,
    HeldBack,
    Notice,
    Opened,
    Received,
    Reckoned,
    Sent,
    Settled,
    SourcesFound,
    Verified,
    emit_to,
)
from edge_app.retrieval import personalisation
from edge_app.retrieval.naming import parted
from edge_app.sample import make_ready
from edge_app.service.answering import LONGEST_LETTER, sender_of
from edge_app.service.requests import MayLeave, WriteRequest
from models.asking import choose, confirm
from models.lazy_commands import Command, shows_all
from models.prompts import TASKS, Request
from personal_store import Store
from personal_store.search.ranking import is_to

if TYPE_CHECKING:
    from edge_app.service.service import WritingService
    from edge_app.service.tape import Recorded, Recorder, Tape


class _NumberOrAuto(click.ParamType["float | str"]):
    """A number, or `auto`."""

    name = "number"

    def __init__(self, number: type[int] | type[float]) -> None:
        self._number = number

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | str:
        """The number that was typed."""
        if value == "auto":
            return "auto"
        try:
            return self._number(value)
        except ValueError:
            kind = "whole number" if self._number is int else "number"
            self.fail(f"'{value}' is neither a {kind} nor 'auto'.", param, ctx)


class _Write(Command):
    """Lists the methods and the personalisations below all options."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if not shows_all(ctx):
            return
        with formatter.section("Methods"):
            formatter.write_dl([(name, summary(name)) for name in available()])
        with formatter.section("Personalisations"):
            formatter.write_dl(
                [
                    (name, personalisation.summary(name))
                    for name in personalisation.available()
                ]
            )


@click.command("write", cls=_Write)
@click.argument("request")
@click.option(
    "--task",
    type=click.Choice(TASKS),
    default="email",
    show_default=True,
    help="What kind of text it is.",
)
@click.option(
    "--to",
    "recipient",
    default="",
    shell_complete=complete_people,
    help="Whom it is for, or a review is of.",
)
@click.option(
    "--reply-to",
    type=click.IntRange(1),
    metavar="ID",
    help="Answer this text, as 'search --received' numbers it, to who wrote it.",
)
@click.option(
    "--max-tokens",
    type=int,
    default=300,
    show_default=True,
    help="Where the text is cut at the latest.",
)
@click.option("--offline", is_flag=True, help="Write on this device alone.")
@click.option("--sample", is_flag=True, help="Use the sample letters, not yours.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.option("-v", "--verbose", is_flag=True, help="Say all figures, too.")
@click.option(
    "--seed",
    type=int,
    help="The same number gives the same text again, on the same machine.",
)
@click.option("--no-history", is_flag=True, help="Do not read your own texts.")
@click.option("--no-offline", is_flag=True, help="Fail rather than write on alone.")
@click.option(
    "--guard",
    type=click.Choice(get_args(GuardMode)),
    help="What becomes of names, numbers and copied phrases. placeholder",
)
@click.option("--server", metavar="URL", help="A specsteer-cloud server to check with.")
@click.option("--plain", is_flag=True, help="A line per sentence, for screen readers.")
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep all that happens in a new file, which 'specsteer replay' plays.",
)
@click.option("--temperature", type=float, help="0 always takes the likeliest. 0.7")
@click.option("--top-p", type=float, help="Share of likely tokens to draw from. 0.95")
@click.option("--method", help="How to decode; listed below. steering")
@click.option(
    "--base",
    type=click.Choice(get_args(BasePlace)),
    help="Where the small model without history runs. cloud",
)
@click.option(
    "--threshold",
    type=_NumberOrAuto(float),
    metavar="NUMBER",
    help="Lower keeps more of your own words; or 'auto'. 0.5",
)
@click.option("--strength", type=float, help="How strongly your history counts. 1.0")
@click.option("--costeer-steps", type=int, metavar="T", help="Of costeer. 20")
@click.option("--costeer-alpha", type=float, help="Gain from earlier steps. 2")
@click.option("--costeer-lambda", type=float, help="Nearness to the generalist. 2")
@click.option("--costeer-eta", type=float, help="Reach of one step. 10")
@click.option(
    "--draft-length",
    type=_NumberOrAuto(int),
    metavar="NUMBER",
    help="Tokens sent at once; 'auto' fits it to what is measured. auto",
)
@click.option(
    "--window",
    type=_NumberOrAuto(int),
    metavar="NUMBER",
    help="Blocks on their way at once, 1 to 4; or 'auto'. auto",
)
@click.option(
    "--cadence",
    type=float,
    metavar="MS",
    help="Milliseconds between two rounds, whatever they take. 0: none",
)
@click.option("--token", help="The server's token; better set SPECSTEER_TOKEN.")
@click.option(
    "--token-in-clear",
    is_flag=True,
    help="Send it to an http address, too: you know who listens there.",
)
@click.option(
    "--specialist",
    type=click.Path(path_type=Path),
    shell_complete=complete_models,
    help="A GGUF file, a folder with a model, or a name of 'models list'.",
)
@click.option(
    "--generalist",
    type=click.Path(path_type=Path),
    shell_complete=complete_models,
    help="The same for the server that is started here.",
)
@click.option("--engine", help="What runs them: llama_cpp, transformers. auto")
@click.option(
    "--privacy-budget",
    type=float,
    metavar="NATS",
    help="The most that this text may tell the server of your history. any",
)
@click.option(
    "--privacy-mixture",
    type=float,
    metavar="NATS",
    help="The most that a token may tell it once that is spent. 0",
)
@click.option(
    "--personalisation", help="What of your texts is read; listed below. bm25"
)
@click.option(
    "--lora",
    metavar="NAME",
    help="A personal adapter, by its name or path; 'off' for none. off",
)
def write_command(request: str, **options: Any) -> None:
    """Write what REQUEST asks for, in your voice.

    Only the text goes to stdout; one line goes to stderr. What is piped in, and what is
    replied to, is read as private notes: the device alone sees it.

    \b
        specsteer write --to Ana "Thank her for the photos" > letter.txt
        specsteer write --task review --to "Harbour Cafe" "Good soup, slow service"
        specsteer write --to Ben "Answer him" < his-mail.txt

    Put -- before a request that begins with a dash.
    """
    _check(options)
    settings = read_settings()
    if options["token"]:
        settings = replace(settings, token=options["token"])
    if options["engine"]:
        from models.running.loading import check_engine  # --help does without

        settings = replace(settings, engine=check_engine(options["engine"]))
    if options["token_in_clear"]:
        settings = replace(settings, token_in_clear=True)
    if options["cadence"] is not None:
        settings = replace(settings, cadence=options["cadence"])
    for name in ("privacy_budget", "privacy_mixture"):
        if options[name] is not None:
            settings = replace(settings, **{name: options[name]})
    wanted = _write_request(request, options, settings)
    build(wanted.settings)  # an unknown method is refused before any model is loaded
    personalisation.build(wanted.personalisation)
    output = Output(
        wanted,
        as_json=options["as_json"],
        plain=options["plain"],
        verbose=options["verbose"],
    )
    with (
        _recorder(wanted, options) as recorder,
        stoppable() as stop,
        closing(_service(settings, options)) as service,
        closing(output),
    ):
        output.warn_of_no_history(service.counts())
        add = output.add if recorder is None else emit_to(recorder.add, output.add)
        service.write(wanted, add, stop)
    if stop.is_set():
        sys.exit(STOPPED)


def _recorder(
    wanted: WriteRequest, options: dict[str, Any]
) -> AbstractContextManager[Recorder | None]:
    if options["record"] is None:
        return nullcontext()
    from edge_app.service.tape import Recorder

    return Recorder(options["record"], wanted.brief, samples=options["sample"])


def _check(options: dict[str, Any]) -> None:
    if options["offline"] and options["no_offline"]:
        raise click.UsageError("--offline and --no-offline exclude each other")
    if options["server"] and options["generalist"]:
        raise click.UsageError(
            "--generalist is for the server that is started here, and --server names "
            "another"
        )
    if options["max_tokens"] < 1:
        raise InvalidSettingsError("--max-tokens must be at least 1")


def _service(settings: Settings, options: dict[str, Any]) -> WritingService:
    # llama.cpp takes 0.2 s to load, which --help does without.
    from edge_app.commands.service_config import service_config
    from edge_app.service.service import WritingService

    server = options["server"]
    if options["generalist"]:
        server = ""  # also where the settings name one
    return WritingService(
        service_config(
            settings,
            server=server,
            specialist=options["specialist"],
            generalist=options["generalist"],
            lora=options["lora"],
            sample=options["sample"],
        )
    )


def _write_request(
    request: str, options: dict[str, Any], defaults: Settings
) -> WriteRequest:
    if not request.strip():
        raise InvalidSettingsError("the request is empty; say what the text should say")
    piped = ""
    if not sys.stdin.isatty():
        try:
            # Bytes: the locale may decode what is not UTF-8 without a word.
            piped = sys.stdin.buffer.read().decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            wrong = "what is piped in is not text in UTF-8"
            raise InvalidSettingsError(wrong) from error
    names = (
        *("method", "base", "threshold", "strength", "draft_length", "window"),
        *("costeer_steps", "costeer_alpha", "costeer_lambda", "costeer_eta"),
        *("temperature", "top_p", "seed"),
    )
    chosen = {name: options[name] for name in names if options[name] is not None}
    return WriteRequest(
        Request(request, options["task"], _recipient(options)),
        background=piped,
        reply_to=options["reply_to"],
        settings=replace(defaults.method, **chosen),
        max_tokens=options["max_tokens"],
        use_history=not options["no_history"],
        personalisation=options["personalisation"] or defaults.personalisation,
        offline=options["offline"],
        may_go_offline=not options["no_offline"],
        guard=options["guard"] or defaults.guard,
        weighs=options["record"] is not None,
        ask=ask_in_terminal if sys.stdin.isatty() and sys.stderr.isatty() else None,
    )


def ask_in_terminal(held: HeldBack) -> MayLeave:
    """Ask the person whether what the guard found may leave; no is the default."""
    question = (
        f"{held.kind}: may '{held.text.strip()}' leave? ({held.reason}; else the "
        f"server reads '{held.stand_in.strip()}')"
    )
    click.echo(err=True)
    answer: MayLeave = choose(question, get_args(MayLeave))
    return answer


def _recipient(options: dict[str, Any]) -> str:
    """Whom the text is for: whom --to names, else who wrote what is replied to."""
    number, named = options["reply_to"], str(options["recipient"])
    if number is None:
        return named
    sample = options["sample"]
    with Store.open(sample_store_path() if sample else store_path()) as store:
        if sample:
            make_ready(store)
        letter = store.received(number)
        sender = "" if letter is None else sender_of(store, letter)
    if letter is None:
        raise InvalidSettingsError(
            f"no received text has the number {number}: 'specsteer search --received "
            "WORDS' shows the numbers"
        )
    if len(letter.text) > LONGEST_LETTER:
        click.echo("only the beginning of the letter is read: it is long", err=True)
    if not named:
        return sender if options["task"] == "email" else ""
    if not is_to(named, *parted(sender)):
        click.echo(
            f"this is written to {named}, as --to says; the letter that it answers is "
            f"from {sender}",
            err=True,
        )
    return named


@click.command("demo", cls=Command)
@click.option("--seed", type=int, default=4, show_default=True)
def demo_command(seed: int) -> None:
    """Write a letter from sample letters, and say how it came about.

    The sample letters go into a store of their own. A server is started on loopback
    and ends with the command.
    """
    # llama.cpp takes 0.2 s to load, which --help does without.
    from edge_app.commands.service_config import service_config
    from edge_app.service.service import WritingService

    settings = read_settings()
    request = WriteRequest(
        Request(sample.REQUEST, "email", sample.RECIPIENT),
        settings=replace(settings.method, seed=seed),
        max_tokens=200,
    )
    chosen = service_config(settings, server="", sample=True)
    with Store.open(chosen.store) as store:
        click.echo(f"sample letters: {make_ready(store)}")
    click.echo(f"request: to {sample.RECIPIENT}: {sample.REQUEST}\n")
    output = Output(request, as_json=False, plain=False, verbose=True, aside=False)
    with (
        stoppable() as stop,
        closing(WritingService(chosen)) as service,
        closing(output),
    ):
        service.write(request, output.add, stop)
    if stop.is_set():
        sys.exit(STOPPED)
    click.echo("\nread for it, on this device alone:")
    for source in output.sources:
        click.echo(f"  {source.score:5.2f}  {one_line(source.title)}")


@click.command("replay", cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--plain", is_flag=True, help="A line per event, also in a terminal.")
@click.option(
    "--speed",
    type=click.FloatRange(0, min_open=True),
    default=1.0,
    show_default=True,
    help="How many times as fast as it was.",
)
@click.option(
    "--redact",
    "out",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Write a copy without any word of yours to a new file, for a bug report.",
)
@click.option("--yes", is_flag=True, help="Do not ask before OUT is written.")
def replay_command(
    file: Path, plain: bool, speed: float, out: Path | None, yes: bool
) -> None:
    """Play what was recorded with --record: no model runs, and nothing is sent.

    In a terminal the app shows it as it happened; in a pipe it is a line per event.

    A tape holds your text and the letters that were read. What --redact writes holds
    letters as x and digits as 0, and neither ids nor bytes that were sent; it is shown
    before it is written.

    \b
        specsteer write --record letter.jsonl --to Ana "Thank her for the photos"
        specsteer replay letter.jsonl
        specsteer replay letter.jsonl --redact report.jsonl
    """
    from edge_app.service.tape import new_file, read_tape, redacted

    tape = read_tape(file)
    if out is not None:
        masked = redacted(tape)
        for line in masked.lines():
            click.echo(line)
        if not yes:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise click.UsageError("nobody is there to ask: look at it, then --yes")
            if not confirm(f"write these lines to {out}?"):
                raise click.Abort
        with new_file(out) as written:
            written.writelines(line.encode() + b"\n" for line in masked.lines())
        click.echo(f"written to {one_line(str(out))}; send that file", err=True)
    elif plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        for line in lines_of(tape):
            click.echo(line)
    else:
        from edge_app.tui.app import ReplayApp  # Textual takes 0.2 s to load

        sys.exit(ReplayApp(tape, speed).play())


def lines_of(tape: Tape) -> Iterator[str]:
    """The tape in words, a line for each event; tokens that were drafted one after the
    other stand in one."""
    if tape.request.text:
        whom = f" for {tape.request.recipient}" if tape.request.recipient else ""
        yield one_line(f"asked for: {tape.request.task}{whom}: {tape.request.text}")
    for drafts, together in groupby(
        tape.recorded, key=lambda one: isinstance(one.event, Drafted)
    ):
        found = list(together)
        for line in [_drafted(found)] if drafts else map(_line, found):
            if line:
                yield one_line(line)


def _drafted(found: list[Recorded]) -> str:
    texts = [one.event.text for one in found if isinstance(one.event, Drafted)]
    return _said(found[0].at, f"drafted {len(texts)}: {_quoted(''.join(texts))}")


def _line(one: Recorded) -> str:
    words = _words(one.event)
    return _said(one.at, words) if words else ""


def _said(at: float, words: str) -> str:
    return f"{at:8.2f} s  {words}"


def _quoted(text: str) -> str:
    return repr(text)[1:-1].join("“”")


def _words(event: Event) -> str:
    """What an event says, in one line; empty for one that a person need not know."""
    match event:
        case SourcesFound(sources):
            titles = "; ".join(source.title for source in sources)
            return f"read {len(sources)} texts: {titles}" if titles else "read no text"
        case Opened(verifier, local):
            return "no checker takes part" if local else f"the checker is {verifier}"
        case Sent():
            return f"sent {event.size:,} bytes: {event.what}"
        case Received():
            return f"received {event.size:,} bytes: {event.what}"
        case Reckoned():
            return f"told {event.nats:.2f} nats, {event.total:.2f} in all"
        case Verified():
            refused = _quoted("".join(event.refused))
            kept = f"kept {event.accepted} of {event.drafted}"
            return f"{kept}, not kept {refused}" if event.refused else kept
        case Settled(tokens):
            return "settled " + ", ".join(
                f"{_quoted(''.join(token.text for token in run))} {origin}"
                for origin, run in groupby(tokens, key=lambda token: token.origin)
            )
        case HeldBack():
            return f"held back {_quoted(event.text)} ({event.kind})"
        case Notice(text):
            return f"said: {text}"
        case Finished(reason, statistics):
            speed = f"{statistics.tokens_per_second:.1f} tokens a second"
            return f"finished: {reason}; {speed}"
        case _:
            return ""
