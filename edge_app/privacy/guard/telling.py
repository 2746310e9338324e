"""Words that say what stands beside them, in eight languages: an amount of one's own, a
day of birth, an illness, a word that opens something."""

# ruff: noqa: E501 (tables of words)
from __future__ import annotations

import re
from collections.abc import Iterator

from edge_app.privacy.guard.words import known_names, told_by, words_of


def _any(*languages: str) -> str:
    """A pattern of whole words; a blank in one is any gap."""
    words = " ".join(languages).split()
    return rf"\b(?:{'|'.join(words).replace('_', '[ -]?')})\b"


MONEY = re.compile(
    _any(
        "accounts? balance salary savings? loans? mortgage debts? pension overdraft wages? income iban bank rent "
        "deposit alimony inheritance inherited owe[sd]? earn(?:s|ed|ings)? severance",
        "konto kontostand gehalt kredite? miete schulden? ersparnisse rente lohn einkommen hypothek darlehen erbe",
        "compte salaire loyer dettes? [ée]pargne pr[êe]t hypoth[èe]que retraite revenus? h[ée]ritage",
        "cuenta sueldo salario deudas? ahorros pr[ée]stamo hipoteca pensi[óo]n alquiler herencia ingresos",
        "conto stipendio debit[oi] risparmi prestito mutuo pensione affitto eredit[àa] reddito",
        "conta sal[áa]rio d[íi]vidas? poupan[çc]a empr[ée]stimo pens[ãa]o renda aluguel heran[çc]a",
        "rekening salaris loon schuld(?:en)? spaargeld lening hypotheek pensioen huur erfenis inkomen",
        "konto pensj[aęi] wynagrodzenie d[łl]ug(?:i|ów)? oszcz[ęe]dno[śs]ci kredyt hipoteka emerytura czynsz spadek",
    ),
    re.IGNORECASE,
)
BIRTH = re.compile(
    _any(
        r"born birth_?(?:day|date)? b_?day dob d\.o\.b came_into_the_world",
        "geboren geburtstag geburtsdatum geburt geb",
        "n[ée]e?_le n[ée]e?_en naissance anniversaire",
        "nacid[oa] naci[óo] nacimiento cumplea[nñ]os",
        "nat[oa]_il nat[oa]_nel nascita compleanno",
        "nascid[oa] nasceu nascimento anivers[áa]rio",
        "geboortedatum geboorte verjaardag jarig",
        "urodzon[yaąe] urodzi[łl]a? urodziny urodzenia",
    ),
    re.IGNORECASE,
)
_OF_BIRTH = (
    *(
        "born",
        "birth",
        "bday",
        "b day",
        "b-day",
        "dob",
        "d.o.b",
        "into the world",
        "gebo",
        "gebu",
        "geb.",
    ),
    *(
        "née",
        "né ",
        "né\n",
        "ne le",
        "nee le",
        "ne en",
        "nee en",
        "naiss",
        "nivers",
        "naci",
        "cumple",
        "nato il",
    ),
    *(
        "nata il",
        "nato nel",
        "nata nel",
        "nasc",
        "complean",
        "verjaar",
        "jarig",
        "urodz",
    ),
)
"""What at least one of stands in each match of `BIRTH`: sooner found than that."""
OPENS = re.compile(
    _any(
        "code_?words? pass_?words? pass_?phrases? pass_?codes? safe_?words? key_?words? pin combination secret_?words? "
        "wi_?fi secret_?(?:question|answer)",
        "kennwort passwort losungswort codewort l[öo]sungswort schl[üu]sselwort",
        "mots?_de_passe mot_secret mot_cl[ée]",
        "contrase[ñn]a clave palabra_secreta palabra_clave",
        "parola_d['’]ordine parola_chiave parola_segreta",
        "senha palavra_passe palavra_secreta palavra_chave",
        "wachtwoord codewoord wachtzin",
        "has[łl]o has[łl]em",
    ),
    re.IGNORECASE,
)
_IS = (
    r"(?:[:=]|\b(?:is|was|are|be|remains|reads|says|lautet|ist|hei(?:ß|ss)t|war|est|[ée]tait|es|era|è|é|foi|"
    r"luidt|jest|brzmi|(?<=has[łl]o )to))"
)
_BEHIND = re.compile(
    rf"{OPENS.pattern}(?:[ ]+[\w'’\-]+){{0,6}}?[ ]*{_IS}[\s\"“”„«'‘]*"
    r"(?P<said>[^\W_]+(?:[ \-][^\W_]+){0,5})",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?P<said>[^\W_]+(?:[ \-][^\W_]+){0,3})[\"”“»'’]? (?:is|was|remains|ist|est|es|è|é|jest|to) "
    rf"(?:[\w'’]+ ){{1,3}}?{OPENS.pattern}",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“„«‘]([^\W_]+(?:[ \-][^\W_]+){0,5})[\"”“»’]")
_GOES_ON = re.compile(
    r"(?: |^)(?:and|but|so|please|if|when|because|as|which|for|at|in|on|und|aber|bitte|et|mais|y|pero|e|ma|mas|en|maar|i|ale|proszę)(?: .*|$)",
    re.IGNORECASE | re.DOTALL,
)
ILL = re.compile(
    _any(
        "ill illness sick disease diagnos\\w+ doctors? consultant surgeon specialist oncolog\\w+ hospital clinic "
        "surgery operation operated treatment therapy medication tablets pills symptoms? prescri\\w+ scans? biopsy "
        "suffer\\w* patient chronic incurable condition",
        "krank krankheit arzt [äa]rztin diagnose krankenhaus klinik behandlung therapie tabletten leide[tn]? befund",
        "malade maladie m[ée]decin diagnostic h[ôo]pital traitement souffr\\w+ ordonnance",
        "enferm[oa] enfermedad m[ée]dic[oa] diagn[óo]stico tratamiento sufr\\w+ padec\\w+",
        "malat[oa] malattia medico diagnosi ospedale cura soffr\\w+ ricetta",
        "doente doen[çc]a diagn[óo]stico tratamento sofr\\w+ receita",
        "ziek ziekte arts dokter ziekenhuis behandeling lijd\\w+",
        "chor[yaąe] choroba lekarz\\w* diagnoza szpital\\w* leczeni\\w+ cierpi\\w*",
    ),
    re.IGNORECASE,
)
_ILLNESS = re.compile(
    r"(?:\w*(?:krebs|kanker)|cancer|cancro|rak[ai]?|tumou?r|tumeur|\w*[ck]ar[cz]inom|melanom|l[iy](?:m|n)(?:ph|f)om|"
    r"leu[ck]a?em|leukam|bialaczk|diab[e]?t|cukrzyc|zucker?krank|epilep|padaczk|asth?ma|demen[tcz]|alzheimer|parkinson|"
    r"depress|depresj|bipolar|(?:e?s[ck]|sk)h?izo|autis|ad[hd]{2}|anore[xk]|bulimi|hiv|aids|sida|[h]?epatit|arth?rit|"
    r"artret|rh?eumat|(?:e?s[ck]l?|sk)eros|esclero|sclero|stroke|schlaganfall|ictus|beroert|infar[ck]t|zawal|angina|"
    r"th?rombo|embol|anaemi|anemi|[h]?[iy]pertens|bluthochdruck|nadcisnien|migr[ae]|emicran|ulcer|geschwur|wrzod|colitis|"
    r"colite|crohn|co?eliac|zoliak|celiach|h[iy]poth?[iy]r|schilddrus|tarczyc|psoria|luszczyc|e[ck]z[ec]m|glau[ck]om|cataract|katarakt|"
    r"endometrio|miscarr|fehlgeburt|aborto|poron|pregnan|schwanger|enceinte|embaraz|incinta|gravid|zwanger|ciaz|"
    r"p?neumon|lungenentz|polmonit|tuber[ck]ul|lupus|fibrom|osteop|[cz]irr?h?o[sz]|gallst|insulin|ch[ei]mi?o|quimio|"
    r"kemoth|disorder|syndrom|gout|gicht|gotta|clots?|dial[yi]s|dializ|biops|herpes|[ck]hlamyd|s[iy](?:ph|f)il|gonor|al[ck]oh?oli|ptsd|fertil|infertil|ivf|\w{3,}(?:osis|itis|idos[ei]))\w{0,8}"
)
NEAR = 45
"""Characters between a word that tells and what it tells of."""
_WORDS_NEAR = 12
_SENTENCES = re.compile(r"[^.!?…\n]+")
_USUAL = 5.0
"""Bits of a word that says nothing of an illness beside it."""


def births(text: str, start: int = 0) -> Iterator[re.Match[str]]:
    """Words of birth."""
    lower = text.lower()
    if any(part in lower for part in _OF_BIRTH):
        yield from BIRTH.finditer(text, start)


def is_illness(folded: str) -> bool:
    """Whether a word names an illness, a treatment or a pregnancy."""
    return _ILLNESS.fullmatch(folded) is not None


def secret_words(text: str) -> Iterator[list[str]]:
    """The folded words that a private text calls a word or phrase to open something,
    and what stands in quotes in the same sentence."""
    if not OPENS.search(text):
        return
    said = [found["said"] for one in (_BEHIND, _BEFORE) for found in one.finditer(text)]
    for sentence in _SENTENCES.finditer(text):
        if OPENS.search(sentence[0]):
            said += _QUOTED.findall(sentence[0])
    for stretch in said:
        words = [word.folded for word in words_of(_GOES_ON.sub("", stretch))]
        if any(map(told_by, words)):
            yield words


def of_illness(text: str) -> Iterator[list[str]]:
    """Folded words beside one of illness that say of which: stretches of a sentence
    without everyday words."""
    for sentence in _SENTENCES.finditer(text):
        words = words_of(sentence[0])
        cues = {
            at
            for at, word in enumerate(words)
            if ILL.fullmatch(word.text) or is_illness(word.folded)
        }
        run: list[str] = []
        for at, word in enumerate(words):
            near = any(abs(at - cue) <= _WORDS_NEAR for cue in cues)
            tells = told_by(word.folded) >= _USUAL or word.folded.isdigit()
            known = word.folded in known_names() or ILL.fullmatch(word.text)
            if near and tells and not known:
                run.append(word.folded)
            elif run:
                yield run
                run = []
        if run:
            yield run
