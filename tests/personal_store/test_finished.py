"""A text that was finished from a draft: kept, joined with the mail that was sent,
carried along, and forgotten."""

import json

from personal_store import Store, import_source, transfer
from personal_store.lifecycle.forgetting import exclude, forget, forget_learnt
from personal_store.lifecycle.writing import keep_finished
from personal_store.records import Document
from personal_store.search.tables import check
from tests.mailboxes import ME, mailbox, message

DRAFTED = "Dear Anna, quagmire of drafted words about the boat."
TEXT = "Dear Anna,\n\nthe boat is yours on Friday.\n\nSam"

SENT = 1_710_200_000  # the day before the mail is sent


def voice_rows(db):
    return db.execute("SELECT id, person FROM habit").fetchall()


def finish(store, name="page:0", text=TEXT, own_share=0.5, to="Anna", at=SENT):
    document = Document(
        *(0, name, "email", text),
        recipient=to,
        recipient_address=f"{to.lower()}@example.org",
        sent_at=at,
        asked="Lend her the boat",
        drafted=DRAFTED,
        own_share=own_share,
    )
    return keep_finished(store.db, name, document)


def edits(db):
    sql = """SELECT body, drafted, own_share, excluded FROM edit
             JOIN record ON record_id = id ORDER BY id"""
    return db.execute(sql).fetchall()


def test_a_finished_text_is_a_letter_and_evidence_if_enough_is_the_owners(store):
    """Of one version the last text counts; a third of its words must be typed."""
    first = finish(store, own_share=0.2)
    assert store.written_to("Anna") == []
    assert edits(store.db) == [(TEXT, DRAFTED, 0.2, 1)]
    assert finish(store, text=f"{TEXT} Lee", own_share=0.4) == first
    assert edits(store.db) == [(f"{TEXT} Lee", DRAFTED, 0.4, 0)]
    assert [one.text for one in store.written_to("Anna")] == [f"{TEXT} Lee"]
    assert store.written_to("Anna")[0].source == "draft: finished here"
    assert check(store.db) == []


def test_the_mail_that_was_sent_takes_its_place(store, tmp_path):
    """With its Message-ID, and the draft; another mail with the same words to somebody
    else is another one."""
    finish(store, own_share=0.1)
    sent = [message(TEXT, number=1), message(TEXT, number=2, to="Ben <ben@b.example>")]
    (tmp_path / "sent.mbox").write_bytes(mailbox(sent))
    import_source(store, "mbox", tmp_path / "sent.mbox", me=[ME])
    keys = [key for (key,) in store.db.execute("SELECT key FROM record ORDER BY id")]
    assert [key.split(":")[1] for key in keys] == ["1@example.com", "2@example.com"]
    assert edits(store.db) == [(TEXT, DRAFTED, 0.1, 1)]
    assert [one.recipient for one in store.recent()] == ["Ben"]
    assert check(store.db) == []


def test_a_text_that_is_taken_away_again_is_the_same_letter(store, tmp_path):
    """Now for somebody else; what the owner excluded stays so; the mail that was sent
    meanwhile stays the one letter, also if it lies in the store of another device."""
    first = finish(store)
    exclude(store.db, [first])
    assert finish(store, text=f"{TEXT} Lee", to="Ben") == first
    assert store.written_to("Ben") == []
    exclude(store.db, [first], excluded=False)
    finish(store, to="Ben", text=f"{TEXT} Lee")
    assert [one.text for one in store.written_to("Ben")] == [f"{TEXT} Lee"]
    assert voice_rows(store.db) == [(first, "ben@example.org")]
    finish(store)
    with Store.open(tmp_path / "second.db") as second:
        (tmp_path / "sent.mbox").write_bytes(mailbox([message(TEXT, number=1)]))
        import_source(second, "mbox", tmp_path / "sent.mbox", me=[ME])
        done = transfer.merge(second.db, second.path, store.path)
        assert (done.added, len(edits(second.db))) == (0, 1)
        finish(second, "other:1", own_share=0.1)
        ((text, _, share, excluded),) = edits(second.db)
        assert (text, share, excluded) == (TEXT, 0.1, 1)
        assert len(voice_rows(second.db)) == 0
        assert check(second.db) == []
        finish(second, "late:1", at=1_730_000_000)
        assert len(edits(second.db)) == 2
    assert check(store.db) == []


def test_pairs_travel_and_go_with_their_text(store, tmp_path):
    """Out and in again, in a merge, and forgotten to the last byte; once forgotten, a
    text is not kept again."""
    number = finish(store)
    lines = list(transfer.as_lines(store.db))
    (tmp_path / "all.jsonl").write_bytes(b"".join(lines))
    with Store.open(tmp_path / "second.db") as second:
        import_source(second, "jsonl", tmp_path / "all.jsonl")
        assert edits(second.db) == edits(store.db)
        assert list(transfer.as_lines(second.db)) == lines
        assert b'"asked": "Lend her the boat"' in lines[0]
    with Store.open(tmp_path / "third.db") as third:
        transfer.merge(third.db, third.path, store.path)
        assert edits(third.db) == edits(store.db)
        assert list(transfer.as_lines(third.db)) == lines
        assert forget_learnt(third.db, third.path) == (1, 0)
        assert b"quagmire" not in third.path.read_bytes()
        assert [one.text for one in third.written_to("Anna")] == [TEXT]
        transfer.restore(third.db, third.path, store.path)
        assert edits(third.db) == edits(store.db)
    earlier = json.loads(lines[0])
    for name in ("asked", "drafted", "own_share"):  # 0.2.0 exported none of them
        del earlier[name]
    (tmp_path / "earlier.jsonl").write_text(json.dumps(earlier))
    with Store.open(tmp_path / "fourth.db") as fourth:
        assert import_source(fourth, "jsonl", tmp_path / "earlier.jsonl").added == 1
    assert forget(store.db, store.path, [number]).left == ()
    assert b"quagmire" not in store.path.read_bytes()
    assert finish(store) is None
    assert edits(store.db) == []
