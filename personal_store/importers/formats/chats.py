"""The lines of an exported WhatsApp chat, in any language and order of the date.

iOS writes `[31.12.23, 18:05:09] Ana: text`, Android `12/31/23, 6:05 PM - Ana: text`;
what stands before the name is the business of chat_stamps.py. Lines without date go on
with the message before. A line with date and without name is a notice of the program.
What iOS itself says in place of a picture begins with a mark that nobody types
(U+200E); Android writes it in angle brackets or with the name of the file. Shapes as
read by public parsers and found in public samples.
"""

import calendar
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from personal_store.cleaning.cleaning import tidy
from personal_store.files.sources import Source
from personal_store.importers.formats.chat_stamps import (
    MARKS,
    Dates,
    Stamp,
    day_of,
    stamp_of,
)
from personal_store.importers.formats.talks import plain_name
from personal_store.text.charset import storable

_MARK = "\u200e"
_NAMED = re.compile(r"([^:\n]{1,80}):(?:\s|$)(.*)", re.DOTALL)
_FILE = re.compile(rf"\A[{MARKS}]*[^\n]{{1,120}}\.\w{{2,5}} \([^()\n]+\)\s*$", re.M)
_BRACKETS = re.compile(rf"\A<[^<>\n]+>|[{MARKS}]+<[^<>\n]+>|\s<[^<>\n]{{8,60}}>\Z")
_GONE = re.compile(
    r"(?:(?:this message was|you) deleted(?: this message)?|null"
    r"|diese nachricht wurde gelöscht|du hast diese nachricht gelöscht"
    r"|(?:eliminaste este mensaje|se eliminó este mensaje)"
    r"|(?:vous avez supprimé ce message|ce message a été supprimé)"
    r"|(?:hai eliminato questo messaggio|questo messaggio è stato eliminato)"
    r"|(?:você apagou esta mensagem|mensagem apagada)"
    r"|(?:je hebt dit bericht verwijderd|dit bericht is verwijderd)"
    r"|(?:이 )?메시지(?:가|는|를) 삭제(?:되었습니다|했습니다)|삭제된 메시지입니다"
    r"|(?:لقد )?(?:تم حذف|حذفت) هذه الرسالة|این پیام حذف شد|شما این پیام را حذف کردید"
    r"|(?:αυτό το μήνυμα διαγράφηκε|διαγράψατε αυτό το μήνυμα)"
    r"|(?:това съобщение беше изтрито|изтрихте това съобщение)"
    r"|(?:це повідомлення видалено|ви видалили це повідомлення)"
    r"|(?:bu mesaj silindi|bu mesajı sildiniz)"
    r"|(?:данное сообщение удалено|вы удалили данное сообщение)"
    r"|(?:ta wiadomość została usunięta|usunięto tę wiadomość)"
    r"|(?:ข้อความนี้ถูกลบแล้ว|คุณลบข้อความนี้แล้ว)"
    r"|(?:הודעה זו נמחקה|מחקת הודעה זו)"
    r"|(?:この)?メッセージ(?:は削除されました|を削除しました)"
    r"|(?:此消息已(?:被)?删除|您已删除此消息|這則訊息已刪除|你已刪除這則訊息))[.。]?",
    re.IGNORECASE,
)
_QUOTES = (("“", "”"), ("„", "“"), ("«", "»"), ("「", "」"), ("『", "』"))
_HEAD_LINES = 40


@dataclass(frozen=True, slots=True)
class Message:
    """One message, or a notice, which has no name."""

    position: int
    """Bytes of the file up to its end."""
    name: str
    text: str
    stamp: tuple[int, ...]
    """Says when it was written, whatever the order of the date: the numbers of the
    date by size, hour and minute."""
    sent_at: int | None


@dataclass(slots=True)
class Chat:
    """What a first look at a chat tells."""

    writers: Counter[str] = field(default_factory=Counter)
    names: set[str] = field(default_factory=set)
    """Everybody in it, with those whose pictures and notices are all there is, and in
    a group of iOS the group itself."""
    order: str = "dmy"

    @classmethod
    def of(cls, file: Source) -> "Chat":
        """Who writes in a chat, and which number of its dates is the day."""
        chat, dates = cls(), Dates()
        for _, line in _lines(file):
            found = _parsed(line)
            if found is None:
                continue
            dates.meet(found.stamp)
            chat.names |= {found.name} - {""}
            if found.name and not found.text.startswith(_MARK):
                chat.writers[found.name] += 1
        chat.order = dates.order()
        return chat


def is_chat(head: bytes) -> bool:
    """Whether a file begins like an exported chat."""
    lines = head.decode("utf-8", "replace").splitlines()[:_HEAD_LINES]
    return any(found and found.name for found in map(_parsed, lines))


def messages(file: Source, order: str) -> Iterator[Message]:
    """All messages and notices, several lines joined."""
    begun: _Begun | None = None
    said: list[str] = []
    position = 0
    for end, line in _lines(file):
        found = _parsed(line)
        if found is not None:
            if begun is not None:
                yield begun.message(said, position, order)
            begun, said = found, [found.text]
        else:
            said.append(line)
        position = end
    if begun is not None:
        yield begun.message(said, position, order)


def own_words(written: str) -> str:
    """A message without what the program put there for pictures, edits and the like."""
    if _GONE.fullmatch(written.strip(f"{_MARK} \n")):
        return ""
    written = _BRACKETS.sub("", _FILE.sub("", written))
    if written.startswith(_MARK):
        # The first line is the program's, what follows is what was written below.
        written = written.partition("\n")[2]
    return tidy(re.sub(f"[{MARKS}]", "", written)).strip()


@dataclass(frozen=True, slots=True)
class _Begun:
    """The first line of a message."""

    stamp: Stamp
    name: str
    text: str

    def message(self, said: list[str], position: int, order: str) -> Message:
        text = "\n".join(said).rstrip()
        hour, minute = self.stamp.hour, self.stamp.minute
        numbers = sorted(n % 100 if n > 31 else n for n in self.stamp.numbers)
        day = day_of(self.stamp.numbers, order)
        moment = None
        if day is not None and hour < 24 and minute < 60:
            moment = calendar.timegm((day.year, day.month, day.day, hour, minute, 0))
        return Message(position, self.name, text, (*numbers, hour, minute), moment)


def _lines(file: Source) -> Iterator[tuple[int, str]]:
    """(bytes up to its end, text) of each line."""
    position = 0
    with file.open() as stream:
        for line in stream:
            position += len(line)
            text = storable(line.decode("utf-8", "replace"))
            yield position, text.rstrip("\r\n")


def _parsed(line: str) -> _Begun | None:
    stamp = stamp_of(line)
    if stamp is None:
        return None
    rest = line[stamp.end :]
    named = _NAMED.match(rest)
    if named is None or _cuts_a_quote(named[1]):
        return _Begun(stamp, "", rest)
    return _Begun(stamp, plain_name(named[1]), named[2])


def _cuts_a_quote(name: str) -> bool:
    """Whether a colon stands between quotation marks: a notice about a group's name."""
    name = re.sub("„[^“]*“", "", name)  # whose end is what begins another pair
    return name.count('"') % 2 == 1 or any(
        opens in name and closes not in name.partition(opens)[2]
        for opens, closes in _QUOTES
    )
