"""Whose words lie in the exports of services: those of others never become own.

The exports are made here. Every word of somebody else is FOREIGN, and nothing that is
stored as own may hold it, however the export lies there and whatever is said of it.
"""

import re
import tomllib
from pathlib import Path

import pytest

from personal_store import SourceError, import_source, importers
from personal_store.discovery import discover, discover_in, may_hold_text
from personal_store.files import everything, of_file, parts
from personal_store.importers.service_files import ALONE, FILES, OTHERS, YOURS, Exports
from personal_store.records import OWN
from tests.personal_store.stores import lay, zipped

FOREIGN = "Zanzibar"
SAID = f"What {FOREIGN} said about you is long enough to be stored."
DOCS = Path(__file__).parents[3] / "docs" / "importing.md"


EXPORTS = tomllib.loads(Path(__file__).with_name("foreign.toml").read_text("utf-8"))


def export(service, owner="Tess Field"):
    """The files of somebody's export, with words of others in some."""
    first, _, last = owner.partition(" ")
    values = {"owner": owner, "first": first, "last": last}
    values |= {"said": SAID, "foreign": FOREIGN}
    files = dict(EXPORTS[service])
    for name, value in values.items():
        files = {n: said.replace(f"{{{name}}}", value) for n, said in files.items()}
    return files


SERVICES = {"amazon_reviews": 1, "letterboxd": 1, "linkedin": 4, "reddit": 2}
"""How many own texts an export holds."""
ALL_ALONE = {
    f"{service}: {name}": (name, content)
    for service in SERVICES
    for name, content in export(service).items()
    if FOREIGN in content and "deleted" not in name and name.endswith(".csv")
}


def imported(store, path, *, mine, me=()):
    """What auto stores as own; kinds that refuse say so and are passed over."""
    said = []
    for found in discover(path, mine=mine).found:
        try:
            import_source(store, found.kind, found.sources, me=me)
        except SourceError as error:
            said.append(str(error))
    return [r for r in store.records() if r.author in OWN], said


PLACES = ["folder", "nested folder", "zip", "zip in a zip", "tar"]


@pytest.mark.parametrize("mine", [False, True], ids=["", "all mine"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("service", SERVICES)
def test_words_of_others_in_an_export_never_become_own(
    store, tmp_path, pack, service, place, mine
):
    """And what is not read of it is listed, each file once."""
    files = export(service)
    path = pack(lay(tmp_path / "export", files), place, tmp_path / "lies")

    discovery = discover(path, mine=mine)
    own, said = imported(store, path, mine=mine)

    assert said == []
    assert len(own) == SERVICES[service]
    assert not [r.text for r in own if FOREIGN in f"{r.text}{r.title}{r.recipient}"]
    found = [export for one in discovery.found for export in one.sources]
    read = [file for export in found for file in (*parts(export), *export.aside)]
    taken_back = [name for name in files if name.startswith("deleted/")]
    assert len(read) + len(discovery.left) + len(discovery.kept_out) == (
        len(files) - len(taken_back)
    )
    assert discovery.unsigned == ()


@pytest.mark.parametrize("mine", [False, True], ids=["", "all mine"])
@pytest.mark.parametrize("name", ALL_ALONE)
def test_a_file_of_others_by_itself_never_becomes_own(store, tmp_path, name, mine):
    """Without the rest of its export beside it, and with a note of one's own there."""
    file, content = ALL_ALONE[name]
    if name.endswith(("Something_New.csv", "Chat Contacts.csv")) and mine:
        pytest.skip("nothing tells this file from a table of one's own")
    lay(tmp_path / "some", {Path(file).name: content})

    own, _ = imported(store, tmp_path / "some", mine=mine, me=["Tess Field"])

    assert not [r.text for r in own if FOREIGN in r.text]


def test_a_table_of_others_in_a_folder_is_refused_by_csv(store, tmp_path):
    """By itself it is taken at the word of who gives it, if its importer has none."""
    lay(tmp_path / "e", export("reddit") | {"a.csv": "text\nIt rained all day.\n"})
    lay(tmp_path / "l", export("linkedin"))

    report = import_source(store, "csv", tmp_path / "e")

    assert not [r.text for r in store.records() if FOREIGN in r.text]
    refused = [str(f) for f in report.failures if "words of others" in str(f)]
    assert len(refused) == 4
    alone = import_source(store, "csv", tmp_path / "e" / "chat_history.csv")
    assert alone.added == 1
    file = tmp_path / "l" / "Recommendations_Received.csv"
    received = import_source(store, "linkedin", file)
    assert received.added == 0
    assert received.reasons["recommendations by others"] == 1


def test_documents_beside_an_export_are_read_if_they_are_all_mine(store, tmp_path):
    mine = {"diary.md": "It rained in the morning.", "a.csv": "text\nIt did.\n"}
    lay(lay(tmp_path, mine) / "linkedin", export("linkedin"))

    own, _ = imported(store, tmp_path, mine=True)

    assert len(own) == 4 + 2


CHATS = {
    "Telegram": f"[12.03.24 10:15] Ben: {SAID}\n[12.03.24 10:16] Tess: Yes, I will.\n",
    "Signal": f"Ben (2024-03-12 10:15): {SAID}\n\nTess (2024-03-12 10:16): Yes.\n" * 3,
    "LINE": f"2024/03/12(Tue)\n10:15\tBen\t{SAID}\n10:16 Ben: {SAID}\n",
    "KakaoTalk": f"2024년 3월 12일 오후 3:21, 벤 : {SAID}\n" * 2,
    "Skype": f"[2024-03-12 10:15:03 AM] Ben: {SAID}\n[2024-03-12 10:16:03 AM] T: Yes\n",
    "a transcript": f"Ben: {SAID}\nTess: Yes, I will.\nBen: {SAID}\nTess: Good.\n",
    "IRC": f"10:15 <ben> {SAID}: so\n10:16 <tess> yes: so\n10:17 <ben> {SAID}: so\n",
}


@pytest.mark.parametrize("program", CHATS)
@pytest.mark.parametrize("mine", [False, True], ids=["", "all mine"])
def test_a_chat_of_another_program_is_no_document(store, tmp_path, program, mine):
    lay(tmp_path / "some", {"chat.txt": CHATS[program]})

    own, _ = imported(store, tmp_path / "some", mine=mine, me=["Tess"])

    assert not [r.text for r in own if FOREIGN in r.text]


CHAT = "[1.2.23, 08:03:00] Ada: Here is my letter for the club\n"
SENT = {"_chat.txt": CHAT, "DOC-20230201-WA0001.md": SAID, "00000012-CV.txt": SAID}
DOCUMENTS = (
    "Dear Anna,\n\nthank you: it came at 10:15.\n\nYours,\nTess\n",
    "It rained.\n\nNote: bring the boat.\nNote: and the glue.\n\nThen it stopped.\n",
    "12.03.2024\nIt rained all day.\n13.03.2024\nIt did so again.\n",
    "Shopping: glue\nPaint: two tins\n",
)


@pytest.mark.parametrize(
    ("files", "kind"),
    [*(({"letter.txt": text}, "text") for text in DOCUMENTS), (SENT, "whatsapp")],
)
def test_a_letter_a_diary_and_a_list_are_documents(tmp_path, files, kind):
    """What was sent in a chat is none."""
    found = discover(lay(tmp_path / "some", files), mine=True).found

    assert [one.kind for one in found] == [kind]


# two people, a stranger


def two(tmp_path, service):
    """The exports of two people beside each other."""
    for name in ("Tess Field", "Ben Quillon"):
        lay(tmp_path / "both" / name.partition(" ")[0], export(service, name))
    return tmp_path / "both"


SIGNED = ["facebook", "instagram", "letterboxd", "linkedin", "mastodon", "reddit",
          "x_archive"]  # fmt: skip


@pytest.mark.parametrize("service", SIGNED)
@pytest.mark.parametrize("mine", [False, True], ids=["", "all mine"])
def test_the_exports_of_two_people_are_not_mixed(store, tmp_path, service, mine):
    """Posts are not signed: it says whose lie there, and reads each by itself."""
    path = two(tmp_path, service)

    discovery = discover(path, mine=mine)

    assert discovery.found == ()
    (fault,) = discovery.faults
    assert "holds the exports of several people or accounts" in fault
    with pytest.raises(SourceError, match="Import each that is yours by itself"):
        import_source(store, service, path)
    assert list(store.records()) == []
    assert import_source(store, service, path / "Tess").added > 0


@pytest.mark.parametrize("service", ["facebook", "instagram", "linkedin"])
def test_the_export_of_a_stranger_is_refused(store, tmp_path, service):
    """Who is known under another name must say that both names are theirs."""
    path = two(tmp_path, service)
    store.add_identities([f"{service}:tess field"])

    with pytest.raises(SourceError, match="This is the export of Ben Quillon"):
        import_source(store, service, path / "Ben")
    assert list(store.records()) == []

    assert import_source(store, service, path / "Tess").added > 0
    assert import_source(store, service, path / "Ben", me=["Ben Quillon"]).added > 0


def test_a_file_that_comes_later_lies_in_the_export_beside_it(tmp_path):
    """A watched folder shows only what has changed; the rest tells where it lies."""
    folder = lay(tmp_path / "e", export("linkedin"))
    new = of_file(folder / "Something_New.csv")
    beside = everything(folder, may_hold_text)

    apart = discover_in(folder, [new], mine=True)
    there = discover_in(folder, [new], mine=True, beside=beside)

    assert [found.kind for found in apart.found] == ["csv"]
    assert (there.found, there.left) == ((), (new,))


def test_two_parts_of_one_export_are_one(store, tmp_path):
    """As large ones come: the profile may lie in both."""
    files = export("linkedin")
    lay(tmp_path / "all" / "part 1", files)
    lay(tmp_path / "all" / "part 2", {"Profile.csv": files["Profile.csv"]})

    assert import_source(store, "linkedin", tmp_path / "all").added == 4


# hostile archives


def test_a_bomb_beside_an_export_does_not_keep_it_out(tmp_path):
    bomb = zipped({"chat_history.csv": b"\0" * 20_000_000})
    lay(lay(tmp_path, {"bomb.zip": bomb}) / "linkedin", export("linkedin"))

    discovery = discover(tmp_path, mine=True)

    assert [found.kind for found in discovery.found] == ["linkedin"]
    assert "unpacks to far too much" in discovery.faults[0]


def test_a_name_with_a_line_end_is_a_name(tmp_path):
    odd = {
        "Basic\x1b[2J/Recommendations_Received\n.csv": "a,b\n1,2\n",
        "Basic\x1b[2J/Shares.csv": export("linkedin")["Shares.csv"],
    }
    lay(tmp_path, {"export.zip": zipped(odd)})

    discovery = discover(tmp_path / "export.zip", mine=True)

    assert [found.kind for found in discovery.found] == ["linkedin"]


# the table


def test_the_table_in_the_docs_is_the_one_that_is_used():
    """As many rows, in the same order, word for word."""
    written = re.findall(r"^\| `\w+` \| .* \| .* \| .*$", DOCS.read_text("utf-8"), re.M)

    assert written == [
        f"| `{file.service}` | {file.label} | {file.whose} | {file.done} |"
        for file in FILES
    ]


def test_the_table_knows_every_service_and_takes_nothing_of_others():
    services = set(filter(importers.is_service, importers.available()))

    assert {file.service for file in FILES} == services
    assert not [file for file in FILES if file.whose == OTHERS and file.is_read]
    assert {file.service for file in FILES if file.is_read} == services
    assert services >= ALONE
    # What holds both is read by the name of each writer, or row by row.
    both = {f.service for f in FILES if f.is_read and f.whose not in (YOURS, OTHERS)}
    assert both <= {"facebook", "instagram", "linkedin", "whatsapp", "x_archive"}


def test_the_whole_of_an_export_is_found_by_a_part_of_it(tmp_path):
    exports = Exports()
    inner = "fb/your_facebook_activity/messages/inbox/ben_1/message_1.json"
    lay(tmp_path, {inner: "{}", "fb/notes.md": "x", "mine.md": "y"})

    exports.meet("facebook", [of_file(tmp_path / inner)])

    assert exports.service_of(of_file(tmp_path / "fb" / "notes.md")) == "facebook"
    assert exports.service_of(of_file(tmp_path / "mine.md")) == ""
