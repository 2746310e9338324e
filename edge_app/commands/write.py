"""`specsteer write`, `demo` and `replay`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import legible, one_line
from decoding_core.methods import available, build, summary
from decoding_core.settings import BasePlace
from decoding_core.verifier import role_of
from edge_app import sample
from edge_app.commands import options, terminal
from edge_app.commands.output import Output
from edge_app.commands.service_config import config_of
from edge_app.commands.terminal import STOPPED, note, stoppable
from edge_app.config.settings import Settings, read_settings
from edge_app.decoding import events
from edge_app.retrieval import personalisation
from edge_app.retrieval.naming import parted
from edge_app.service.answering import LONGEST_LETTER, addressed, recipient_of
from edge_app.service.last_draft import LastDraft, keep_last_draft, read_last_draft
from edge_app.service.requests import MOST_TRIES, MayLeave, WriteRequest
from models.command_line import Command, choose, confirm, shows_all
from models.prompts import TASKS, Request
from models.revising import Revision, revised
from personal_store.text.greetings import is_to

if TYPE_CHECKING:
    from edge_app.service.service import WritingService
    from edge_app.service.tape import Tape

_OF_SETTINGS = (
    *("token", "token_in_clear", "cadence", "privacy_budget", "privacy_mixture"),
    "personalisation",
)
"""Options that stand for a line of settings.toml."""
_OF_METHOD = (
    *("method", "base", "threshold", "strength", "draft_length", "window"),
    *("costeer_steps", "costeer_alpha", "costeer_lambda", "costeer_eta"),
    *("temperature", "top_p", "seed"),
)
"""Those that stand for a line of its table [method]."""


class _NumberOrAuto(click.ParamType["float | str"]):
    """A number, or `auto`."""

    name = "number"

    def __init__(self, number: type[int] | type[float]) -> None:
        self._number = number

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | str:
        """The number that was typed."""
        try:
            return "auto" if value == "auto" else self._number(value)
        except ValueError:
            kind = "whole number" if self._number is int else "number"
            self.fail(f"'{value}' is neither a {kind} nor 'auto'.", param, ctx)


class _Write(Command):
    """Lists the methods and the personalisations below all options."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if not shows_all(ctx):
            return
        for title, names, say in (
            ("Methods", available(), summary),
            ("Personalisations", personalisation.available(), personalisation.summary),
        ):
            with formatter.section(title):
                formatter.write_dl([(name, say(name)) for name in names])


@click.command("write", cls=_Write)
@click.argument("request", default="")
@options.shown_option(
    "--task", type=click.Choice(TASKS), default="email", help="What kind of text it is."
)
@click.option(
    "--to",
    "recipient",
    default="",
    shell_complete=options.complete_people,
    help="Whom it is for, or a review is of.",
)
@click.option(
    "--reply-to",
    type=click.IntRange(1),
    metavar="ID",
    help="Answer this text, as 'search --received' numbers it, to who wrote it.",
)
@click.option(
    "--again",
    metavar="WORDS",
    help="Change the last draft: 'shorter', 'drop the ferret', 'mention the tape'.",
)
@options.shown_option(
    "--tries",
    type=click.IntRange(1, MOST_TRIES),
    default=1,
    help="Write so many drafts at once, and show the best.",
)
@options.length
@options.offline
@options.sample
@options.as_json
@click.option("-v", "--verbose", is_flag=True, help="Say all figures, too.")
@options.shown_option(
    "--max-tokens", type=int, default=300, help="Where the text is cut at the latest."
)
@click.option(
    "--draft",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The text that --again changes, in place of the last draft.",
)
@click.option(
    "--seed",
    type=int,
    help="The same number gives the same text again, on the same machine.",
)
@options.no_history
@options.no_offline
@options.guard
@options.server
@click.option(
    "--check/--no-check",
    default=None,
    help="List facts that are not from you, or missing. on in a terminal",
)
@click.option("--plain", is_flag=True, help="A line per sentence, for screen readers.")
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep all that happens in a new file, which 'specsteer replay' plays.",
)
@click.option("--temperature", type=float, help="0 always takes the likeliest. 0.4")
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
    default=None,
    help="Send it to an http address, too: you know who listens there.",
)
@options.specialist
@options.generalist
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
@options.lora
def write_command(request: str, **chosen: Any) -> None:
    """Write what REQUEST asks for, in your voice.

    Only the text goes to stdout; one line goes to stderr. What is piped in, and what is
    replied to, is read as private notes: the device alone sees it.

    \b
        specsteer write --to Ana "Thank her for the photos" > letter.txt
        specsteer write --task review --to "Harbour Cafe" "Good soup, slow service"
        specsteer write --to Ben "Answer him" < his-mail.txt

    --again keeps what it is not asked to change. The last draft lies beside the store.

    \b
        specsteer write --again "drop the ferret, and say Tuesday instead of Monday"

    Put -- before a request that begins with a dash.
    """
    options.check_exclusive(chosen)
    if chosen["max_tokens"] < 1:
        raise InvalidSettingsError("--max-tokens must be at least 1")
    given = {name: chosen[name] for name in _OF_SETTINGS if chosen[name] is not None}
    if chosen["engine"]:
        from models.running.loading import check_engine  # --help does without

        given["engine"] = check_engine(chosen["engine"])
    settings = replace(read_settings(), **given)
    wanted, revision, stood = _write_request(request, chosen, settings), None, ""
    if chosen["again"] is not None:
        wanted, revision, stood = _revised(wanted, chosen)
    if chosen["record"] is not None and (revision or chosen["tries"] > 1):
        raise click.UsageError("--record is for one text, and this tries several")
    method = build(wanted.settings)  # refused before any model is loaded
    personalisation.check(wanted.personalisation)
    output = Output(
        wanted,
        as_json=chosen["as_json"],
        plain=chosen["plain"],
        verbose=chosen["verbose"],
        revision=revision,
        stood=stood,
    )
    if revision is not None and not revision.stood:
        output.add(events.Finished("end", events.Statistics()))
        output.close()
        _keep(wanted, output.text, chosen)
        return
    with ExitStack() as opened:
        readers = [output.add]
        if chosen["record"] is not None:
            from edge_app.service.tape import Recorder  # pydantic takes 0.1 s to load

            tape = Recorder(chosen["record"], wanted.brief, samples=chosen["sample"])
            opened.enter_context(closing(tape))
            readers.insert(0, tape.add)
        stop = opened.enter_context(stoppable())
        role = role_of(wanted.settings.terms(), method)
        alone = wanted.offline or not role.uses_generalist
        one_text = revision is None and chosen["tries"] == 1
        service = _service(settings, chosen, alone=alone, one_text=one_text)
        opened.enter_context(closing(service))
        opened.enter_context(closing(output))
        output.warn_of_no_history(service.counts())
        checks = chosen["check"]
        if checks or (checks is None and (chosen["as_json"] or sys.stderr.isatty())):
            output.checker = service.checker
        if one_text:
            service.write(wanted, events.emit_to(*readers), stop)
        else:
            if revision is not None:
                found = service.write_revision(wanted, revision, stop)
            else:
                requests = wanted.tries(chosen["tries"])
                heard: list[list[events.Event]] = [[] for _ in requests]
                emits = [one.append for one in heard]
                order = service.write_best(requests, emits, stop)
                found = [(requests[at], heard[at]) for at in order]
            (_, best), *others = found
            for other in others:
                output.add_other(*other)
            for event in best:
                output.add(event)
    if output.text.strip():
        _keep(wanted, output.text, chosen)
    if stop.is_set():
        sys.exit(STOPPED)


def _revised(
    wanted: WriteRequest, chosen: dict[str, Any]
) -> tuple[WriteRequest, Revision, str]:
    """The request of the draft that --again changes with what this command says, what
    is to become of the draft, and how it stood."""
    if chosen["draft"] is not None:
        stood = chosen["draft"].read_text("utf-8", "replace").replace("\r\n", "\n")
    else:
        last = read_last_draft()
        if wanted.brief.text:
            raise click.UsageError("the last draft has its request: leave REQUEST out")
        stood, before = last.text, last.request
        chosen["sample"] = chosen["sample"] or last.samples
        wanted = replace(
            wanted,
            brief=before.brief,
            background=wanted.background or before.background,
            reply_to=before.reply_to,
            use_history=wanted.use_history and before.use_history,
            offline=wanted.offline or before.offline,
            guard=chosen["guard"] or before.guard,
            may_go_offline=wanted.may_go_offline and before.may_go_offline,
        )
    notes = wanted.background
    revision = revised(wanted.brief, legible(stood), chosen["again"], notes)
    return replace(wanted, brief=revision.brief), revision, stood


def _keep(request: WriteRequest, text: str, chosen: dict[str, Any]) -> None:
    """Keep a draft for --again; it is there for nothing else, so a disk that refuses it
    ends no command."""
    try:
        keep_last_draft(LastDraft(request, text, chosen["sample"]))
    except OSError as error:
        note(f"the draft is not kept for --again: {error.strerror}")


def _service(
    settings: Settings, chosen: dict[str, Any], *, one_text: bool, alone: bool = False
) -> WritingService:
    """The service of a command, and the server that it needs unless it writes `alone`
    or another is set: both start at once."""
    # llama.cpp takes 0.2 s to load, which --help does without.
    from edge_app.transport.child_server import ChildServer

    config, child = config_of(settings, chosen), None
    if not (alone or config.settings.server):
        files = config.generalist, config.specialist
        child = ChildServer(*files, config.engine, one_text=one_text)
    from edge_app.service.service import WritingService

    return WritingService(config, child)


def _write_request(
    request: str, chosen: dict[str, Any], defaults: Settings
) -> WriteRequest:
    if not request.strip() and chosen["again"] is None:
        raise InvalidSettingsError("the request is empty; say what the text should say")
    if chosen["draft"] is not None and chosen["again"] is None:
        raise click.UsageError("--draft goes with --again, which says what to change")
    piped = "" if sys.stdin.isatty() else terminal.read_stdin().replace("\r\n", "\n")
    given = {name: chosen[name] for name in _OF_METHOD if chosen[name] is not None}
    return WriteRequest(
        Request(request, chosen["task"], _recipient(chosen)),
        background=piped,
        reply_to=chosen["reply_to"],
        settings=replace(defaults.method, **given),
        names_base=chosen["base"] is not None,
        max_tokens=chosen["max_tokens"],
        use_history=not chosen["no_history"],
        personalisation=defaults.personalisation,
        offline=chosen["offline"],
        may_go_offline=not chosen["no_offline"],
        guard=chosen["guard"] or defaults.guard,
        weighs=chosen["record"] is not None,
        length=chosen["length"],
        moves=chosen["threshold"] is chosen["strength"] is None,
        ask=ask_in_terminal if terminal.is_interactive() else None,
    )


def ask_in_terminal(held: events.HeldBack) -> MayLeave:
    """Ask the person whether what the guard found may leave; no is the default."""
    question = (
        f"{held.kind}: may '{held.text.strip()}' leave? ({held.reason}; else the "
        f"server reads '{held.stand_in.strip()}')"
    )
    click.echo(err=True)
    answer: MayLeave = choose(question, get_args(MayLeave))
    return answer


def _recipient(chosen: dict[str, Any]) -> str:
    """Whom --to names, else the sender of the text that is replied to."""
    number, named = chosen["reply_to"], str(chosen["recipient"])
    if number is None:
        return named
    with options.opened_store(chosen["sample"]) as store:
        letter = store.received(number)
        if letter is None:
            raise InvalidSettingsError(
                f"no received text has the number {number}: 'specsteer search "
                "--received WORDS' shows the numbers"
            )
        answered = recipient_of(store, letter)
    if len(letter.text) > LONGEST_LETTER:
        note("only the beginning of the letter is read: it is long")
    if not named:
        if letter.answer_to and chosen["task"] == "email":
            note(f"the answer goes to {answered}, as the letter asks")
        return answered if chosen["task"] == "email" else ""
    if not is_to(named, *parted(answered)):
        note(
            f"this is written to {named}, as --to says; the letter that it answers is "
            f"from {addressed(letter.sender_name, letter.sender)}"
        )
    return named


@click.command("demo", cls=Command)
@options.shown_option("--seed", type=int, default=4)
def demo_command(seed: int) -> None:
    """Write a letter from sample letters, and say how it came about.

    The sample letters go into a store of their own. A server is started on loopback
    and ends with the command.
    """
    settings = read_settings()
    request = WriteRequest(
        Request(sample.REQUEST, "email", sample.RECIPIENT),
        settings=replace(settings.method, seed=seed),
        max_tokens=200,
    )
    service = _service(settings, {"server": "", "sample": True}, one_text=True)
    with options.opened_store(sample=True) as store:
        click.echo(f"sample letters: {sample.make_ready(store)}")
    click.echo(f"request: to {sample.RECIPIENT}: {sample.REQUEST}\n")
    output = Output(request, verbose=True, aside=False)
    with stoppable() as stop, closing(service), closing(output):
        service.write(request, output.add, stop)
    if stop.is_set():
        sys.exit(STOPPED)
    click.echo("\nread for it, on this device alone:")
    for source in output.sources:
        click.echo(f"  {source.score:5.2f}  {one_line(source.title)}")


@click.command("replay", cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--plain", is_flag=True, help="A line per event, also in a terminal.")
@options.shown_option(
    "--speed",
    type=click.FloatRange(0, min_open=True),
    default=1.0,
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
            if not terminal.is_interactive():
                raise click.UsageError("nobody is there to ask: look at it, then --yes")
            if not confirm(f"write these lines to {out}?"):
                raise click.Abort
        with new_file(out) as written:
            written.writelines(line.encode() + b"\n" for line in masked.lines())
        note(f"written to {one_line(str(out))}; send that file")
    elif plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        for line in lines_of(tape):
            click.echo(line)
    else:
        from edge_app.tui.app import ReplayApp, run_app  # Textual takes 0.2 s to load

        sys.exit(run_app(ReplayApp(tape, speed)))


def lines_of(tape: Tape) -> Iterator[str]:
    """A line for each event of a tape; tokens drafted in a row share one."""
    if tape.request.text:
        whom = f" for {tape.request.recipient}" if tape.request.recipient else ""
        yield one_line(f"asked for: {tape.request.task}{whom}: {tape.request.text}")
    for drafts, together in groupby(
        tape.recorded, key=lambda one: isinstance(one.event, events.Drafted)
    ):
        run = list(together)
        said = [(one.at, _in_a_line(one.event)) for one in run]
        if drafts:
            text = "".join(words for _, words in said)
            said = [(run[0].at, f"drafted {len(run)}: {_quoted(text)}")]
        yield from (one_line(f"{at:8.2f} s  {words}") for at, words in said if words)


def _quoted(text: str) -> str:
    return repr(text)[1:-1].join("“”")


def _in_a_line(event: events.Event) -> str:
    """An event in words; empty for one that a person need not know."""
    match event:
        case events.SourcesFound(sources):
            titles = "; ".join(source.title for source in sources)
            return f"read {len(sources)} texts: {titles}" if titles else "read no text"
        case events.Opened(verifier, local):
            return "no checker takes part" if local else f"the checker is {verifier}"
        case events.Drafted(_, text):
            return text
        case events.Sent():
            return f"sent {event.size:,} bytes: {event.what}"
        case events.Received():
            return f"received {event.size:,} bytes: {event.what}"
        case events.PrivacySpent():
            return f"told {event.nats:.2f} nats, {event.total:.2f} in all"
        case events.Verified():
            refused = _quoted("".join(event.refused))
            kept = f"kept {event.accepted} of {event.drafted}"
            return f"{kept}, not kept {refused}" if event.refused else kept
        case events.Settled(tokens):
            return "settled " + ", ".join(
                f"{_quoted(''.join(token.text for token in run))} {origin}"
                for origin, run in groupby(tokens, key=lambda token: token.origin)
            )
        case events.HeldBack():
            return f"held back {_quoted(event.text)} ({event.kind})"
        case events.Notice(text):
            return f"said: {text}"
        case events.Finished(reason, statistics):
            speed = f"{statistics.tokens_per_second:.1f} tokens a second"
            return f"finished: {reason}; {speed}"
        case _:
            return ""
