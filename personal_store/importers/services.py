"""Exports of services that hold one's own posts, notes and reviews, and little else.

Spellings of columns and fields are those that public parsers of these exports read.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from personal_store.cleaning.cleaning import tidy
from personal_store.errors import SourceError
from personal_store.files import Bundle, Source, bundled, locate
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
    number,
    plain,
    rows,
    text,
)
from personal_store.records import Document, ImportFailure, Item, ReadOptions
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


_ONLY_STARS = "ratings without text"
_OLDER = "older versions of a review"


# Amazon's "Request my data" holds all versions of a review; the newest of each product
# is taken. Only one public parser is known, which looks for two spellings of half of
# the columns, so several are accepted.

_TEXT = ("body", "reviewbody", "reviewtext", "content", "text")
_PRODUCT = ("productname", "itemname", "producttitle", "product")
_ID = ("asin", "productid", "itemid")
_STARS = ("starrating", "rating", "overallrating", "stars")
_CHANGED = ("lastmodifieddate", "lastupdateddate", "versiondate")
_WRITTEN = ("submissiondate", "reviewdate", "creationdate", "createddate", "date")
_TITLE = ("reviewtitle", "title", "headline", "reviewheadline")


def _read_amazon(file: Source) -> Iterator[Item]:
    newest: dict[str, tuple[int, int]] = {}
    for row in rows(file):
        if isinstance(row, Row):
            version = (parse_date(row.get(*_CHANGED, *_WRITTEN)) or 0, row.position)
            newest[_product(row)] = max(version, newest.get(_product(row), version))

    def review(row: Row) -> Document | str:
        if newest[_product(row)][1] != row.position:
            return _OLDER
        said = prose(row.get(*_TEXT))
        if not said:
            return _ONLY_STARS
        return Document(
            *(0, _product(row), "review", said, prose(row.get(*_TITLE))),
            recipient=prose(row.get(*_PRODUCT)),
            sent_at=parse_date(row.get(*_WRITTEN, *_CHANGED)),
            rating=number(row.get(*_STARS)),
        )

    return each(rows(file), review)


def _product(row: Row) -> str:
    """The key: one person writes one review of a product in a shop."""
    product = row.get(*_ID) or row.get(*_PRODUCT)
    if product:
        return digest("amazon", product, row.get("marketplace", "marketplaceid"))
    return digest("amazon", row.get(*_WRITTEN), row.get(*_TEXT))


amazon_reviews = Service(
    Shape(
        "CustomerReviews file of Amazon",
        r".*CustomerReviews.*\.csv",
        lambda head: has_columns(head, _TEXT, (*_PRODUCT, *_ID), (*_STARS, *_TITLE)),
    ),
    _read_amazon,
)


# Google Play: Reviews.json from Takeout. Maps has a file of the same name, so a file is
# recognised by its fields.


def _app_review(element: Element) -> Document | str:
    review = mapping(element.get("review")) or element.fields
    document = mapping(review.get("document") or review.get("doc"))
    said = prose(review.get("comment") or review.get("text"))
    if not said:
        return _ONLY_STARS
    app = text(document.get("title"))
    date = review.get("creationTime") or review.get("lastUpdateTime")
    own_id = document.get("documentId") or app
    parts = (own_id, document.get("documentType")) if own_id else (date, said)
    return Document(
        *(0, digest("play", *parts), "review", said, prose(review.get("title")), app),
        sent_at=parse_date(date),
        rating=number(review.get("starRating")),
    )


google_play = Service(
    Shape(
        "Reviews.json of Google Play",
        r".*\.json",
        fields("review", "comment starRating", "document title"),
    ),
    lambda file: each(elements(file, "reviews"), _app_review),
)


# Google Maps: Reviews.json from Takeout, in any of its spellings. The file has a name
# in the person's language, so it is recognised by its fields, which are English.
# What customers wrote to a business, in a file of the same name, has a `reviewer`.

_KEY = re.compile(rb'"([^"\\\n]{1,60})"\s*:')
_SIGNS = {"reviewtextpublished", "fivestarratingpublished", "reviewtext",
          "reviewcomment", "starrating"}  # fmt: skip
_LISTS = {"features", "geometry", "location", "googlemapsurl"}
_OTHERS = {"reviewer", "document", "asin"}
"""Fields of reviews by others, of apps, of articles in a shop."""
_MAPS_TEXT = ("reviewtextpublished", "reviewtext", "reviewcomment", "text", "comment")
_MAPS_STARS = ("fivestarratingpublished", "starrating", "rating", "stars")
_DATE = ("date", "published", "time", "created")
_URL = ("googlemapsurl", "url")
_PLACE = ("name", "businessname", "title", "address")
_WORDS = {"one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0}


class _GoogleReviews:
    """Reviews of places from Google Takeout."""

    def sources(self, path: Path) -> list[Source]:
        """The file itself, or the review files in a Takeout folder or zip."""
        return locate(path, _is_review_file, "Reviews.json")

    def read(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        """One document per place; of two reviews with the same key the last counts."""
        found = content(source)
        features = found.get("features") if isinstance(found, dict) else found
        if not isinstance(features, list):
            raise SourceError(
                f"{source.path} holds no reviews: Google's Reviews.json has a list "
                "'features'."
            )
        last = {_place_key(one): count for count, one in enumerate(features, 1)}
        for count, feature in enumerate(features, 1):
            position = source.size * count // len(features)
            if position <= options.start:
                continue
            newer = last[_place_key(feature)] != count
            try:
                yield placed(_OLDER if newer else _place_review(feature), position)
            except ValueError as error:
                where = f"{source.name}, review {count}"
                yield ImportFailure(position, where, str(error))


def _is_review_file(source: Source) -> bool:
    if not source.name.lower().endswith(".json"):
        return False
    found = (key.decode("utf-8", "replace") for key in _KEY.findall(source.head()))
    keys = {plain(key) for key in found}
    return bool(keys & _SIGNS and keys & _LISTS) and not keys & _OTHERS


def _place_review(feature: Any) -> Document | str:
    """Raises ValueError if it is no review."""
    if not isinstance(feature, dict):
        raise ValueError(NO_OBJECT)
    fields = _flat(feature)
    if "reviewer" in fields:
        return "reviews by others"
    written = _first(fields, _MAPS_TEXT)
    if written is not None and not isinstance(written, str):
        raise ValueError("its text is not a string")
    said = tidy(written or "")
    if not said:
        return _ONLY_STARS
    stars = _first(fields, _MAPS_STARS)
    if isinstance(stars, str):
        stars = _WORDS.get(stars.strip().casefold(), stars)
    return Document(
        *(0, _place_key(feature), "review", said),
        recipient=str(_first(fields, _PLACE) or ""),
        sent_at=parse_date(_first(fields, _DATE)),
        rating=number(stars),
    )


def _place_key(feature: Any) -> str:
    """The place: one person writes one review of it."""
    fields = _flat(feature) if isinstance(feature, dict) else {}
    url = _first(fields, _URL)
    if url:
        return f"maps:{url}"
    place = json.dumps([fields.get("coordinates"), _first(fields, _PLACE)])
    if place == "[null, null]":
        place = json.dumps(feature, sort_keys=True, default=str)
    return "maps:" + hashlib.sha256(place.encode()).hexdigest()


def _flat(feature: Mapping[str, Any]) -> dict[str, Any]:
    """All fields of a review, nested ones too, by a spelling without case and marks."""
    found: dict[str, Any] = {}
    for layer in (feature.get("geometry"), feature, feature.get("properties")):
        fields = [(plain(name), value) for name, value in mapping(layer).items()]
        found.update(fields)
        place = mapping(next((v for name, v in fields if name == "location"), None))
        found.update({plain(name): value for name, value in place.items()})
    return found


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((fields[n] for n in names if fields.get(n) not in (None, "")), None)


google_reviews = _GoogleReviews()


# Goodreads, StoryGraph and Letterboxd: a table with a row per book or film.


@dataclass(frozen=True, slots=True)
class _Library:
    """The table of one service; names of columns are spelled as by `plain`."""

    service: str
    review: str  # column with the review
    work: str  # column with the title of the book or film
    rating: str
    dates: tuple[str, ...]  # columns with the day of a review, the best first
    key: Callable[[Row, str], Sequence[object]]
    """(row, kind of text) to what says which text of which work it is."""
    note: str = ""  # column with notes for oneself

    def read_file(self, file: Source) -> Iterator[Item]:
        """A review, a note or both per work."""
        for row in rows(file):
            if isinstance(row, ImportFailure):
                yield row
                continue
            # The last item of a row carries its position, or a run that is cut in
            # between would skip it when it goes on.
            note = self._text(row, "note", self.note)
            if note is not None:
                yield placed(note, row.position - 1)
            review = self._text(row, "review", self.review)
            yield placed(review or WITHOUT_TEXT, row.position)

    def _text(self, row: Row, kind: str, column: str) -> Document | None:
        said = prose(row.get(column))
        if not said:
            return None
        return Document(
            *(0, digest(self.service, *self.key(row, kind)), kind, said),
            recipient=row.get(self.work),
            sent_at=parse_date(row.get(*self.dates)),
            rating=(number(row.get(self.rating)) or None) if kind == "review" else None,
        )


# A rating of 0 means none. The day a book was added stands for the day of a review that
# has no date of reading.
goodreads = Service(
    Shape(
        "library export of Goodreads",
        r".*\.csv",
        columns("bookid", "myreview", "title"),
    ),
    _Library(
        service="goodreads",
        review="myreview",
        note="privatenotes",
        work="title",
        rating="myrating",
        dates=("dateread", "dateadded"),
        key=lambda row, kind: (
            kind,
            row.get("bookid") or [row.get("title"), row.get("author")],
        ),
    ).read_file,
)

# Ratings are in quarter stars.
storygraph = Service(
    Shape(
        "library export of StoryGraph",
        r".*\.csv",
        columns("readstatus", "review", "starrating"),
    ),
    _Library(
        service="storygraph",
        review="review",
        work="title",
        rating="starrating",
        dates=("lastdateread", "dateadded"),
        key=lambda row, _: (
            row.get("title"),
            row.get("authors", "author"),
            row.get("isbnuid", "isbn"),
        ),
    ).read_file,
)

_FILMS = Shape(
    "reviews.csv of Letterboxd", r".*\.csv", columns("letterboxduri", "review", "name")
)
_TAKEN_BACK = (("deleted",), ("orphaned",))


class _Letterboxd(Service):
    """The person took back what lies in the folders `deleted` and `orphaned`."""

    def sources(self, path: Path) -> list[Bundle]:
        """The file itself, or the one in a folder or archive."""
        (export,) = super().sources(path)
        # Claimed above, so that no importer of tables takes them, and not read.
        given = path.is_file() and not export.files[0].member
        kept = (f for f in export.files if given or f.folders[-1:] not in _TAKEN_BACK)
        files = tuple(kept)
        if not files:
            raise SourceError(f"There is no {_FILMS.what} in {path}.")
        return bundled(path, files, export.aside)


letterboxd = _Letterboxd(
    _FILMS,
    _Library(
        service="letterboxd",
        review="review",
        work="name",
        rating="rating",
        dates=("date", "watcheddate"),
        key=lambda row, _: (row.get("letterboxduri"), row.get("name"), row.get("year")),
    ).read_file,
    Shape(
        "profile.csv of Letterboxd", r"profile\.csv", columns("username", "datejoined")
    ),
    lambda file: [row.get("username") for row in rows(file) if isinstance(row, Row)][
        :1
    ],
)
