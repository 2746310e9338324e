"""What the labels and folders of a mailbox are called, in the languages of Gmail.

Sent mail, trash and drafts are recognised by these names.
"""

import base64
import binascii
import csv
import re
import unicodedata
from functools import lru_cache

_NAMES = {
    "en": ("sent, sent mail, sent items, sent messages", "draft, drafts",
           "trash, bin, deleted, deleted items, deleted messages",
           "spam, junk, junk e-mail, junk email, junk mail, bulk mail"),
    "de": ("gesendet, gesendete elemente, gesendete objekte, gesendete nachrichten",
           "entwurf, entwürfe",
           "papierkorb, gelöscht, gelöschte elemente, gelöschte objekte",
           "spamverdacht, unerwünscht, junk-e-mails"),
    "fr": ("messages envoyés, mails envoyés, envoyés, éléments envoyés",
           "brouillons, brouillon",
           "corbeille, éléments supprimés, messages supprimés, supprimés",
           "indésirables, courrier indésirable, pourriel, pourriels"),
    "es": ("enviados, enviado, elementos enviados, correo enviado, mensajes enviados",
           "borradores, borrador",
           "papelera, elementos eliminados, mensajes eliminados, eliminados",
           "correo no deseado, no deseado, correo basura"),
    "pt": ("enviados, enviado, enviadas, correio enviado, itens enviados, "
           "mensagens enviadas, e-mails enviados", "rascunhos, rascunho",
           "lixeira, lixo, itens excluídos, itens eliminados, excluídos",
           "lixo eletrônico, lixo eletrónico, correio não solicitado"),
    "ca": ("enviats, correu enviat, elements enviats", "esborranys",
           "paperera, elements suprimits", "correu brossa, brossa"),
    "gl": ("enviados", "borradores", "papeleira, lixo", "correo lixo"),
    "eu": ("bidalitakoak", "zirriborroak", "zakarrontzia", "zabor-posta, spama"),
    "it": ("posta inviata, inviati, inviata, messaggi inviati", "bozze, bozza",
           "cestino, posta eliminata, eliminati, messaggi eliminati",
           "posta indesiderata, indesiderata"),
    "nl": ("verzonden, verzonden items, verzonden berichten", "concepten",
           "prullenbak, verwijderde items, verwijderde berichten",
           "ongewenst, ongewenste e-mail, ongewenste reclame"),
    "sv": ("skickat, skickade, skickade objekt, skickade meddelanden", "utkast",
           "papperskorg, papperskorgen, borttaget, borttagna objekt",
           "skräppost, skräp"),
    "da": ("sendt, sendte, sendt post, sendte elementer", "kladder, kladde, udkast",
           "papirkurv, slettet post, slettede elementer, slettet",
           "uønsket post, uønsket mail"),
    "no": ("sendt, sendte elementer, sendt e-post", "utkast, kladd, kladdar",
           "papirkurv, papirkorg, søppel, søppelbøtte, slettet, slettede elementer",
           "søppelpost, uønsket e-post, søppel-e-post"),
    "fi": ("lähetetyt, lähetetty, lähetetyt viestit", "luonnokset, luonnos",
           "roskakori, poistetut, poistetut viestit", "roskaposti"),
    "is": ("sendur póstur, sendir hlutir", "drög", "rusl, eyddir hlutir", "ruslpóstur"),
    "pl": ("wysłane, elementy wysłane, wysłane wiadomości",
           "wersje robocze, kopie robocze, robocze, szkice",
           "kosz, elementy usunięte, usunięte", "niechciane, wiadomości-śmieci"),
    "cs": ("odeslané, odeslaná pošta, odeslané zprávy", "koncepty, rozepsané",
           "koš, odstraněná pošta, odstraněné", "nevyžádaná pošta, nevyžádané"),
    "sk": ("odoslané, odoslaná pošta, odoslané položky", "koncepty, rozpísané",
           "kôš, odstránené, odstránené položky", "nevyžiadaná pošta"),
    "hu": ("elküldött, elküldött levelek, elküldött elemek, küldöttek",
           "piszkozatok, piszkozat, vázlatok", "kuka, lomtár, törölt elemek, szemetes",
           "levélszemét, kéretlen"),
    "ro": ("trimise, mesaje trimise, elemente trimise",
           "ciorne, schițe, mesaje nefinalizate, nefinalizate",
           "coș de gunoi, coșul de gunoi, gunoi, coș, elemente șterse, mesaje șterse",
           "mesaje nedorite, e-mail nedorit"),
    "hr": ("poslano, poslana pošta, poslane stavke", "skice, nacrti, predlošci",
           "smeće, otpad, izbrisane stavke", "neželjena pošta, bezvrijedna e-pošta"),
    "sr": ("послато, послате, послата пошта, poslato, poslate",
           "недовршене, нацрти, радне верзије, nedovršene",
           "отпад, смеће, канта за отпатке, otpad",
           "непожељно, непожељне, нежељена пошта, nepoželjno"),
    "sl": ("poslano, poslana pošta, poslani elementi", "osnutki",
           "koš, smetnjak, smeti, izbrisano",
           "vsiljena pošta, neželena pošta, neželena sporočila"),
    "mk": ("пратени, испратени", "непратени, нацрти", "корпа, ѓубре", "спам"),
    "et": ("saadetud, saadetud kirjad", "mustandid", "prügikast", "rämpspost"),
    "lv": ("nosūtītās, nosūtītie, nosūtītās vēstules", "melnraksti, uzmetumi",
           "miskaste, atkritne, papīrgrozs", "mēstules, surogātpasts"),
    "lt": ("išsiųsti, išsiųsti laiškai, išsiųstieji", "juodraščiai",
           "šiukšlinė, šiukšliadėžė", "šlamštas, brukalas"),
    "el": ("απεσταλμένα, σταλμένα", "πρόχειρα",
           "κάδος απορριμμάτων, κάδος απορριμάτων, κάδος, διαγραμμένα",
           "ανεπιθύμητα, ανεπιθύμητη αλληλογραφία"),
    "tr": ("gönderilmiş postalar, gönderilenler, gönderilmiş, gönderilmiş öğeler, "
           "gönderilen postalar", "taslaklar, taslak",
           "çöp kutusu, çöp, silinmiş öğeler, silinmiş, silinenler",
           "istenmeyen, istenmeyen e-posta, gereksiz, önemsiz, önemsiz e-posta"),
    "az": ("göndərilənlər", "qaralamalar", "səbət, zibil qutusu", "spam"),
    "ru": ("отправленные, отправленное", "черновики, черновик",
           "корзина, удаленные, удалённые", "спам, нежелательная почта"),
    "uk": ("надіслані, відправлені", "чернетки", "кошик, видалені",
           "спам, небажана пошта"),
    "be": ("дасланыя, адпраўленыя", "чарнавікі", "сметніца, кошык", "спам"),
    "bg": ("изпратени, изпратена поща", "чернови", "кошче, изтрити",
           "спам, нежелана поща"),
    "ka": ("გაგზავნილი", "მონახაზები, დროებითი", "ურნა, წაშლილი", "სპამი"),
    "hy": ("ուղարկված", "սևագրեր", "աղբարկղ", "սպամ, թափոն"),
    "he": ("נשלח, נשלחו, דואר יוצא, דואר שנשלח, הודעות שנשלחו, פריטים שנשלחו",
           "טיוטות, טיוטה", "אשפה, פח אשפה, סל אשפה, פריטים שנמחקו, נמחקו",
           "ספאם, דואר זבל, זבל"),
    "ar": ("المرسل, البريد المرسل, الرسائل المرسلة, العناصر المرسلة, مرسل",
           "المسودات, مسودات", "المهملات, سلة المهملات, العناصر المحذوفة, المحذوفة",
           "الرسائل غير المرغوب فيها, رسائل غير مرغوب فيها, غير مرغوب فيها, "
           "غير المرغوب, البريد العشوائي, بريد عشوائي, البريد غير الهام"),
    "fa": ("ارسال شده, ارسالشده, نامههای ارسالشده",
           "پیشنویسها, پیشنویس, پیش نویس, پیش نویس ها",
           "زبالهدان, حذفشدهها, سطل زباله", "هرزنامه"),
    "hi": ("भेजी गई मेल, भेजे गए, भेजा गया, भेजी गई", "ड्राफ़्ट, ड्राफ्ट",
           "ट्रैश, रद्दी", "स्पैम"),
    "th": ("ส่งแล้ว, จดหมายที่ส่งแล้ว, รายการที่ส่ง",
           "จดหมายร่าง, ร่างจดหมาย, ร่าง, แบบร่าง", "ถังขยะ, รายการที่ถูกลบ",
           "จดหมายขยะ, สแปม, อีเมลขยะ"),
    "vi": ("đã gửi, thư đã gửi", "thư nháp, bản nháp", "thùng rác, thư đã xóa",
           "thư rác"),
    "id": ("terkirim, pesan terkirim, item terkirim", "draf, konsep",
           "sampah, tong sampah, surat terhapus, item terhapus", "email sampah"),
    "ms": ("dihantar", "draf", "sampah, tong sampah", "spam"),
    "fil": ("naipadala, ipinadala", "mga draft", "basurahan", "spam"),
    "ja": ("送信済み, 送信済みメール, 送信済みアイテム, 送信済みトレイ", "下書き",
           "ゴミ箱, ごみ箱, 削除済みアイテム, 削除済み", "迷惑メール, スパム"),
    "zh": ("已发送, 已发邮件, 已发送邮件, 寄件備份, 已傳送郵件, 已傳送的郵件",
           "草稿, 草稿箱, 草稿匣",
           "已删除邮件, 已删除, 废纸篓, 回收站, 垃圾桶, 刪除的郵件, 已刪除的郵件",
           "垃圾邮件, 垃圾郵件, 垃圾信件, 垃圾箱"),
    "ko": ("보낸편지함, 보낸 편지함, 보낸메일함, 보낸 메일함",
           "임시보관함, 임시 보관함", "휴지통, 지운 편지함, 삭제된 항목",
           "스팸함, 스팸 편지함, 스팸메일함, 스팸, 정크 메일"),
}  # fmt: skip
"""By language: what sent mail, drafts, trash and spam are called, in lower case."""
_CHAT = "chat, chats, чат, чаты, чати, チャット, 聊天, 채팅"


_UNEQUAL = re.compile(r"^\[(?:gmail|google mail)\]/|[\u0307\u200b-\u200f\ufeff]")


@lru_cache(maxsize=4_096)  # a mailbox has few labels
def _plain(label: str) -> str:
    """A label without what systems write differently: letters' cases and composition,
    invisible marks, and the root that Gmail's folders have in IMAP."""
    plain = unicodedata.normalize("NFKC", label).casefold()
    return _UNEQUAL.sub("", plain).strip()


_SENT = {_plain(name) for names in _NAMES.values() for name in names[0].split(",")}
_UNWANTED = {
    _plain(name): reason
    for place, reason in ((3, "in spam"), (2, "in the trash"), (1, "drafts"))
    for names in _NAMES.values()
    for name in names[place].split(",")
} | {_plain(name): "chat messages" for name in _CHAT.split(",")}

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
    return any(_plain(label) in _SENT for label in labels)


def unwanted(labels: tuple[str, ...]) -> str:
    """Why mail with these labels is left out; empty if it is not."""
    for label in labels:
        reason = _UNWANTED.get(_plain(label))
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
