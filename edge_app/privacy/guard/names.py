"""Names in scripts without capital letters, by titles and family names.

A private text is read: what is taken for a name too much is looked for in drafts in
vain. What no title and no family name gives away, such as a Thai first name alone, is
not found here.
"""

# ruff: noqa: E501 (tables of names)
from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from importlib import resources

_TABLES = {
    name: frozenset(words.split())
    for name, words in tomllib.loads(
        resources.files(__package__).joinpath("names.toml").read_text("utf-8")
    ).items()
}
_JAPANESE, _ONE_SIGN = _TABLES["japanese"], _TABLES["japanese_of_one_sign"]
_NO_NAME = _TABLES["before_a_title_and_no_name"]
_CHINESE_WORDS = _TABLES["chinese_words"]
_NO_SHORT_NAME, _CHINESE_TWO = _TABLES["no_short_name"], _TABLES["chinese_of_two"]
_CHINESE, _SURELY_CHINESE, _KOREAN = (
    frozenset("".join(_TABLES[name]))
    for name in ("chinese", "surely_chinese", "korean")
)
_HAN = r"[\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
_KATAKANA, _HIRAGANA = r"[\u30a1-\u30fa\u30fc]", r"[\u3041-\u3096\u30fc]"
KANA = re.compile(rf"{_HIRAGANA}|{_KATAKANA}")
HIRAGANA = re.compile(rf"{_HIRAGANA}+")
HAN_WORD = re.compile(rf"{_HAN}{{4,}}")
"""So many Han between kana are a name, or a word of those who know."""
FULL_KOREAN = re.compile(r"[가-힣]{3,}\Z")

_JAPANESE_TITLE = r"(?:さん|ちゃん|くん|さま|様(?!々)|氏|君|殿|先生|先輩|課長|部長|社長|店長|教授|医師|夫妻)"
_PLACE = "県市区町村駅州省国語人"
_JAPANESE_NAMED = re.compile(
    rf"({_HAN}{{1,7}}|{_KATAKANA}{{2,12}}(?:[・=＝ ]{_KATAKANA}{{2,12}}){{0,2}}"
    rf"|{_HIRAGANA}{{2,12}})[ 　]?(?={_JAPANESE_TITLE})"
)
_JAPANESE_GREETED = re.compile(
    rf"^[ 　]*({_HAN}{{2,4}}|{_KATAKANA}{{2,12}}|{_HIRAGANA}{{2,6}})へ[、，,！!]?[ 　]*$",
    re.MULTILINE,
)
_HAN_RUN = re.compile(rf"{_HAN}{{2,}}")
_DOTTED = re.compile(rf"{_KATAKANA}{{2,12}}(?:[・=＝]{_KATAKANA}{{2,12}})+")

_CHINESE_TITLE = (
    r"(?:先生|女士|小姐|太太|夫人|老师|老師|医生|醫生|大夫|教授|博士|经理|經理|主任|律师|律師|总|總|阿姨|叔叔"
    r"|师傅|師傅|同学|同學|哥|姐|奶奶|爷爷)"
)
_GREETED = re.compile(
    rf"(?:亲爱的|親愛的|尊敬的|敬爱的|致)?({_HAN}{{2,4}}?)(?:{_CHINESE_TITLE})?(?:你好|您好)?[：:,，！!]"
)

_NO_GIVEN = "的了是在我你您他她它们們不也就都很和与與吗嗎吧呢啊这這那有没沒去来來到会會能要说說给給让讓对對从從把被还還又"
"""Signs that no given name has."""

_KOREAN_WORD = re.compile(r"[가-힣]{3,}")
_KOREAN_TITLED = re.compile(
    r"([가-힣]{2,4}) ?(?=씨|님|선생|과장|부장|대리|팀장|사장|교수|박사|원장|이모|삼촌|언니|오빠|누나|형(?![가-힣]))"
)
_KOREAN_PARTICLE = re.compile(
    r"(?:이?가|[은는을를와과도만의에야아여]|이랑|랑|하고|에게서?|한테서?|께서?|씨.*|님.*|이?네|으?로|보다|처럼|까지|부터"
    r"|입니다|이?에요|예요|이?라[고는])\Z"
)

_TITLED = re.compile(
    "(คุณ|นางสาว|นาย|นาง|พี่|น้อง|อาจารย์|หมอ|ลุง|ป้า|น้า|ท่าน|ທ່ານ|ທ້າວ|ນາງ|លោកស្រី|លោក|អ្នកស្រី|កញ្ញា"
    "|ဦး|ဒေါ်|ကို|မောင်|ဆရာ)[ .]?([\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1780-\u17d3]{3,16})"
)
"""Behind these a name begins; where it ends no blank tells."""
_LEAST_BEHIND_TITLE = 4
_SHORT = re.compile(r"(?<![\w'׳״])(?:[א-ת]{3}|[ء-ي]{3})(?![\w'׳״])")
_TITLE_OF_NAME = re.compile(
    r"(?:מר|גב['׳]|ד[\"״]ר|הרב|السيدة?|الدكتورة?|الأستاذة?|الشيخ) ([א-תء-ي]{2,})(?: ([א-תء-ي]{2,}))?"
)


def names_in(text: str) -> Iterator[str]:
    """Names of a private text and their parts, as looked for in runs of letters."""
    if text.isascii():
        return
    text = unicodedata.normalize("NFKC", text)  # narrow kana are wide ones, too
    if KANA.search(text):
        yield from _japanese(text)
    else:
        yield from _chinese(text)
    for found in _KOREAN_TITLED.finditer(text):
        yield from parts_of(found[1])
    for found in _KOREAN_WORD.finditer(text):
        stem = _KOREAN_PARTICLE.sub("", found[0])
        if len(stem) == 3 and stem[0] in _KOREAN:
            yield from parts_of(stem)
    for found in _TITLED.finditer(text):
        title, behind = found.groups()
        for size in range(_LEAST_BEHIND_TITLE, len(behind) + 1):
            yield behind[:size]
        yield title + behind[:_LEAST_BEHIND_TITLE]
    for found in _TITLE_OF_NAME.finditer(text):
        yield from filter(None, found.groups())
    yield from (short for short in _SHORT.findall(text) if short not in _NO_SHORT_NAME)


def parts_of(name: str) -> Iterator[str]:
    """A full name in Han or Hangul, and its parts of two letters or more."""
    name = unicodedata.normalize("NFC", name)
    yield name
    if not re.fullmatch(rf"{_HAN}{{3,6}}|[가-힣]{{3,5}}", name):
        return
    family = _family(name)
    yield from (part for part in (name[:family], name[family:]) if len(part) > 1)


def _family(name: str) -> int:
    """Of how many letters the family name is."""
    for size in (3, 2):
        if name[:size] in _JAPANESE or name[:size] in _CHINESE_TWO:
            return size
    chinese = name[0] in _CHINESE and len(name) == 3
    return 1 if chinese or "가" <= name[0] <= "힣" or len(name) == 3 else 2


def _japanese(text: str) -> Iterator[str]:
    for found in _JAPANESE_NAMED.finditer(text):
        title = text[found.end() :][:2]
        shown = found[1]
        if shown in _NO_NAME:
            continue
        if re.match(_HAN, shown):
            at = next((i for i in range(len(shown)) if _starts_family(shown[i:])), None)
            if at is not None:
                yield from parts_of(shown[at:])
            elif len(shown) > 1:
                yield shown
            yield shown[at or 0 :] + title
            if at is None and len(shown) > 3:
                yield shown[-2:]
        elif re.match(_KATAKANA, shown):
            yield from (shown, *re.split(r"[・=＝ ]", shown))
        else:
            # What stands before a name in this script is not set apart from it.
            yield from (shown[-size:] + title for size in (2, 3) if len(shown) >= size)
            if 3 <= len(shown) <= 4:
                yield shown
    for found in _JAPANESE_GREETED.finditer(text):
        yield from parts_of(found[1])
    for found in _DOTTED.finditer(text):
        yield from (found[0], *re.split(r"[・=＝]", found[0]))
    for found in _HAN_RUN.finditer(text):
        run = found[0]
        if _starts_family(run) and len(run) <= 6 and run[-1] not in _PLACE:
            yield from parts_of(run)


def _starts_family(run: str) -> bool:
    """Whether a run of Han begins with a Japanese family name."""
    if run[2:3] and run[2] in _PLACE:
        return False
    alone = run[0] in _ONE_SIGN and len(run) == 1
    return alone or any(run[:size] in _JAPANESE for size in (2, 3))


def _chinese(text: str) -> Iterator[str]:
    if greeted := _GREETED.match(text.lstrip()):
        yield greeted[1]
    for found in _HAN_RUN.finditer(text):
        run = found[0]
        for at in range(len(run) - 1):
            size = 2 if run[at : at + 2] in _CHINESE_TWO else 1
            if size == 1 and (
                run[at] not in _CHINESE or run[at : at + 2] in _CHINESE_WORDS
            ):
                continue
            titled = re.match(rf"({_HAN}{{0,2}}?){_CHINESE_TITLE}", run[at + size :])
            if titled:
                full = run[at : at + size] + titled[1]
                yield run[at : at + size] + titled[0]
                if titled[1]:
                    yield from parts_of(full)
                continue
            if at and run[at - 1] in "老小阿":
                yield run[at - 1 : at + 1]
            for given in (1, 2):
                if run[at + size + given - 1 :][:1] in ("", *_NO_GIVEN):
                    break
                yield run[at : at + size + given]
                if given == 2 and run[at : at + size] in (
                    *_SURELY_CHINESE,
                    *_CHINESE_TWO,
                ):
                    yield run[at + size : at + size + given]
