"""What the labels and folders of a mailbox are called, in the languages of Gmail.

Sent mail, trash and drafts are told by these names.
"""

import base64
import binascii
import csv
import re

SENT = frozenset(
    (
        *("sent", "sent mail", "sent items", "sent messages", "gesendet"),
        *("gesendete elemente", "gesendete objekte", "enviados", "enviado", "enviats"),
        *("elementos enviados", "messages envoyés", "mails envoyés", "envoyés"),
        *("éléments envoyés", "posta inviata", "inviati", "inviata", "verzonden"),
        *("verzonden items", "skickat", "skickade", "sendt", "sendte", "wysłane"),
        *("отправленные", "надіслані", "gönderilmiş postalar", "gönderilenler"),
        *("lähetetyt", "odeslané", "odoslané", "elküldött", "trimise", "poslano"),
        *("απεσταλμένα", "送信済み", "送信済みメール", "已发送", "已发邮件"),
        *("寄件備份", "보낸편지함", "terkirim", "đã gửi", "ส่งแล้ว", "נשלח", "المرسل"),
    )
)

_SPAM = ("spam", "junk", "junk e-mail", "junk email", "bulk mail",
         "correo no deseado", "ongewenst", "indésirables", "スパム",
         "垃圾邮件", "垃圾郵件", "스팸함", "спам", "roskaposti", "skräppost",
         "søppelpost", "istenmeyen")  # fmt: skip
_TRASH = ("trash", "bin", "deleted", "deleted items", "deleted messages",
          "papierkorb", "papelera",
          "paperera", "corbeille", "cestino", "prullenbak", "lixeira", "lixo",
          "papperskorg", "papirkurv", "søppel", "kosz", "корзина", "кошик",
          "çöp kutusu", "roskakori", "koš", "kuka", "ゴミ箱", "已删除邮件",
          "垃圾桶", "휴지통")  # fmt: skip
_DRAFTS = ("draft", "drafts", "entwurf", "entwürfe", "borradores", "esborranys",
           "brouillons", "bozze", "rascunhos", "concepten", "utkast", "kladder",
           "wersje robocze", "черновики", "чернетки", "taslaklar", "luonnokset",
           "koncepty", "piszkozatok", "下書き", "草稿", "임시보관함")  # fmt: skip
_CHAT = ("chat", "chats")

_UNWANTED = {
    **dict.fromkeys(_SPAM, "in spam"),
    **dict.fromkeys(_TRASH, "in the trash"),
    **dict.fromkeys(_DRAFTS, "drafts"),
    **dict.fromkeys(_CHAT, "chat messages"),
}

_SHIFTED = re.compile(r"&([A-Za-z0-9+,]*)-")
_BOX = re.compile(r"\.(?:mbox|mailbox|imapmbox)$", re.IGNORECASE)


def split_labels(header: str) -> tuple[str, ...]:
    """Labels of an already decoded X-Gmail-Labels header; quoted commas stay."""
    names = _quoted(header) if '"' in header else header.split(",")
    return tuple(dict.fromkeys(filter(None, map(str.strip, names))))


def _quoted(header: str) -> list[str]:
    rows = csv.reader([header.replace("\n", " ")], skipinitialspace=True)
    try:
        return next(rows, [])
    except csv.Error:  # a label longer than any
        return header.split(",")


def is_sent(labels: tuple[str, ...]) -> bool:
    """Whether one of the labels says that the owner sent this."""
    return any(label.casefold() in SENT for label in labels)


def unwanted(labels: tuple[str, ...]) -> str:
    """Why mail with these labels is left out; empty if it is not."""
    for label in labels:
        reason = _UNWANTED.get(label.casefold())
        if reason:
            return reason
    return ""


def folder_label(name: str) -> str:
    """'.INBOX.Entw&APw-rfe' or 'Sent Messages.mbox' as a person reads it.

    The folders of Maildir++ begin with a dot, which also separates their levels.
    """
    if name.startswith("."):
        name = name.rpartition(".")[2]
    return decoded(_BOX.sub("", name)).strip()


def decoded(name: str) -> str:
    """The name of an IMAP folder, out of its modified UTF-7 (RFC 3501, 5.1.3)."""
    return _SHIFTED.sub(lambda match: _shifted(match[0], match[1]), name)


def _shifted(whole: str, digits: str) -> str:
    if not digits:
        return "&"
    padded = digits.replace(",", "/") + "=" * (-len(digits) % 4)
    try:
        name = base64.b64decode(padded).decode("utf-16-be")
    except (binascii.Error, UnicodeError):
        return whole
    return name if name.isprintable() else whole
