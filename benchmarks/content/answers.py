"""How people say yes and no, as rules of words.

An answer that is looked for may stand in any of the forms; one that contradicts the
right answer where that stands too must be plain.
"""

from __future__ import annotations

from functools import cache

from benchmarks.content.rules import Part, rule_of

_YES = """
yes
gladly
certainly
definitely
absolutely
of course
love|delighted|happy|glad|pleased|thrilled|honoured to come|join|be|help|do|bring|have
love|delighted|happy|glad|pleased|thrilled|honoured to accept|make|meet|go|take|see
count me|us in
i|we will|can|shall come
i|we will|can|shall be there
i|we will|can|shall be with you
i|we will|can|shall make it .|to|on|there|for
i|we will|can|shall join
i|we will|can|shall see you
i|we will|can|shall do it|that
i|we will .. come
am|are in .
am|are coming
looking|look forward
sound|sounds lovely|great|good|perfect|wonderful
suit|suits me|us
suit|suits fine|well
works for me|us
fine by|with me|us
it is .
"""
_NO = """
say no
said no
answer is no
be no
is a no
is no .
no ,
no .
no thank*
no to
no for
no , i
can not come
can not be there
can not make
can not join
can not do
can not manage
can not attend
can not get there
can not take
can not help
can not accept
can not go
can not meet
not able to
unable to
will not come
will not be
will not make
will not manage
will not attend
will not join
will not do
will not go
not coming
not come
not be there
not be coming
not make it
have|need to miss
going to miss
will .. miss
must|shall|will|to decline
am out .
count me|us out
afraid not
pass on
pass this
"""
_FIRM_NO = """
say no
no ,
no to
can not come
can not make it
can not be there
will not come
will not be there
will not be able
have to miss
count me|us out
"""
_FIRM_YES = """
yes ,
yes and
yes .
yes to
say yes
count me|us in
"""
_CLEAR_YES = f"""{_FIRM_YES.strip()}
love|delighted|happy|glad|pleased to come|join|accept
i|we will|can|shall come
i|we will|can|shall be there
"""
_FORMS = {
    "yes": _YES,
    "no": _NO,
    "clear yes": _CLEAR_YES,
    "firm yes": _FIRM_YES,
    "firm no": _FIRM_NO,
}
OPPOSITE = {"yes": "no", "no": "clear yes"}
"""What contradicts an answer that is not given."""
FIRM_OPPOSITE = {"yes": "firm no", "no": "firm yes"}
"""What contradicts an answer that is given too."""


@cache
def forms_of(answer: str) -> tuple[Part, ...]:
    """The forms of an answer, or of one of those that contradict it."""
    lines = _FORMS[answer].strip().splitlines()
    return tuple(rule_of(line).groups[0][0] for line in lines)
