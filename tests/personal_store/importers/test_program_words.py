"""What services put among or in place of somebody's words is nobody's writing."""

import json

import pytest

from personal_store import SourceError
from tests.personal_store.stores import zipped


def texts(store):
    return [text for (text,) in store.db.execute("SELECT body FROM record ORDER BY id")]


COMMENTS = "id,permalink,date,ip,subreddit,gildings,link,parent,body,media\n"


def test_marks_of_reddit_are_nobodys_words(store, take):
    gone = ["[deleted]", "[ Removed by Reddit ]", "[removed by moderator]",
            "[deleted by user]", "[unavailable]", "*[removed]*",
            "[ Removed by Reddit in response to a copyright notice. ]"]  # fmt: skip
    kept = {
        "&amp;#x200B;\n\nTar it twice.": "Tar it twice.",
        "Tar it.\n\n&#x200B;\n\n![gif](giphy|abc)": "Tar it.",
        ">!The mate did it!< I said.": ">!The mate did it!< I said.",
        "They [removed] the mast.": "They [removed] the mast.",
    }
    rows = "".join(
        f'c{number},p,2024-03-12 09:00:00 UTC,,sail,0,l,,"{body}",\n'
        for number, body in enumerate([*gone, *kept])
    )

    report = take("reddit", "comments.csv", COMMENTS + rows)

    assert texts(store) == [*kept.values()]
    assert report.reasons == {"deleted": len(gone)}


@pytest.mark.parametrize(
    ("folder", "draft", "talk"),
    [("INBOX", "Yes", "No"), ("INBOX", "No", "Yes"), ("DRAFTS", "", "")],
)
def test_drafts_of_linkedin_were_never_sent(store, take, folder, draft, talk):
    rows = (
        "CONVERSATION ID,FROM,TO,DATE,SUBJECT,CONTENT,FOLDER,IS MESSAGE DRAFT,"
        "IS CONVERSATION DRAFT\n"
        "1,Tess,Ben,2024-03-12 09:01:00 UTC,,The slip is free again,INBOX,No,No\n"
        f"1,Tess,Ben,2024-03-12 09:02:00 UTC,,It was never,{folder},{draft},{talk}\n"
    )

    report = take("linkedin", "messages.csv", rows, me=["Tess"])

    assert texts(store) == ["The slip is free again"]
    assert report.reasons == {"drafts": 1}


def archive(*tweets):
    """A zip of posts: (id, text, ids of its versions, or of none)."""
    listed = []
    for number, text, versions in tweets:
        told = {"editTweetIds": [str(one) for one in versions]}
        first = versions[:1] == (number,)
        info = {"initial": told} if first else {"edit": {"editControlInitial": told}}
        fields = {"id_str": str(number), "full_text": text}
        fields |= {"edit_info": info} if versions else {}
        date = {"created_at": "Tue Mar 12 09:01:00 +0000 2024"}
        listed.append({"tweet": fields | date})
    script = f"window.YTD.tweets.part0 = {json.dumps(listed)}"
    return zipped({"data/tweets.js": script})


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_of_an_edited_post_the_last_form_is_read(store, take, order):
    forms = [(5, "Teh rope"), (6, "The rop"), (8, "The rope")]
    edited = [(*forms[one], (5, 6, 8)) for one in order]

    report = take("x_archive", "x.zip", archive((7, "A boat", ()), *edited))

    assert sorted(texts(store)) == ["A boat", "The rope"]
    assert report.reasons == {"older versions of edited posts": 2}


@pytest.mark.parametrize("known", [(5,), (5, 6)])
def test_a_post_that_is_edited_after_an_import_is_replaced(store, take, known):
    """Before, the one that is there is read, whatever came after it."""
    take("x_archive", "1.zip", archive((5, "Teh rope", known)))
    assert texts(store) == ["Teh rope"]
    later = archive((6, "The rope", (5, 6)), (5, "Teh rope", (5, 6)))

    report = take("x_archive", "2.zip", later)

    assert (report.updated, texts(store)) == (1, ["The rope"])


SAID = {"id": 1, "from": "Ben", "date_unixtime": "1", "text": ["a ", {"text": "b"}]}


@pytest.mark.parametrize(
    "export",
    [
        {"name": "Slip", "messages": [SAID] * 3},
        {"messages": [{"from": "Ben", "from_id": 7, "text": "His words."}]},
        {"about": "Here is the data you requested. Remember: ...", "chats": {}},
    ],
    ids=["chat", "older", "all chats"],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_a_chat_of_telegram_is_refused_with_a_sentence(take, export, indent):
    with pytest.raises(SourceError, match="Telegram, in which others write too"):
        take("jsonl", "result.json", json.dumps(export, indent=indent))


@pytest.mark.parametrize("kind", ["text", "markdown"])
@pytest.mark.parametrize("indent", [None, 1])
def test_data_of_a_program_is_no_document(take, kind, indent):
    data = json.dumps([{"from": "Ben", "text": "His words."}], indent=indent)

    report = take(kind, "result.json", data)

    assert (report.added, report.failed) == (0, 1)
    assert "no text" in str(report.failures[0])


def test_a_text_in_pieces_is_put_together(store, take):
    """As programs write it that keep a style beside each piece."""
    pieces = ["Read ", {"type": "bold", "text": "the list"}, " before.\n", "Bye."]

    take("jsonl", "notes.jsonl", json.dumps({"text": pieces}) + "\n")

    assert texts(store) == ["Read the list before.\nBye."]
