"""What the guard takes for private, and what not."""

import json
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edge_app.privacy.guard.formats import spans_of
from edge_app.privacy.guard.gate import Scanner, check
from edge_app.privacy.guard.history import index_of, index_of_store
from models.prompts import Request
from personal_store import Store, import_source
from tests.waiting import no_hang

LETTERS = (
    "Hi Ana,\n\nZoltan's number is 0176 5512 334, he moved to 12 Harbour Lane. Dr. "
    "Petrović-Sørensen says the door code is KX-7731.\n\nTess",
    "Hi Ben,\n\nGrace Long was born on 3 April 1979; write to zoltan.kiss@mail.test. "
    "We are selling the old mill before winter comes.\n\nTess",
)
NOTHING = index_of((), "")
INDEX = index_of(
    LETTERS, "Thank Ana for the photos.", correspondents=[("Will Baker", "wb@x.test")]
)


def found(text, index=INDEX):
    spans = Scanner(index).scan(text, final=True).spans
    return [(text[span.start : span.end], span.kind) for span in spans]


@pytest.mark.parametrize(
    ("text", "span", "kind"),
    [
        ("from DE89 3704 0044 0532 0130 00 today", "DE89 3704 0044 0532 0130 00", 0),
        ("from gb33bukb20201555555555 today", "gb33bukb20201555555555", "bank account"),
        ("use 4111-1111-1111-1111 now", "4111-1111-1111-1111", "card"),
        ("call +44 20 7946 0958 now", "+44 20 7946 0958", "phone"),
        ("call (020) 7946.0958 now", "(020) 7946.0958", "phone"),
        ("my PIN is 4821, so", "4821", "id"),
        ("the passport X1234567 is", "X1234567", "id"),
        ("write to a.b+c@d-e.org soon", "a.b+c@d-e.org", "email"),
        ("write to ann at mail dot org soon", "ann at mail dot org", "email"),
        ("see https://x.test/y?z=1.", "https://x.test/y?z=1", "link"),
        ("at 12 St. Mary's Road now", "12 St. Mary's Road", "address"),
        ("in der Lindenstraße 5 wohnt", "Lindenstraße 5", "address"),
        ("au 5 rue de la Paix ce", "5 rue de la Paix", "address"),
        ("en Calle Mayor 3 vive", "Calle Mayor 3", "address"),
        ("she was born on 12 May 1980 in", "12 May 1980", "date"),
        ("her birthday is March 3rd and", "March 3rd", "date"),
        ("my account holds 1,250 euros now", "1,250 euros", "amount"),
        ("it is four one, nine two seven ok", "four one, nine two seven", "number"),
        # Whatever sets the groups apart, and in digits of all scripts.
        (
            "to NL91\u00a0ABNA\u20090417\n1643.00 ok",
            "NL91\u00a0ABNA\u20090417\n1643.00",
            0,
        ),
        ("to NL 91 ABNA 0417 1643 00 and so", "NL 91 ABNA 0417 1643 00", 0),
        ("to de 89 3704 0044 0532 0130 00 ok", "de 89 3704 0044 0532 0130 00", 0),
        ("use 5500_0055_5555_5559 now", "5500_0055_5555_5559", "card"),
        ("use 5500\n0055\u20095555.5559 now", "5500\n0055\u20095555.5559", "card"),
        ("use ٥٥٠٠ ٠٠٥٥ ٥٥٥٥ ٥٥٥٩ now", "٥٥٠٠ ٠٠٥٥ ٥٥٥٥ ٥٥٥٩", "card"),
        ("call +44 20\n7946 0958 now", "+44 20\n7946 0958", "phone"),
        ("電話は０９０－１２３４－５６７８です", "０９０－１２３４－５６７８", "phone"),
        ("전화는 010-2345-6789예요", "010-2345-6789", "phone"),
        ("mail ｋｉｍ＠ｍａｉｌ．ｏｒｇ ok", "ｋｉｍ＠ｍａｉｌ．ｏｒｇ", "email"),
        ("wir haben 1,5 Mio. Schulden", "1,5 Mio", "amount"),
        ("he inherited £340k of it", "£340k", "amount"),
        ("mam 90 tys. zł kredytu, kredyt", "90 tys. zł", "amount"),
        ("she was born in '62, I think", "'62", "date"),
        ("born on the ninth of June nineteen fifty, yes", 0, "date"),
        ("geboren am neunten Juni neunzehnhundertfünfzig.", 0, "date"),
        ("née le neuf juin mille neuf cent cinquante.", 0, "date"),
        ("nació el nueve de junio de mil novecientos cincuenta.", 0, "date"),
    ],
)
def test_forms(text, span, kind):
    """Whoever wrote them: no history is needed to know these."""
    spans = found(text, NOTHING)
    if span == 0:  # all behind the word and its preposition
        span = re.split(r"born on the |geboren am |née le |nació el ", text)[1]
        span = re.split(r"[,.]", span)[0]
    # What is held goes over no end of a line.
    for part in span.split("\n"):
        assert (part, kind or "bank account") in spans


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("so ZOLTAN came", "ZOLTAN"),
        ("and zoltan’s son", "zoltan"),
        ("the Petrovic-Sorensens came", "Petrovic-Sorensens"),
        ("call 0176-5512334 or", "0176-5512334"),
        ("call +49 176 5512 334 or", "+49 176 5512 334"),
        ("code kx 7731 or", "kx 7731"),
        ("at 12  harbour lane or", "12  harbour lane"),
        ("for Will Baker again", "Will Baker"),
        ("for grace long again", "grace long"),
        ("mail zoltan kiss at mail dot test or", "zoltan kiss at mail dot test"),
        ("they're selling the old mill before long", "selling the old mill before"),
    ],
)
def test_what_the_history_holds_is_found_however_it_is_written(text, span):
    assert any(shown.startswith(span) for shown, _ in found(text))


@pytest.mark.parametrize(
    "text",
    [
        "Hi Ana, thank you for the 12 photos. Will you come on Monday at 10:30?",
        "I hope you are well. We met in 2019 in London, and again on May 3.",
        "It costs $20, or 1,000 for fifty; chapter 3.14 and the 21st century.",
        "Looking forward to hearing from you.\n\nBest wishes,\nTess",
        "1. Bread\n2. Milk\n3. A4 paper, the mp3 and 5 km of rope",
        "2018\n2019\n2020\n2021 were warm; 12 m of cord, 3 k to run, 5 million people.",
        "Happy birthday to you, and may you live long!",
    ],
)
def test_everyday_text_is_left_alone(text):
    assert not found(text)


ELSEWHERE = (
    "高木恵子様\n\n荷物は村田和也さんが預かっています。林さんとマルタ・ロペスさんにも聞いてください。\n\nテス",
    "ソフィアへ、\n\n傘はﾅｵﾐさんの家にあります。",
    "亲爱的志强：\n\n雨伞在刘玉兰那里，张先生也知道。我很高兴。",
    "윤하늘 씨,\n\n우산은 최유진이 가지고 있어요.",
    "שלום אורית,\n\nהמטרייה אצל חנן ברגר.",
    "عزيزتي سلوى،\n\nالمظلة عند ياسمين الحلبي.",
    "เรียนคุณวิชัย\n\nร่มอยู่กับคุณมาลีครับ",
    "Дорогая Инна, зонт у Фёдора Лаптева.",
    "Sevgili Nurgül, şemsiye Işıl Çınar’da.",
)
ABROAD = index_of(
    ELSEWHERE,
    "Tell Ben who has the umbrella.",
    correspondents=[
        ("高木恵子", "k@x.test"),
        ("윤하늘", "y@x.test"),
        ("สมศรี", "s@x.test"),
    ],
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("昨日高木恵子と会った。高木さんも恵子も元気。", "高木恵子 高木 恵子"),
        ("それで村田和也に渡した、和也は林さんと来る", "村田和也 和也 林さん"),
        ("ﾏﾙﾀとロペスが来た、まるたも", "ﾏﾙﾀ ロペス まるた"),
        ("昨日ソフィアとナオミが来た", "ソフィア ナオミ"),
        ("昨天刘玉兰来过，玉兰说志强也来，张先生不来", "刘玉兰 玉兰 志强 张先生"),
        ("어제 윤하늘을 봤고 하늘이랑 최유진에게, 유진이는", "윤하늘 하늘 최유진 유진"),
        ("오늘우리윤하늘씨가왔다", "윤하늘"),
        ("דיברתי עם ואורית ושלחנן, לברגר", "אורית חנן ברגר"),
        ("تكلمت مع وياسمين ولسلوى والحلبي", "ياسمين سلوى الحلبي"),
        ("เมื่อวานเจอวิชัยและมาลีกับสมศรีที่ตลาด", "วิชัย มาลี สมศรี"),
        ("Вчера видел Инну с Фёдором Лаптевым", "Инну Фёдором Лаптевым"),
        ("Dün IŞIL’la, nurgülün evinde Çınar'ı gördüm", "IŞIL nurgül Çınar"),
    ],
)
def test_names_are_found_inside_runs_of_letters(text, names):
    """Without blanks, with what other languages write together with a name, its parts
    alone, in every normal form, and while the text grows."""
    for form in ("NFC", "NFD"):
        shown = unicodedata.normalize(form, text)
        spans = Scanner(ABROAD).scan(shown, final=True).spans
        held = "\n".join(shown[span.start : span.end] for span in spans)
        for name in names.split():
            assert unicodedata.normalize(form, name) in held
        for end in range(len(shown)):
            clear = Scanner(ABROAD).scan(shown[:end]).clear
            assert not any(span.start < clear < span.end for span in spans)


@pytest.mark.parametrize(
    "text",
    [
        "ありがとうございます。今日はとても高い木を見ました。",
        "谢谢你，我很高兴认识你。他在图书馆看书。",
        "좋은 아침이에요",
        "בוקר טוב לכולם",
        "สวัสดีตอนเช้า",
        "Доброе утро всем",
    ],
)
def test_everyday_text_of_other_scripts_is_left_alone(text):
    assert not found(text, ABROAD)


def test_a_name_of_another_script_that_the_request_says_may_leave():
    index = index_of(ELSEWHERE, "村田和也さんと 최유진 씨, לאורית")
    assert not found("村田和也は최유진이랑 אורית", index)


@pytest.mark.parametrize(
    ("letter", "draft", "secret"),
    [
        ("We got 340k for the mill.", "I heard 340k was paid.", "340k"),
        ("We got 340k for the mill.", "I heard 340,000 was paid.", "340,000"),
        ("They paid £1.4m for it.", "It was 1,400,000 in all.", "1,400,000"),
        ("Liz was born in '62.", "She is of '62, like you.", "62"),
        ("Liz was born in 1962.", "In '62 it snowed.", "62"),
        ("The doctor says it is a weak heart.", "Yes, a weak heart.", "weak heart"),
        ("The clinic found gallstones.", "So it is gallstones.", "gallstones"),
        ("Sie ist krank, es ist Epilepsie.", "Ja, Epilepsie.", "Epilepsie"),
        ("Elle souffre d'un ulcère.", "Oui, un ulcère.", "ulcère"),
        ("The clinic says it is sarcoidosis.", "Sarcoidosis it is.", "Sarcoidosis"),
        ("The safe word is yellow kettle.", "Say yellow kettle.", "yellow kettle"),
        ("Say “kettle”: that is the password.", "So, kettle.", "kettle"),
        ("Das Kennwort lautet kalter Mond.", "Kalter Mond, sagt er.", "Kalter Mond"),
        ("Le mot de passe est petite lune.", "Dis petite lune.", "petite lune"),
    ],
)
def test_what_stands_beside_a_word_that_tells_is_found_elsewhere(letter, draft, secret):
    """Amounts, days of birth, illnesses and words that open something, though all of
    them are common words."""
    index = index_of((f"Hi Ana,\n\n{letter} See you.\n\nTess",), "Tell Ana about it.")
    assert any(secret in shown for shown, _ in found(draft, index))
    said = index_of((f"Hi Ana,\n\n{letter}\n\nTess",), f"Tell Ana: {letter}")
    assert not found(draft.removesuffix(", like you."), said) or "340" in draft


def test_odd_texts_take_no_time():
    for odd in (
        ". ",
        "a@b. ",
        "1 ",
        "DE89 ",
        "born ",
        "password is ",
        "ty ",
        "一",
        "가 ",
    ):
        with no_hang():
            Scanner(ABROAD).scan(f"x@ {odd * 100}!?")
            index_of((odd * 300,), "")


def test_what_the_request_says_may_leave():
    index = index_of(LETTERS, "Ask Zoltan for 0176 5512334 and the old mill")
    assert not found("Zoltan, is 0176 5512 334 right?", index)
    assert found("Grace Long, is it right?", index)


def test_what_the_person_allowed_may_leave():
    index = index_of(LETTERS, "", allowed=["Zoltan", "selling the old mill"])
    assert not found("for Zoltan alone", index)


FEW = (
    "Good day Otto, my mellow ivy,\n\nStill no plan of the seats. Bless my little "
    "thistle, we are selling the old mill before winter.\n\nYours in cinder and anvil,"
    "\nRuby",
    "Hello again Liz, light of the town!\n\nThe lamp is late, bless my little thistle, "
    "and so am I. Zoltan keeps the dog.\n\nWith a wave of the spoon,\nRuby",
)


def test_few_texts_show_habits_too():
    """How a text of their writer begins and ends, and what stands in two of them."""
    index = index_of(FEW, "Thank Ben for the bread", own=FEW)
    for text in (
        "Good day Ben, my mellow ivy,\n\nThe bread was good.",
        "Hello again Ben, light of the town!\n\nThank you.",
        "All is well.\n\nYours in cinder and anvil,\nRuby",
        "It is late, bless my little thistle, and cold.",
    ):
        assert not found(text, index)
    for secret in ("we are selling the old mill before winter", "Zoltan keeps the dog"):
        assert found(f"As I said, {secret}, you know.", index)


@pytest.mark.parametrize(
    "own",
    [
        # One paragraph is all of it; the first one is a sentence, or tells a number.
        ("She keeps the spare money in the piano,",),
        ("She keeps the spare money in the piano.\n\nTell nobody, my friend.",),
        ("She keeps the spare money in the piano, behind door 7,\n\nGo there.",),
        # The last one is no name's.
        ("Hello you,\n\nShe keeps the spare money in the piano, as you may know.",),
        # A copy of a letter is no second letter.
        (
            "Hi Ana,\n\nShe keeps the spare money in the piano. See you there.\n\nTess",
            "Hi Ben,\n\nShe keeps the spare money in the piano. See you there.\n\nTess",
        ),
    ],
)
def test_what_stands_in_few_texts_is_no_habit_by_that_alone(own):
    index = index_of(own, "", own=own)
    assert found("Look, the spare money in the piano is yours.", index)


def test_a_note_that_quotes_a_letter_makes_no_habit():
    note = "He says we are selling the old mill before winter."
    index = index_of((*FEW, note, note), "", own=FEW)
    assert found("Look, we are selling the old mill before winter.", index)


LETTER = (
    "Drorock Ana,\n\nI was sorry that you had to go home. Short and sweet. The whole "
    "of it is here, and the CIO agrees with the gooseberry. #quietkettle\n\nThe merger "
    "is off until the audit ends.\n\nYours in gherkin and brine,\nQuillon"
)


@pytest.mark.parametrize(
    "text",
    [
        # Words in a row that are common ones, or of two sentences.
        "I was sorry that you came.",
        "He is short and sweet. The whole of it is gone.",
        # Words of a dictionary, for all to read, in capitals, or of the frame.
        "A gooseberry for the CIO, a gherkin for me. #quietkettle",
        "Drorock Ana, it is me.\n\nYours in gherkin and brine,\nQuillon",
    ],
)
def test_what_tells_nothing_is_no_secret(text):
    people = [("Ana Bell", "")]
    index = index_of((LETTER,), "To Ana", own=(LETTER,), correspondents=people)
    assert not found(text, index)


def test_a_run_is_held_from_its_first_word_once_it_tells_enough():
    index = index_of((LETTER,), "", own=(LETTER,))
    assert found("So the merger is off until the audit ends.", index)
    short = "We know that the merger is off"
    assert Scanner(index).scan(short).clear == short.index("the merger")
    assert not found(f"{short}, I think.", index)


def test_a_word_that_few_use_tells_more_in_a_row_than_a_usual_one():
    assert INDEX.bits_of(["the", "and"]) == 0.0
    assert INDEX.bits_of(["mill"]) > INDEX.bits_of(["house"]) > 0.0
    often = [f"Letter {n}.\n\nThe mill again, day {n}." for n in range(3)]
    index = index_of(often, "", own=often)
    assert index.bits_of(["mill"]) == INDEX.bits_of(["mill"]) / 2


def test_a_number_has_the_region_of_the_texts():
    index = index_of(("call +49 30 901820 or", "x"), "")
    assert index.region == "DE"


def test_a_report_says_what_would_be_sent():
    report = check("Call Zoltan at 0176 5512 334 please.", INDEX)
    assert [one.kind for one in report.found] == ["person", "phone"]
    assert report.public.endswith(" at +00 000 please.")
    assert report.held_back == 4
    assert report.words == 7
    assert spans_of("nothing here") == []


def test_a_clear_stretch_stays_as_it_is_whatever_follows():
    text = (
        "Dear Ana, zoltan and Will Baker (kx 7731) say we are selling the old mill "
        "before winter; 12 Harbour Lane, 0176 5512-334, on 3 April 1979. Best, Tess"
    )
    scanner = Scanner(INDEX)
    whole = scanner.scan(text, final=True).spans
    for end in range(len(text)):
        scan = scanner.scan(text[:end])
        assert scan.spans == tuple(span for span in whole if span.end <= scan.clear)
        assert not any(span.start < scan.clear < span.end for span in whole)


PARTS = (
    *re.findall(r"\s?\w+|[^\w\s]|\s", f"{LETTERS[0]} {LETTERS[1]} {ELSEWHERE[0]}"),
    *re.findall("[^|]+", " Zol|tan| at| dot|@| 17| 655| 5512-334| four| £|340k| born"),
    *re.findall("[^|]+", " the| safe| |\n|?|高木|恵子| Инн|у|é|\u0301"),
)
steps = st.lists(
    st.tuples(
        st.lists(st.sampled_from(PARTS), min_size=1, max_size=9),
        st.integers(0, 3),  # so many parts are other ones now
        st.integers(0, 60),
        st.booleans(),
    ),
    max_size=12,
)


@given(st.sampled_from([INDEX, ABROAD]), steps)
@example(INDEX, [([" 17", " ", " 655", "."], 0, 60, True)])
@example(INDEX, [([" old", " mill", " before", " Zol", "tan"], 0, 9, False)])
def test_a_text_looked_at_as_it_grows_has_the_spans_of_one_looked_at_anew(index, steps):
    carried, parts = Scanner(index), []
    for more, fewer, behind, final in steps:
        parts = [*parts[: max(0, len(parts) - fewer)], *more]
        for size in range(max(1, len(parts) - len(more)), len(parts) + 1):
            text = "".join(parts[:size])
            start = max(0, len(text) - behind)
            named = {"final": final and size == len(parts)}
            named["context"] = max(0, start - 40)
            anew = Scanner(index).scan(text, start, **named)
            assert carried.scan(text, start, **named) == anew


def test_to_whom_and_of_what_a_text_was_is_private_too(tmp_path):
    """It stands above the text in the prompt, wherever the index is made."""
    reviews = tmp_path / "reviews.jsonl"
    body = {"text": "Cold soup.", "recipient": "Quixobrim Lodge", "kind": "review"}
    reviews.write_text(json.dumps(body | {"subject": "At Zandertops"}))
    with Store.open(tmp_path / "store.db") as store:
        import_source(store, "jsonl", reviews)
        index = index_of_store(store, store.recent(), Request("Say no to the soup."))
    for shown in ("Quixobrim", "Zandertops"):
        (span,) = Scanner(index).scan(f"We were at {shown} again.", final=True).spans
        assert shown in f"We were at {shown} again."[span.start : span.end]


def test_no_span_goes_over_the_end_of_a_line():
    """What stands in for it has as many lines, and none of them is half of one."""
    text = "Best,\nZoltan\nPetrović-Sørensen\nThe door code\nis KX-7731."
    spans = [shown for shown, _ in found(text)]
    assert spans[:2] == ["Zoltan", "Petrović-Sørensen"]
    assert not [shown for shown in spans if "\n" in shown or shown != shown.strip()]
