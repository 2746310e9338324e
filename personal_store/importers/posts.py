"""Posts and notes: LinkedIn, Mastodon, Reddit, YouTube and Google Keep."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from personal_store.cleaning.cleaning import tidy
from personal_store.files import Source
from personal_store.importers.exports import (
    FEWEST_WORDS,
    WITHOUT_TEXT,
    Service,
    Shape,
    TalkService,
    addressed,
    digest,
    each,
    identity,
    is_gone,
    placed,
    prose,
    written,
)
from personal_store.importers.structured import (
    NO_OBJECT,
    Element,
    Row,
    beginning,
    columns,
    content,
    elements,
    fields,
    has_columns,
    listing,
    mapping,
    plain,
    rows,
    text,
)
from personal_store.records import Document, ImportFailure, Item
from personal_store.text.dates import parse_date

# LinkedIn: Shares.csv, Comments.csv and messages.csv, sometimes with the member's
# number behind the name. Comments write a quotation mark as \", the others double it;
# some exports put marks around each line break of a share. Messages are signed with
# names: the owner's stands in Profile.csv, else --me says it; messages by others are
# kept as theirs. Of Invitations.csv those are read that went out. Recommendations that
# were given and those that were received have the same columns, so only the name of the
# file distinguishes them.

_MESSAGES = (("conversationid",), ("from",), ("content",))
_YES = frozenset({"yes", "true", "1"})
_GIVEN = re.compile(r"recommendations[ _]given", re.IGNORECASE)


def _read_linkedin(file: Source) -> Iterator[Item]:
    head = file.head()
    makers = (make for columns, make in _TABLES.items() if has_columns(head, *columns))
    make = next(makers, _comment)
    if make is _given and not _GIVEN.match(file.name):
        return each(rows(file), lambda _: "recommendations by others")
    return each(rows(file, escape="\\" if make is _comment else None), make)


def _share(row: Row) -> Document | str:
    said = prose(row.get("sharecommentary").replace('"\n"', "\n"))
    own_id = row.get("sharelink") or digest(row.get("date"), said)
    return _linkedin_post(row, said, own_id)


def _comment(row: Row) -> Document | str:
    said = prose(row.get("message"))
    return _linkedin_post(row, said, digest(row.get("date"), row.get("link"), said))


def _linkedin_post(row: Row, said: str, own_id: str) -> Document | str:
    key, date = f"linkedin:{own_id}", row.get("date")
    return written(key, "post", said, date, thread=row.get("sharelink", "link"))


def _message(row: Row) -> Document | str:
    drafted = {row.get(n).lower() for n in ("ismessagedraft", "isconversationdraft")}
    if row.get("folder").upper().startswith("DRAFT") or _YES & drafted:
        return "drafts"
    said, name = prose(row.get("content")), row.get("from")
    talk, date = row.get("conversationid"), row.get("date")
    message = written(
        digest("linkedin", talk, date, name, said),
        *("message", said, date),
        fewest=FEWEST_WORDS,
        title=prose(row.get("subject")),
        recipient=row.get("to", "conversationtitle"),
        sender=identity("linkedin", name),
        thread=f"linkedin:{talk}" if talk else "",
    )
    return message if name or isinstance(message, str) else "messages without a name"


def _invitation(row: Row) -> Document | str:
    if row.get("direction").upper() != "OUTGOING":
        return "invitations by others"
    said, date, to = prose(row.get("message")), row.get("sentat"), row.get("to")
    key = digest("linkedin", "invitation", date, to, said)
    return written(key, "message", said, date, fewest=FEWEST_WORDS, recipient=to)


def _given(row: Row) -> Document | str:
    date, person = row.get("creationdate"), _person(row)
    key = digest("linkedin", "recommendation", person, date)
    return written(key, "post", prose(row.get("text")), date, recipient=person)


_TABLES: dict[tuple[tuple[str, ...], ...], Callable[[Row], Document | str]] = {
    (("sharecommentary",), ("sharelink", "date")): _share,
    _MESSAGES: _message,
    (("message",), ("direction",), ("sentat",)): _invitation,
    (("firstname",), ("text",), ("status", "creationdate")): _given,
    (("link",), ("message",), ("date",)): _comment,
}
"""How a row is read by the columns of its table: at least one of each group."""


def _person(row: Row) -> str:
    return f"{row.get('firstname')} {row.get('lastname')}".strip()


def _writers(file: Source) -> Iterator[str]:
    if has_columns(file.head(), *_MESSAGES):
        signed = (row.get("from") for row in rows(file) if isinstance(row, Row))
        yield from filter(None, signed)


linkedin = TalkService(
    Shape(
        "Shares.csv, Comments.csv or messages.csv of LinkedIn",
        r"(?:shares|comments|messages|invitations)(?:\b|_\d).*\.csv"
        r"|recommendations[ _]given.*\.csv",
        lambda head: any(has_columns(head, *columns) for columns in _TABLES),
    ),
    _read_linkedin,
    Shape(
        "Profile.csv of LinkedIn",
        r"profile.*\.csv",
        columns("firstname", "lastname", "headline summary"),
    ),
    lambda file: [_person(row) for row in rows(file) if isinstance(row, Row)][:1],
    name="linkedin",
    writers=_writers,
)


# Mastodon: outbox.json, the ActivityPub outbox. Boosts are skipped. The people a post
# begins with are its recipient, not its text; a post for nobody but the people it names
# is a message. The warning before a text is its title.

_INLINE_QUOTE = re.compile(r"<(p|span) class=\"quote-inline\">.*?</\1>", re.DOTALL)
_OPEN = re.compile(r"#Public\Z|\A(?:as:)?Public\Z|/followers\Z")


def _toot(element: Element) -> Document | str:
    if element.get("type") != "Create":
        return "posts of others"
    note = mapping(element.get("object"))
    to, said = addressed(prose(_INLINE_QUOTE.sub("", text(note.get("content")))))
    own_id, date = text(note.get("id")), note.get("published")
    # A post for everybody or all followers; also assumed if nothing says for whom.
    readers = [note.get("to"), note.get("cc")]
    names = [n for r in readers for n in (r if isinstance(r, list) else [r]) if n]
    is_open = not names or any(_OPEN.search(n) for n in names if isinstance(n, str))
    answered = text(note.get("inReplyTo"))
    return written(
        f"mastodon:{own_id}" if own_id else digest("mastodon", date, said),
        "post" if is_open else "message",
        said,
        date,
        title=prose(note.get("summary")),
        recipient=to,
        thread=text(note.get("conversation") or note.get("context")),
        reply_to=f"mastodon:{answered}" if answered else "",
        trimmed="<blockquote" in text(note.get("content")),
    )


mastodon = Service(
    Shape("outbox.json of Mastodon", r"outbox.*\.json", fields("orderedItems")),
    lambda file: each(elements(file, "orderedItems"), _toot),
    Shape(
        "actor.json of Mastodon", r"actor\.json", fields("preferredUsername", "outbox")
    ),
    lambda file: [text(mapping(content(file)).get("id"))],
)


# Reddit: posts.csv and comments.csv of its data request. Lines that quote somebody, and
# what was deleted, are left out. Messages are not read.

_REDDIT_MARKS = re.compile(
    r"&#x200b;|&#8203;|\u200b|!\[(?:gif|img)\]\([^()\s]*\)"
    r"|^\*?processing (?:img|gif|video) \S+\*?$",
    re.IGNORECASE | re.MULTILINE,
)
"""What its editor leaves of blank lines, escaped once more, and of pictures."""
_REDDIT_QUOTE = re.compile(r"^\s{0,3}>(?!!).*\n?", re.MULTILINE)  # but no >!spoiler!<


def _read_reddit(file: Source) -> Iterator[Item]:
    kind = "t1" if has_columns(file.head(), ("parent",)) else "t3"
    return each(rows(file), lambda row: _reddit_text(row, kind))


def _reddit_text(row: Row, kind: str) -> Document | str:
    whole = tidy(_REDDIT_MARKS.sub("", prose(row.get("body")))).strip()
    if is_gone(whole):
        return "deleted"
    said = _REDDIT_QUOTE.sub("", whole).strip()
    title = prose(row.get("title"))
    own_id, date = row.get("id").removeprefix(f"{kind}_"), row.get("date")
    return written(
        f"reddit:{kind}_{own_id}" if own_id else digest("reddit", kind, date, said),
        *("post", said, date),
        title="" if is_gone(title) else title,
        recipient=f"r/{row.get('subreddit')}" if row.get("subreddit") else "",
        thread=row.get("link", "permalink"),
        reply_to=row.get("parent"),
        trimmed=said != whole,
    )


def _reddit_owner(file: Source) -> Iterator[str]:
    """The name of the account, which the texts do not say."""
    for row in rows(file):
        if isinstance(row, Row) and row.get("statistic") == "account name":
            yield row.get("value")


reddit = Service(
    Shape(
        "posts.csv or comments.csv of Reddit",
        r".*\.csv",
        columns("id", "permalink", "subreddit", "body", "parent title"),
    ),
    _read_reddit,
    Shape(
        "statistics.csv of Reddit", r"statistics\.csv", columns("statistic", "value")
    ),
    _reddit_owner,
)


# YouTube: comments.csv and live chats.csv from Takeout. The text is JSON: a list of
# runs under "takeoutSegments" until June 2024, since then the runs alone with commas
# between them; in English plain text is taken as well. The names of the columns, like
# that of the file, are in the person's language: those in English are known, else the
# columns are found by what is in them and by their order, the same in all languages.

_CHANNEL = re.compile(r"UC[\w-]{22}")
_COLUMNS = range(6, 13)
"""How many columns a table of comments may have: as many as there have been, and some
more that may come."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """Names of columns, spelled as by `plain`; the first one filled counts."""

    id: tuple[str, ...] = ("commentid", "livechatid")
    text: tuple[str, ...] = ("commenttext", "livechattext")
    date: tuple[str, ...] = (
        *("commentcreatetimestamp", "livechatcreatetimestamp"),
        *("commentcreationtimestamp", "timestamp"),
    )
    parent: tuple[str, ...] = ("parentcommentid",)
    video: tuple[str, ...] = ("videoid", "postid")


_ENGLISH = _Columns()


def _columns(head: bytes) -> _Columns | None:
    """Which columns hold what; None if these are no comments."""
    if has_columns(head, _ENGLISH.id, _ENGLISH.text):
        return _ENGLISH
    names, *samples = beginning(head) or [[]]
    if len(names) not in _COLUMNS:
        return None
    for row in samples:
        # id, channel, time, price, then ids of what it answers, then the text
        places = range(5, len(row))
        found = next((at for at in places if _runs(row[at].strip()) is not None), 0)
        if found and _CHANNEL.fullmatch(row[1]) and parse_date(row[2]) is not None:
            named = [plain(name) for name in names]
            return _Columns(
                id=(named[0],),
                text=(named[found],),
                date=(named[2],),
                parent=(named[4],) if found > 5 else (),
                # a post of a channel has an id beside that of the video
                video=(named[found - 1], *named[5 : found - 1]),
            )
    return None


def _read_youtube(file: Source) -> Iterator[Item]:
    columns = _columns(file.head()) or _ENGLISH
    return each(rows(file), lambda row: _youtube_comment(row, columns))


def _youtube_comment(row: Row, columns: _Columns) -> Document | str:
    said = row.get(*columns.text)
    runs = _runs(said)
    if runs is not None:
        said = "".join(text(mapping(run).get("text")) for run in runs)
    said = tidy(said).strip()
    to, own = addressed(said) if row.get(*columns.parent) else ("", said)
    date, own_id = row.get(*columns.date), row.get(*columns.id)
    video = row.get(*columns.video)
    return written(
        f"youtube:{own_id}" if own_id else digest("youtube", date, said),
        *("post", own, date),
        recipient=to,
        thread=f"youtube:{video}" if video else "",
    )


def _runs(said: str) -> list[Any] | None:
    """What the JSON holds; None if the text is no JSON."""
    if not said.startswith("{"):
        return None
    try:
        found = json.loads(f"[{said}]", strict=False)
    except (ValueError, RecursionError):
        return None
    first = mapping(found[0])
    return listing(first["takeoutSegments"]) if "takeoutSegments" in first else found


youtube_comments = Service(
    Shape(
        "comments.csv of YouTube", r".*\.csv", lambda head: _columns(head) is not None
    ),
    _read_youtube,
)


# Google Keep: one JSON file per note from Takeout. The folder and the files have names
# in the person's language, so a note is recognised by its fields. Notes shared with
# others are left out: they may have written in them. Exports until 2021 have no date of
# creation; there the date of the last change counts, and a note that is changed later
# is another note.


def _read_keep(file: Source) -> Iterator[Item]:
    note = content(file)
    if isinstance(note, dict):
        yield placed(_note(note), file.size)
    else:
        yield ImportFailure(file.size, file.name, NO_OBJECT)


def _note(note: dict[str, Any]) -> Document | str:
    points = (mapping(point).get("text") for point in listing(note.get("listContent")))
    lines = [text(note.get("textContent"))]
    lines += [f"- {point}" for point in points if isinstance(point, str) and point]
    said = tidy("\n".join(lines)).strip()
    if note.get("isTrashed") is True:
        return "in the trash"
    if len(listing(note.get("sharees"))) > 1:
        return "notes shared with others"
    if not said:
        return WITHOUT_TEXT
    created, edited = map(note.get, ("createdTimestampUsec", "userEditedTimestampUsec"))
    title = tidy(text(note.get("title"))).strip()
    parts = ("created", created) if created else (edited, title, said)
    labels = (mapping(label).get("name") for label in listing(note.get("labels")))
    return Document(
        *(0, digest("keep", *parts), "note", said, title),
        sent_at=parse_date(created or edited),
        labels=tuple(label for label in labels if isinstance(label, str)),
    )


keep = Service(
    Shape(
        "note of Google Keep",
        r".*\.json",
        fields(
            "userEditedTimestampUsec createdTimestampUsec isTrashed",
            "textContent listContent isArchived",
        ),
    ),
    _read_keep,
)
