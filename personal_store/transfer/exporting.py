"""Everything out again: JSON lines that `import jsonl` reads back, mail as an mbox."""

import base64
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any

from sqlite_utils import Database

from personal_store.importers.tables import EXPORTED, MARK
from personal_store.lifecycle.late_cleaning import clean_all_waiting
from personal_store.records import OWN, Author

_ALL = """
    SELECT record.id, source.kind AS source_kind, label AS source, key, record.kind,
           title, body AS text, recipient, recipient_address, sender, sender_name,
           sent_at, rating, thread, reply_to, author, trimmed, cleaning, excluded,
           trashed_at,
           (SELECT json_group_array(label) FROM record_label WHERE record_id = record.id
           ) AS labels,
           (SELECT data FROM raw WHERE record_id = record.id) AS raw
    FROM record JOIN source ON source.id = source_id ORDER BY record.id
"""
_MAILS = f"""
    SELECT key, title, body, recipient, recipient_address, sender, sent_at, thread,
           reply_to,
           (SELECT json_group_array(label) FROM record_label
            WHERE record_id = record.id)
    FROM record WHERE kind = 'email' AND author IN {tuple(map(int, OWN))}
        AND trashed_at IS NULL ORDER BY record.id
"""  # noqa: S608
_FROM = re.compile(rb"^(>*From )", re.MULTILINE)
_MAIL_KEY = re.compile(r"mid:(.+):[0-9a-f]{16}")


def as_lines(db: Database) -> Iterator[bytes]:
    """Every record, those of others and those in the trash too, as a line of JSON.

    Received mail that waits is cleaned first.
    """
    clean_all_waiting(db)
    cursor = db.execute(_ALL)
    names = [column[0] for column in cursor.description]
    for row in cursor:
        fields: dict[str, Any] = dict(zip(names, row, strict=True))
        del fields["id"]
        fields["author"] = Author(fields["author"]).name.lower()
        fields["labels"] = json.loads(fields["labels"])
        fields["trimmed"] = bool(fields["trimmed"])
        fields["excluded"] = bool(fields["excluded"])
        if fields["raw"] is not None:
            fields["raw"] = base64.b64encode(fields["raw"]).decode()
        line = json.dumps({MARK: EXPORTED, **fields}, ensure_ascii=False)
        yield line.encode() + b"\n"


def as_mailbox(db: Database) -> Iterator[bytes]:
    """The owner's mails as an mbox, each as it is stored: own words, plain text."""
    for row in db.execute(_MAILS):
        content = _FROM.sub(rb">\1", _message(*row).as_bytes())
        when = datetime.fromtimestamp(row[6] or 0, UTC)
        envelope = f"From - {when:%a %b %d %H:%M:%S %Y}\n".encode()
        yield envelope + content.rstrip(b"\n") + b"\n\n"


def _message(
    key: str, title: str, text: str, recipient: str, address: str, sender: str,
    sent_at: int | None, thread: str, reply_to: str, labels: str,
) -> EmailMessage:  # fmt: skip
    message = EmailMessage(policy.default.clone(cte_type="8bit", utf8=True))
    message["From"] = _line(sender) or "unknown@localhost"
    to = _line(address) or "undisclosed-recipients:;"
    name = _line(recipient).replace('"', "").replace("\\", "")
    if _line(address) and name and name != _line(address):
        to = f'"{name}" <{_line(address)}>'
    message["To"] = to
    message["Subject"] = _line(title)
    if sent_at is not None:
        message["Date"] = format_datetime(datetime.fromtimestamp(sent_at, UTC))
    found = _MAIL_KEY.fullmatch(key)
    if found:
        message["Message-ID"] = f"<{_line(found[1])}>"
    if reply_to:
        message["In-Reply-To"] = f"<{_line(reply_to)}>"
    if thread and not thread.startswith("gmail:"):
        message["References"] = f"<{_line(thread)}>"
    if json.loads(labels):
        quoted = (f'"{_line(label)}"' for label in json.loads(labels))
        message["X-Gmail-Labels"] = ",".join(quoted)
    message.set_content(text, charset="utf-8", cte="8bit")
    return message


def _line(value: str) -> str:
    """A value that cannot begin another header."""
    return " ".join(value.split())
