"""Filled stores for the tests of what happens to records."""

import io
import json
import zipfile

from hypothesis import strategies as st

from personal_store import import_source
from tests.mailboxes import ME, mailbox, message

SECRET = (
    "The surprise for Wilhelmina is a hot-air balloon over Quedlinburg, and nobody "
    "may breathe a syllable of zanzibarensis before the seventeenth."
)
QUOTE = (
    "\n\nOn 12.03.24 10:15, Anna wrote:\n> Quixotic parallelogram of the nightwatch.\n"
)
BALLOON = "title = 'Confidential balloon'"
"""The record of SECRET."""
LETTERS = [
    message("The plan is ready for review, have a look at it.", number=1),
    message(SECRET + QUOTE, number=2, subject="Confidential balloon"),
    message("Shall we meet in the garden?", sender="Anna <anna@example.org>", to=ME,
            subject="Garden", number=3),
    message("From my second address, with wishes.", sender="Sam <sam@work.example>",
            subject="Second", number=4, headers="X-Gmail-Labels: Sent,Work"),
    message("The plan is ready for review, have a look at it. Anna has seen it.",
            number=5, subject="Plan again", date="Tue, 12 Mar 2019 11:02:03 +0100"),
]  # fmt: skip


def lay(root, files):
    """Write files below a folder, by name; texts or bytes."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode()
        (root / name).write_bytes(data)
    return root


def zipped(files):
    """The bytes of a zip of these files, by name."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return target.getvalue()


def json_values(*names):
    """A hypothesis strategy of JSON values whose objects have these fields."""
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(names), inner, max_size=3)
        ),
        max_leaves=8,
    )


def damaged(data, content, most=8):
    """Bytes as a bad disk or download leaves them: some changed, perhaps the rest cut
    off; `data` is hypothesis's."""
    content = bytearray(content)
    places = st.integers(0, len(content) - 1)
    for place in data.draw(st.lists(places, max_size=most)):
        content[place] = data.draw(st.integers(0, 255))
    return bytes(content[: data.draw(st.none() | st.integers(1, len(content)))])


def fill(store, folder, letters=LETTERS):
    """Import some letters and a note."""
    path = folder / "letters.mbox"
    path.write_bytes(mailbox(letters))
    report = import_source(store, "mbox", path, me=[ME])
    notes = folder / "notes.jsonl"
    notes.write_text(
        json.dumps({"text": "Grüße aus dem Garten 😀", "rating": 4}) + "\n"
    )
    import_source(store, "jsonl", notes)
    return report


def put_letters(store, letters, **options):
    """Import a mailbox of these letters, which lies beside the store."""
    path = store.path.parent / "some.mbox"
    path.write_bytes(mailbox(letters))
    return import_source(store, "mbox", path, **options)


def ids(store, condition="1"):
    rows = store.db.execute(f"SELECT id FROM record WHERE {condition} ORDER BY id")
    return [record_id for (record_id,) in rows]


def found(store, query):
    return [passage.record_id for passage in store.search(query)]


def content(store):
    """Everything that another store must have too, without ids."""
    records = """SELECT key, source.kind, label, record.kind, title, body, recipient,
        recipient_address, sender, sent_at, rating, thread, reply_to, author, trimmed,
        cleaning, body_sha, excluded, trashed_at, hex(data), tok, n
        FROM record JOIN source ON source.id = source_id
        LEFT JOIN raw ON record_id = record.id LEFT JOIN doc ON doc.id = record.id
        ORDER BY key"""
    labels = "SELECT key, label FROM record_label JOIN record ON id = record_id"
    return store.db.execute(records).fetchall(), sorted(store.db.execute(labels))


def counts(report):
    """Texts added and updated, things skipped and failed by an import."""
    return report.added, report.updated, report.skipped, report.failed


def stopping(share):
    """A callback that stops an import once so much of it is done."""

    def stop(done, total):
        if done > share * total:
            raise KeyboardInterrupt

    return stop
