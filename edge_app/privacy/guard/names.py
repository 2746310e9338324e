"""Names in scripts without capital letters, by titles and family names.

A private text is read: what is taken for a name too much is looked for in drafts in
vain. What no title and no family name gives away, such as a Thai first name alone, is
not found here.
"""

# ruff: noqa: E501 (tables of names)
from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_HAN = r"[\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
_KATAKANA, _HIRAGANA = r"[\u30a1-\u30fa\u30fc]", r"[\u3041-\u3096\u30fc]"
KANA = re.compile(rf"{_HIRAGANA}|{_KATAKANA}")
HIRAGANA = re.compile(rf"{_HIRAGANA}+")
HAN_WORD = re.compile(rf"{_HAN}{{4,}}")
"""So many Han between kana are a name, or a word of those who know."""
FULL_KOREAN = re.compile(r"[가-힣]{3,}\Z")

_JAPANESE = _set(
    "佐藤 鈴木 高橋 田中 伊藤 渡辺 渡邊 渡邉 山本 中村 小林 加藤 吉田 山田 佐々木 山口 松本 井上 木村 斎藤 斉藤 齋藤 清水 "
    "山崎 池田 橋本 阿部 石川 山下 中島 石井 小川 前田 岡田 長谷川 藤田 後藤 近藤 村上 遠藤 青木 坂本 福田 太田 西村 藤井 "
    "藤原 岡本 三浦 金子 中野 中川 原田 松田 竹内 小野 田村 中山 和田 石田 森田 上田 内田 柴田 酒井 宮崎 横山 高木 安藤 "
    "宮本 大野 小島 谷口 今井 工藤 高田 増田 丸山 杉山 村田 大塚 新井 小山 平野 藤本 河野 上野 野口 武田 松井 千葉 菅原 "
    "岩崎 木下 久保 佐野 野村 松尾 市川 菊地 菊池 杉本 古川 大西 島田 水野 桜井 高野 吉川 山内 西田 飯田 西川 小松 北村 "
    "安田 五十嵐 川口 平田 中田 久保田 東 服部 川崎 岩田 土屋 福島 本田 辻 樋口 秋山 田口 永井 中西 吉村 川上 石原 大橋 "
    "松岡 馬場 浜田 森本 星野 矢野 浅野 大久保 吉岡 小池 野田 荒木 松浦 熊谷 大谷 内藤 黒田 尾崎 川村 永田 望月 松村 荒井 "
    "堀 平井 大島 西山 早川 栗原 広瀬 横田 石橋 岩本 片山 萩原 須藤 関口 宮田 大石 本間 高山 岡崎 小田 吉野 鎌田 伊東 上原 "
    "篠原 小西 松原 福井 古賀 大森 成田 小泉 南 奥村 内山 沢田 川島 桑原 三宅 片岡 富田 杉浦 岡村 八木 奥田 小沢 松永 北川 "
    "関 平山 河合 牧野 白石 今村 寺田 青山 中尾 小倉 渋谷 上村 小野寺 大川 足立 岡 天野 坂口 多田 佐久間 豊田 村井 米田 "
    "原口 黒木 飯島 石黒 根本 榎本 川田 浅井 森山 大場 神田 堀内 森 林"
)
_ONE_SIGN = _set("東 辻 堀 南 関 岡 森 林")
_JAPANESE_TITLE = r"(?:さん|ちゃん|くん|さま|様(?!々)|氏|君|殿|先生|先輩|課長|部長|社長|店長|教授|医師|夫妻)"
_NO_NAME = _set(
    "皆 母 父 兄 姉 弟 妹 客 奥 娘 息子 医者 婆 爺 嫁 叔母 叔父 伯母 伯父 祖母 祖父 王 神 子 孫 同 仕 模 有 多 一 "
    "異 何 彼 諸 店員 隣 隣人 友達 担当者 各 貴 看護師 大家 運転手 みな おかあ おとう おじい おばあ"
)
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

_CHINESE = frozenset(
    "张張周曹王李刘劉陈陳杨楊赵趙黄黃吴吳徐孙孫朱马馬胡郭林何高梁郑鄭罗羅宋谢謝唐韩韓曹许許邓鄧萧蕭肖冯馮曾程蔡彭潘袁董余苏蘇"
    "叶葉吕呂魏蒋蔣田杜丁沈姜范江傅钟鍾卢盧汪戴崔任陆陸廖姚方金邱夏谭譚韦賈贾邹鄒石熊孟秦阎閻薛侯雷白龙龍段郝孔邵史毛"
    "常万萬顾顧赖賴武康贺賀严嚴尹钱錢施牛洪龚龔汤湯陶黎温溫莫易樊乔喬文安殷颜顏庄章鲁魯倪邢翁俞聂聶齐齊梅柳申邬"
)
_SURELY_CHINESE = frozenset(
    "王李刘劉陈陳杨楊赵趙吴吳徐孙孫朱郭林罗羅宋韩韓邓鄧萧蕭冯馮蔡彭潘袁董苏蘇吕呂魏蒋蔣沈姜傅卢盧汪廖姚谭譚邹鄒孟秦薛侯郝邵龚龔"
)
"""Family names that are hardly words."""
_CHINESE_TWO = (
    "欧阳",
    "歐陽",
    "司马",
    "司馬",
    "上官",
    "诸葛",
    "諸葛",
    "司徒",
    "慕容",
    "皇甫",
    "夏侯",
)
_CHINESE_TITLE = (
    r"(?:先生|女士|小姐|太太|夫人|老师|老師|医生|醫生|大夫|教授|博士|经理|經理|主任|律师|律師|总|總|阿姨|叔叔"
    r"|师傅|師傅|同学|同學|哥|姐|奶奶|爷爷)"
)
_GREETED = re.compile(
    rf"(?:亲爱的|親愛的|尊敬的|敬爱的|致)?({_HAN}{{2,4}}?)(?:{_CHINESE_TITLE})?(?:你好|您好)?[：:,，！!]"
)
_CHINESE_WORDS = _set(
    "高兴 高興 高中 高大 高度 高级 高速 马上 馬上 马路 方便 方法 方面 方式 方向 方案 任何 任务 任務 任意 常常 常见 常用 "
    "万一 萬一 万分 安全 安排 安静 安心 安装 文件 文化 文章 文字 白天 白色 白菜 黄色 黃色 黄瓜 黄油 黄昏 金钱 金额 金色 "
    "钱包 錢包 石头 石頭 石油 牛奶 牛肉 夏天 夏季 江边 田里 易于 温度 温暖 溫暖 严重 嚴重 严格 程度 程序 余下 余额 许多 "
    "許多 许可 何时 何必 何况 谢谢 謝謝 谢意 史上 武器 康复 龙头 雷雨 梅雨 梅花 柳树 叶子 葉子 顾客 顧客 施工 齐全 莫名 "
    "易懂 汤里 申请 申請 章节 丁点 陆续 陸續 曾经 曾經 毛病 毛衣 毛巾 段时 胡说 胡子 范围 戴上 戴着 林子 苏打 熊猫 洪水 "
    "童年 孔雀 安慰 安家 文学 方才 白白 马虎 常年 任性 牛仔 夏日 江山 何以 何处 易拉 庄园 高峰 高铁 高考 高层 成为 程中 "
    "常在 万里 万元 文艺 文明 金子 金属 石榴 钱是 钱在 余地 余生 严肃 汤是 雷电 金融 王子 王国 马克 马桶 黄金 任由 白酒 "
    "白云 方块 熊孩 姐姐 罗马"
)

_NO_GIVEN = "的了是在我你您他她它们們不也就都很和与與吗嗎吧呢啊这這那有没沒去来來到会會能要说說给給让讓对對从從把被还還又"
"""Signs that no given name has."""

_KOREAN = frozenset(
    "김이박최정강조윤장임한오서신권황안송전홍유고문양손배백허남심노하곽성차주우구민류나진지엄채원천방공현함변염여추도소석선설마길연위표명기반왕금옥육인맹제모탁국어은편용"
)
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
_NO_SHORT_NAME = _set(
    "אבל אבא אחר אחד אחת אחי איך אין אלה אמא אני אנו אתה אתם ארץ באה באו "
    "בגל בוא בין בית בלי בנו בעל בצל בקר בתי גדל גור גלל גשר דבר דרך היא "
    "הוא היה היו הזה הזא הכל הלך הנה הרי הרב זאת זהו זמן חבר חדר חדש חיי "
    "חלק חצי חתן טוב יהי יום ימי יכל ילד ישב יחד ירד כאן כבר כדי כוס כזה "
    "כלל כמה כמו כסף כעת כפי כתב לאן לבד לבן להם לכם לכן לנו לפי לתת מאד "
    "מאה מדי מול מחר מאז מים מכל ממש מנה מעט מפה מצב מתי נגד נכן סוף סתם "
    "עבר עוד עיר עכש עלי עמו ערב עצה עשה פעם פרי פנה צהר קצת ראש רגע רוב "
    "רגל רחב רכב רצה שאל שבת שוב שום שלא שלי שלך שלו שלה שנה שני שעה שתי "
    "תוך תמי תיק איש אור ספר סוג שיר שמש גשם רוח לילה בהם בכל בלב במה בנה "
    "גבר הגע הבא הכי חוק חום חוף חזר חיה טעם יפה יצא كان كما كيف كلا كلم "
    "لكن لها لهم لنا لقد ليس ليت منه منا منذ معه معي مرة مثل متى مهم نحو "
    "نعم نفس هذا هذه هنا هما هيا هلا وقت ولا وهو وهي وما يوم يكن يجب بعد "
    "بعض بين بلد بنت بيت تلك تحت ثلث ثمن جدا جيد جزء حتى حول حين حسب حال "
    "خير خبر دون ذلك رأي ربع رجل زمن سنة سوف شيء شكر شهر شمس صار صبح صوت "
    "طول طفل ظهر عام عدة عدم عشر عمل عند عين غدا غير فقط فوق قال قبل قول "
    "قلب كتب كذا كثر لأن لدي لون ليل ماء مال مدة مكن ملك نوم هنا أبي أمي "
    "أخي أخت أنا أنت أين أول أهل إلى إذا إنه أما أكل آخر ألف"
)
_TITLE_OF_NAME = re.compile(
    r"(?:מר|גב['׳]|ד[\"״]ר|הרב|السيدة?|الدكتورة?|الأستاذة?|الشيخ) ([א-תء-ي]{2,})(?: ([א-תء-ي]{2,}))?"
)


def names_in(text: str) -> Iterator[str]:
    """Names of a private text and their parts, as they are looked for anywhere in runs
    of letters."""
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
    """A full name in Han or Hangul, and its family and given name, if they are of two
    letters and more: one alone is a word as well."""
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
