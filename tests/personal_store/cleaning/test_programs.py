"""What mail programs put around a message, program by program and word by word."""

import re

import pytest

from benchmarks.store.bench_cleaning import Case, score, words
from personal_store.cleaning import phrases
from personal_store.cleaning.cleaning import clean_text
from tests.mails.shapes import SHAPES
from tests.mails.texts import drafts, languages

DRAFTS = list(drafts(3 * len(languages()), seed=11))[::7]

# What programs write above a quote; each of them alone decides in its case.
VERBS = {
    "Afrikaans": ("het geskryf",),
    "Albanian": ("ka shkruar",),
    "Arabic": ("كتب", "كتبت"),
    "Armenian": ("գրել է",),
    "Azerbaijani": ("yazıb",),
    "Basque": ("idatzi zuen",),
    "Bulgarian": ("написа",),
    "Catalan": ("va escriure",),
    "Chinese": ("写道", "寫道"),
    "Croatian": ("je napisao", "je napisao/la", "napisao je", "napisao/la je"),
    "Croatian, of a woman": ("je napisala", "napisala"),
    "Czech": ("napsal", "napsala", "napsal(a)", "napsala(a)", "napísal"),
    "Danish, Norwegian, Swedish": ("skrev",),
    "Dutch": ("schreef", "geschreven"),
    "English": ("wrote", "writes"),
    "Estonian": ("kirjutas",),
    "Finnish": ("kirjoitti",),
    "French": ("a écrit", "écrit"),
    "Galician": ("escribiu",),
    "German": ("schrieb", "schrieben", "geschrieben"),
    "Greek": ("έγραψε",),
    "Hebrew": ("כתב", "כתבה", "כתב/ה"),
    "Hindi": ("ने लिखा",),
    "Hungarian": ("írta", "írta (időpont: kedd)"),
    "Icelandic": ("skrifaði",),
    "Indonesian": ("menulis", "tulis"),
    "Italian": ("ha scritto", "scrive"),
    "Japanese": ("書きました", "書いた", "のメール"),
    "Kazakh": ("жазды",),
    "Korean": ("작성", "쓴 글"),
    "Latvian": ("rakstīja",),
    "Lithuanian": ("rašė", "parašė"),
    "Persian": ("نوشت",),
    "Polish": ("napisał", "napisał(a)", "pisze"),
    "Portuguese": ("escreveu",),
    "Romanian": ("a scris", "scrie"),
    "Russian": ("написал", "написал(а)", "написала", "пишет"),
    "Serbian": ("је написао", "је написала"),
    "Slovak": ("napísal", "napísal(a)", "napísala"),
    "Slovene": ("je pisal", "je napisal"),
    "Spanish": ("escribió", "escribiste"),
    "Swahili": ("aliandika",),
    "Thai": ("เขียน",),
    "Turkish": ("yazdı", "yazmış"),
    "Ukrainian": ("написав", "написав(ла)", "пише"),
    "Vietnamese": ("viết",),
    "Welsh": ("ysgrifennodd",),
}
EACH_VERB = [(name, verb) for name, verbs in VERBS.items() for verb in verbs]


@pytest.mark.parametrize("program", SHAPES)
def test_of_each_program_the_own_words_come_out(program):
    """In several languages, as plain text and as HTML; every word, and no other."""
    _, shape = SHAPES[program]
    for draft, _ in DRAFTS:
        plain, html = shape(draft, draft.own)
        for bodies in ((plain, ""), ("", html), (plain, html)):
            found = score(Case(program, *bodies, draft.own))
            assert words(found.text) == words(draft.own), draft.language


@pytest.mark.parametrize(("language", "verb"), EACH_VERB)
def test_a_verb_introduces_a_quote(language, verb):
    """Nothing else says so here: no date, no address."""
    assert clean_text(f"Yes.\n\nAnn {verb}:\n\n> Will you?").text == "Yes."
    assert clean_text(f"Yes.\n\nAnn xyzzy {language}:\n\n> Will you?").text != "Yes."


def test_every_verb_of_the_rules_is_tried():
    """One that is added wants a line in the table above."""
    tried = [verb for _, verb in EACH_VERB]
    for alternative in _alternatives(phrases.WROTE):
        assert any(re.fullmatch(alternative, verb) for verb in tried), alternative


def _alternatives(pattern):
    """A pattern cut at the bars that stand in no bracket."""
    depth, start = 0, 0
    for at, sign in enumerate(pattern):
        depth += (sign == "(") - (sign == ")") if pattern[at - 1] != "\\" else 0
        if sign == "|" and not depth:
            yield pattern[start:at]
            start = at + 1
    yield pattern[start:]
