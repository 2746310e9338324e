"""What lies in the exports of services, and whose words these are.

One table for all: `import auto` lists what it leaves by it, tables of any service are
checked against it, and docs/importing.md prints it. Files and columns as read by public
parsers; what no row knows is left as well, as long as it lies in an export.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from personal_store.files.files import Source
from personal_store.files.sources import FAULTS
from personal_store.importers.structured import has_columns

YOURS, OTHERS, BOTH, NOBODY = "yours", "others'", "both", "nobody's"


@dataclass(frozen=True, slots=True)
class ServiceFile:
    """A kind of file in the export of a service."""

    service: str
    """The importer of the service."""
    label: str
    """What the file is called."""
    whose: str
    done: str
    """What is done with it; begins with "not read" if nothing is."""
    names: str
    """Pattern for its base name."""
    columns: tuple[str, ...] = ()
    """Names of columns, as `plain` spells them, by which it is recognised
    outside of an export, too; empty if only its name counts there."""

    @property
    def is_read(self) -> bool:
        """Whether the importer takes words out of it."""
        return not self.done.startswith("not read")

    def fits(self, source: Source) -> bool:
        """Whether a source is such a file."""
        if re.fullmatch(self.names, source.name, re.IGNORECASE) is None:
            return False
        return not self.columns or has_columns(
            source.head(), *((column,) for column in self.columns)
        )


_NO = "not read"
_RECOMMENDATION = ("firstname", "lastname", "text", "status")
_CHAT_OF_REDDIT = ("messageid", "username", "message")

FILES = tuple(
    ServiceFile(*row)
    for row in (
        ("amazon_reviews", "CustomerReviews…ReviewsVersions….csv", YOURS, "reviews",
         r".*CustomerReviews.*ReviewsVersions.*\.csv"),
        ("amazon_reviews", "Retail.OrderHistory….csv", NOBODY,
         f"{_NO}: the shop's words, and addresses", r".*Order ?History.*\.csv",
         ("orderid", "shippingaddress")),
        ("amazon_reviews", "messages with sellers and customer service", BOTH, _NO,
         r".*(?:Communication|Messag|Chat|Contact).*\.csv"),
        ("facebook", "your_posts….json, group_posts….json", YOURS, "posts",
         r"(?:your_posts|group_posts).*\.json"),
        ("facebook", "comments.json, your_comments_in_groups.json", YOURS, "posts",
         r"(?:your_)?comments.*\.json"),
        ("facebook", "message_1.json …", BOTH, "messages; by the name of each",
         r"message_\d+\.json"),
        ("facebook", "encrypted talks: NAME_1.json …", BOTH,
         "messages; by the name of each", r".+_\d+\.json"),
        ("facebook", "other_people's_posts_to_your_timeline.json", OTHERS, _NO,
         r"other_people.*\.json|.*_from_others.*\.json"),
        ("facebook", "your_uncategorized_photos.json, edits_you_made….json", YOURS,
         f"{_NO}: mostly without text, or in another file",
         r"your_uncategorized.*\.json|edits_you_made.*\.json|posts_on_other.*\.json"),
        ("goodreads", "goodreads_library_export.csv", YOURS, "reviews and notes",
         r"goodreads.*\.csv"),
        ("google_play", "Reviews.json of the Play Store", YOURS, "reviews",
         r"Reviews.*\.json"),
        ("google_reviews", "Reviews.json of Maps (your places)", YOURS, "reviews",
         r"(?:Reviews|Bewertungen).*\.json"),
        ("google_reviews", "reviews.json of Google Business Profile", OTHERS,
         f"{_NO}: what customers wrote", r"reviews.*\.json"),
        ("instagram", "posts_1.json, reels.json, archived_posts.json", YOURS, "posts",
         r"posts_\d+\.json|reels\.json|archived_posts\.json"),
        ("instagram", "post_comments_1.json, reels_comments.json", YOURS, "posts",
         r"(?:post|reels?|story)_comments.*\.json"),
        ("instagram", "message_1.json …", BOTH, "messages; by the name of each",
         r"message_\d+\.json"),
        ("instagram", "liked_posts.json, saved_posts.json", NOBODY, _NO,
         r"(?:liked|saved)_.*\.json"),
        ("keep", "notes of Keep, *.json", YOURS,
         "notes, but not those shared with others", r".*\.json"),
        ("letterboxd", "reviews.csv", YOURS, "reviews", r"reviews\.csv"),
        ("letterboxd", "reviews.csv in deleted and orphaned", YOURS,
         f"{_NO}: taken back", r"reviews\.csv"),
        ("letterboxd", "comments.csv, lists/*.csv", YOURS, _NO, r"comments\.csv",
         ("date", "content", "comment")),
        ("letterboxd", "diary.csv, ratings.csv, watched.csv", NOBODY, _NO,
         r"(?:diary|ratings|watched|watchlist)\.csv"),
        ("linkedin", "Shares.csv", YOURS, "posts", r"shares.*\.csv"),
        ("linkedin", "Comments.csv", YOURS, "posts", r"comments.*\.csv"),
        ("linkedin", "messages.csv", BOTH, "messages; by the name of each",
         r"messages.*\.csv"),
        ("linkedin", "Invitations.csv", BOTH, "messages; those that you sent",
         r"invitations.*\.csv"),
        ("linkedin", "Recommendations_Given.csv", YOURS, "posts",
         r"recommendations[ _]given.*\.csv"),
        ("linkedin", "Recommendations_Received.csv", OTHERS, _NO,
         r"recommendations[ _]received.*\.csv", _RECOMMENDATION),
        ("linkedin", "Endorsement_….csv, Connections.csv", NOBODY, _NO,
         r"(?:endorsement|connections).*\.csv"),
        ("linkedin", "Ad_Targeting.csv", NOBODY, f"{_NO}: what LinkedIn thinks of you",
         r"ad[ _]targeting.*\.csv", ("memberage", "companynames")),
        ("linkedin", "guide_messages.csv, LearningCoachMessages.csv", BOTH,
         f"{_NO}: talks with machines", r"(?:guide_|learning).*messages.*\.csv",
         ("content",)),
        ("linkedin", "Profile.csv", YOURS, f"{_NO}, but for your name",
         r"profile\.csv"),
        ("linkedin", "Positions.csv, Education.csv, Skills.csv", YOURS,
         f"{_NO}: a list, no prose", r"(?:positions|education|skills|projects).*\.csv"),
        ("mastodon", "outbox.json", YOURS, "posts and messages, without boosts",
         r"outbox.*\.json"),
        ("mastodon", "likes.json, bookmarks.json, actor.json", NOBODY, _NO,
         r"(?:likes|bookmarks|actor).*\.json"),
        ("reddit", "comments.csv, posts.csv", YOURS, "posts",
         r"(?:comments|posts).*\.csv"),
        ("reddit", "messages.csv, messages_archive.csv", BOTH, _NO,
         r"messages(?:_archive)?(?:_\d+)?\.csv", ("permalink", "from", "to", "body")),
        ("reddit", "chat_history.csv", BOTH, _NO, r"chat_history.*\.csv",
         _CHAT_OF_REDDIT),
        ("reddit", "announcements.csv", OTHERS, f"{_NO}: Reddit's words",
         r"announcements.*\.csv", ("announcementid", "body")),
        ("reddit", "drafts.csv, scheduled_posts.csv", YOURS, f"{_NO}: not published",
         r"(?:drafts|scheduled_posts).*\.csv"),
        ("reddit", "…_votes.csv, saved_….csv, …_headers.csv", NOBODY, _NO,
         r".*_votes.*\.csv|(?:saved|hidden)_.*\.csv|.*_headers.*\.csv"),
        ("storygraph", "the export, *.csv", YOURS, "reviews", r".*\.csv"),
        ("whatsapp", "_chat.txt, WhatsApp Chat with ….txt", BOTH,
         "messages; --me says which are yours", r".*\.txt"),
        ("x_archive", "tweets.js, note-tweet.js, community-tweet.js", YOURS,
         "posts, without retweets", r"(?:note-|community-)?tweets?.*\.js"),
        ("x_archive", "direct-messages.js, direct-messages-group.js", BOTH,
         "messages; yours alone", r"direct-messages?.*\.js"),
        ("x_archive", "like.js", OTHERS, _NO, r"like.*\.js"),
        ("x_archive", "deleted-tweets.js", YOURS, f"{_NO}: taken back",
         r"deleted-tweets.*\.js"),
        ("youtube_comments", "comments.csv, live chats.csv", YOURS, "posts",
         r".*\.csv"),
        ("youtube_comments", "subscriptions.csv, playlists", NOBODY, _NO,
         r"subscriptions\.csv"),
    )
)  # fmt: skip

ALONE = frozenset(("goodreads", "storygraph", "whatsapp"))
"""Services whose export is one file: what lies beside it in a folder is not theirs."""

_TAKEOUT = r"takeout"
_INNER = {
    "amazon_reviews": r"(?:retail|digital)\..*|datasets|additional data|your .*",
    "facebook": r"your_.*activity.*|messages|inbox|archived_threads|filtered_threads"
    r"|message_requests|e2ee_cutover|posts|comments.*|groups|personal_information",
    "google_play": _TAKEOUT,
    "google_reviews": _TAKEOUT,
    "instagram": r"your_.*activity.*|messages|inbox|comments.*|media|content"
    r"|personal_information",
    "keep": _TAKEOUT,
    "letterboxd": r"deleted|orphaned|lists|likes",
    "linkedin": r"jobs|verifications",
    "x_archive": r"data",
    "youtube_comments": _TAKEOUT,
}
"""Folders that lie in the export of a service, never around it."""
_DEEPEST = 6
"""Levels of folders in an export."""


def unread_file(source: Source, service: str = "") -> ServiceFile | None:
    """The row of a file that is not read; None if no row fits.

    Within the export of a service its name is enough; elsewhere its columns decide.
    """
    try:
        return next(
            (
                row
                for row in FILES
                if not row.is_read
                and (row.service == service or row.columns)
                and row.fits(source)
            ),
            None,
        )
    except FAULTS:
        return None


def keep_out(path: Path, sources: Sequence[Source]) -> list[Source]:
    """The sources, with a fault for known files that hold words of others.

    A file that is given by itself stays as it is.
    """
    if len(sources) == 1 and not sources[0].member and path.is_file():
        return list(sources)
    found = []
    for source in sources:
        row = None if source.fault else unread_file(source)
        if row is not None and row.whose != YOURS:
            fault = (
                f"{source.place} is a file of {row.service} with {_WORDS[row.whose]}: "
                "give it by itself if it is yours all the same."
            )
            source = replace(source, fault=fault)
        found.append(source)
    return found


_WORDS = {
    OTHERS: "words of others",
    BOTH: "words of others beside yours",
    NOBODY: "nobody's words",
}


@dataclass(slots=True)
class Exports:
    """Where the exports of services lie among other files."""

    archives: dict[Path, str] = field(default_factory=dict)
    """The service by archive; all that is in one belongs to its export."""
    folders: dict[Path, str] = field(default_factory=dict)

    def meet(self, service: str, files: Iterable[Source]) -> None:
        """Take files that are a service's for certain."""
        for file in files:
            if file.member:
                self.archives.setdefault(file.path, service)
            elif service not in ALONE:
                self.folders.setdefault(_top(service, file.path.parent), service)

    def service_of(self, source: Source) -> str:
        """The service in whose export a file lies; empty if it lies in none."""
        if source.member:
            return self.archives.get(source.path, "")
        return next(
            (self.folders[up] for up in source.path.parents if up in self.folders), ""
        )


def _top(service: str, folder: Path) -> Path:
    """The folder that is the whole export of which this one is a part."""
    inner = _INNER.get(service, "")
    above = [folder, *folder.parents][:_DEEPEST]
    parts = [up for up in above if re.fullmatch(inner, up.name, re.IGNORECASE)]
    if not parts:
        return folder
    return parts[-1] if inner == _TAKEOUT else parts[-1].parent
