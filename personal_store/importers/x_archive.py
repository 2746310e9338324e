"""Posts and messages from an X (Twitter) archive: data/tweets.js and files beside it.

Older archives call the file tweet.js, large ones have tweets-part1.js and so on, posts
in communities are in community-tweet.js. Each is a JSON list behind a line of script.
A long post stands shortened among the others and whole in note-tweet.js, found by the
second in which it was written.

Retweets are skipped, and what was retweeted by hand or quoted in the text is cut off.
The people an answer begins with are its recipient, not its text. Deleted posts are not
read.

Of direct messages the owner's are read. They are signed with numbers of accounts. The
owner's stands in account.js, or in the manifest of the archive; names of others are
learned from the posts that mention them.
"""

import html
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from personal_store.cleaning.cleaning import tidy
from personal_store.files import FAULTS, Bundle, Source
from personal_store.importers.exports import (
    FEWEST_WORDS,
    Service,
    Shape,
    addressed,
    digest,
    placed,
    read_files,
    readable,
    written,
)
from personal_store.importers.structured import (
    Element,
    elements,
    fields,
    listing,
    mapping,
    text,
)
from personal_store.records import Document, ImportFailure, Item, ReadOptions, Skipped
from personal_store.text.charset import decode
from personal_store.text.dates import parse_date
from personal_store.text.tokens import normalised

_TALK = "dmConversation"
_LONGEST = 1_000_000  # bytes of the files that say whose archive it is
_LONG = re.compile(r"\s*window\.\w+\.note_?tweet", re.IGNORECASE)
_TALKS = re.compile(r"\s*window\.\w+\.direct_?message", re.IGNORECASE)
_RETWEET = re.compile(r"\s*(?:RT|MT) @\w+")
_OTHERS = re.compile(r"\s+(?:RT|MT) @\w+:?.*|\s*[\"“]@\w+:.*", re.DOTALL)
_SHORT_LINK = re.compile(r"\s*https://t\.co/\w*")
_COMPARED = 60  # characters in which a shortened post and the long one must agree


def _owner(file: Source) -> list[str]:
    """The number of the owner's account."""
    script = decode(file.whole(_LONGEST))
    value = json.loads(script.partition("=")[2].strip().rstrip(";"))
    fields = mapping(next(iter(listing(value)), value))
    inner = mapping(fields.get("account")) or mapping(fields.get("userInfo"))
    return [text(inner.get("accountId"))]


def _begins(file: Source, script: re.Pattern[str]) -> bool:
    with suppress(*FAULTS):
        head = b"" if file.fault else file.head(256)
        return script.match(head.decode("utf-8", "replace")) is not None
    return False


@dataclass(slots=True)
class _Reader:
    """What one pass over an archive has learned so far."""

    owner: str  # the number of the owner's account; empty if no file names it
    names: dict[str, str] = field(default_factory=dict)
    """Names with the @, by the number of the account."""
    long: dict[int | None, list[dict[str, Any]]] = field(default_factory=dict)
    """Long posts by the second in which they were written."""
    met: set[str] = field(default_factory=set)
    """Keys of the long posts that stand shortened among the others."""
    edited: dict[str, tuple[int, Document]] = field(default_factory=dict)
    """Posts that were edited, by the number of the first version: the latest version
    so far, and its post. Each version is a post of its own, in any order."""

    def learn_long_posts(self, file: Source) -> None:
        """Take the long posts of a file; what is wrong with it is said elsewhere."""
        with suppress(*FAULTS):
            for element in elements(file):
                if isinstance(element, Element):
                    note = mapping(element.get("noteTweet"))
                    second = parse_date(note.get("createdAt"))
                    self.long.setdefault(second, []).append(note)

    def read_file(self, file: Source) -> Iterator[Item]:
        """The owner's posts and messages in a file."""
        for element in elements(file):
            if isinstance(element, ImportFailure):
                yield element
            elif _TALK in element.fields:
                yield from self._talk(element)
            elif "noteTweet" in element.fields:
                yield placed(self._long_post(element), element.position)
            else:
                tweet = mapping(element.get("tweet")) or element.fields
                self._learn_names(tweet)
                yield from self._last_versions(
                    placed(self._post(tweet), element.position), tweet
                )

    def _learn_names(self, tweet: dict[str, Any]) -> None:
        """Take the names of those whom a post mentions or answers."""
        users = listing(mapping(tweet.get("entities")).get("user_mentions"))
        named = [
            (mapping(u).get("id_str"), mapping(u).get("screen_name")) for u in users
        ]
        answered = tweet.get("in_reply_to_user_id_str")
        named.append((answered, tweet.get("in_reply_to_screen_name")))
        for number, name in ((text(number), text(name)) for number, name in named):
            if number and name:
                self.names[number] = f"@{name}"

    def _talk(self, element: Element) -> Iterator[Document | Skipped]:
        """The owner's messages in one conversation; each has a position of its own.

        A conversation is far longer in bytes than it has messages, so there is one.
        """
        talk = mapping(element.get(_TALK))
        events = [mapping(event) for event in listing(talk.get("messages"))]
        if not events:
            yield Skipped(element.position, "without text")
        for left, event in enumerate(events, 1 - len(events)):
            yield placed(self._message(event, talk, events), element.position + left)

    def _message(
        self, event: dict[str, Any], talk: dict[str, Any], events: list[dict[str, Any]]
    ) -> Document | str:
        message = mapping(event.get("messageCreate"))
        if not message:
            return "notices"
        if not self.owner:
            return "messages, as no account.js says which are yours"
        if message.get("senderId") != self.owner:
            return "messages of others"
        said = _with_links(text(message.get("text")), message.get("urls"), "expanded")
        own_id, date = text(message.get("id")), message.get("createdAt")
        thread = text(talk.get("conversationId"))
        # The name of the other, or of the group; a bare number says nothing.
        known = self.names.get(text(message.get("recipientId")), "")
        group = text(talk.get("name")) or _latest_name(events)
        return written(
            f"x:dm:{own_id}" if own_id else digest("x:dm", thread, date, said),
            *("message", said, date),
            fewest=FEWEST_WORDS,
            recipient=known or tidy(group).strip(),
            thread=f"x:dm:{thread}" if thread else "",
        )

    def _post(self, tweet: dict[str, Any]) -> Document | str:
        short = text(tweet.get("full_text") or tweet.get("text"))
        if _RETWEET.match(short):
            return "posts of others"
        date = parse_date(tweet.get("created_at"))
        links = mapping(tweet.get("entities")).get("urls")
        whole = self._whole(date, short) or _with_links(short, links, "expanded_url")
        to, said = addressed(whole)
        own = _OTHERS.sub("", said).strip()
        own_id = _id(tweet)
        answered = text(tweet.get("in_reply_to_status_id_str"))
        return written(
            f"x:{own_id}" if own_id else digest("x", date, said),
            *("post", own, date),
            recipient=to,
            reply_to=f"x:{answered}" if answered else "",
            trimmed=own != said,
        )

    def _whole(self, second: int | None, shortened: str) -> str:
        """The long post that begins like this one; empty if absent."""
        beginning = _beginning(shortened)
        for note in self.long.get(second, []):
            said = _said_at_length(note)
            if beginning and _beginning(said).startswith(beginning):
                self.met.add(_long_key(note))
                return said
        return ""

    def _last_versions(
        self, post: Document | Skipped, tweet: dict[str, Any]
    ) -> Iterator[Item]:
        """A post that was never edited; of others the versions known to be older."""
        info = mapping(tweet.get("edit_info"))
        edit = mapping(info.get("edit")).get("editControlInitial")
        numbers = listing(mapping(info.get("initial") or edit).get("editTweetIds"))
        own_id = _id(tweet)
        if isinstance(post, Skipped) or len(numbers) < 2 or own_id not in numbers:
            yield post
            return
        first, version = str(numbers[0]), numbers.index(own_id)
        before = self.edited.get(first)
        if before is not None:
            yield Skipped(post.position, "older versions of edited posts")
        if before is None or version > before[0]:
            self.edited[first] = version, replace(post, key=f"x:{first}")

    def _long_post(self, element: Element) -> Document | str:
        note = mapping(element.get("noteTweet"))
        if _long_key(note) in self.met:
            return "long posts that were read already"
        to, said = addressed(_said_at_length(note))
        date = note.get("createdAt")
        return written(_long_key(note), "post", said, date, recipient=to)


def _latest_name(events: list[dict[str, Any]]) -> str:
    """What a group was called last, by the notices among its messages."""
    notices = [mapping(event.get("conversationNameUpdate")) for event in events]
    last = max(notices, key=lambda n: text(n.get("createdAt")), default={})
    return text(last.get("name"))


def _id(tweet: dict[str, Any]) -> str:
    return text(tweet.get("id_str") or tweet.get("id"))


def _long_key(note: dict[str, Any]) -> str:
    own_id = text(note.get("noteTweetId"))
    if own_id:
        return f"x:note:{own_id}"
    return digest("x:note", note.get("createdAt"), _said_at_length(note))


def _said_at_length(note: dict[str, Any]) -> str:
    parts = ("core", "noteTweetResults", "noteTweetContents")
    found = (text(mapping(note.get(part)).get("text")) for part in parts)
    return tidy(html.unescape(next(filter(None, found), ""))).strip()


def _with_links(said: str, links: Any, field: str) -> str:
    """The text with the addresses that its short links stand for, pictures' without."""
    for link in map(mapping, listing(links)):
        if short := text(link.get("url")):
            said = said.replace(short, text(link.get(field)))
    return tidy(html.unescape(_SHORT_LINK.sub("", said))).strip()


def _beginning(said: str) -> str:
    said = _SHORT_LINK.sub("", html.unescape(said)).rstrip("…. ")
    return normalised(said)[:_COMPARED]


class _Archive(Service):
    """The importer of an X archive."""

    def sources(self, path: Path) -> list[Bundle]:
        """The file itself, or those in the folder or archive.

        The long posts come behind the others, whose rest they are, and messages last:
        names of people stand in the posts.
        """

        (export,) = super().sources(path)
        files = sorted(export.files, key=lambda file: _begins(file, _LONG))
        files.sort(key=lambda file: _begins(file, _TALKS))
        return [replace(export, files=tuple(files))]

    def read(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        """One document per own post or message; a long post only once."""
        reader = _Reader(next(iter(self.owners(source)), ""))
        for file in readable(source):
            if _begins(file, _LONG):
                reader.learn_long_posts(file)
        yield from read_files(source, options, reader.read_file)
        for _, post in reader.edited.values():
            yield replace(post, position=source.size)


x_archive = _Archive(
    Shape(
        "tweets.js of an X archive",
        # Files with "headers" in their name hold no texts.
        r"(?:tweets?|community-tweets?|note-tweets?)(?:-part\d+)?\.js"
        r"|direct-messages?(?:-group)?(?:-part\d+)?\.js",
        fields(f"tweet noteTweet {_TALK}"),
    ),
    lambda _: iter(()),
    Shape(
        "account.js of an X archive", r"(?:account|manifest)\.js", fields("accountId")
    ),
    _owner,
)
