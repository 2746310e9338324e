"""Files of the published formats, told by what they hold."""

import json
import lzma

import pytest

from benchmarks.quality.sets import read_sets
from edge_app.evaluation.cases import CasesError

LAMP = {
    "LaMP-1, LaMP_1_dev_questions": ("choice", ["[1]", "[2]"]),
    "LaMP-2 news, LaMP_2_news_dev_questions": ("choice", ["travel"]),
    "LaMP-2, LaMP_2_dev_questions": ("choice", ["comedy"]),
    "LaMP-3, LaMP_3_dev_questions": ("rating", ["4", "2"]),
    "LaMP-4, LaMP_4_dev_questions": ("text", ["Gates Horses Can Live With"]),
    "LaMP-5, LaMP_5_dev_questions": ("text", ["Early Otters"]),
    "LaMP-6, LaMP_6_dev_questions": ("text", ["Ladder on Friday?"]),
    "LaMP-7, LaMP_7_dev_questions": ("text", ["walked home past the mill, soaked"]),
}
OTHERS = {
    "LongLaMP abstract, longlamp_abstract": ("text", "M. Quillfeather"),
    "LongLaMP email, longlamp_email": ("text", "1"),
    "LongLaMP review, longlamp_review": ("text", "R0TTER"),
    "LongLaMP topic, longlamp_topic": ("text", "pearladder"),
}


def test_every_task_of_lamp(data):
    """Questions find the outputs beside them; ids are matched."""
    found = {}
    for query in read_sets([data / "lamp"]):
        found.setdefault(query.dataset, (query.kind, []))[1].append(query.text)
    assert found == LAMP


def test_the_other_formats(data):
    """Each row names its user as its format does."""
    queries = read_sets([data], queries=1)
    first = {q.dataset: (q.kind, q.user) for q in reversed(queries)}
    assert first == OTHERS


def test_a_file_of_questions_alone_finds_its_outputs(data):
    """And both files count when it is asked whether results are still good."""
    path = data / "lamp" / "LaMP_3_dev_questions.json"
    alone = read_sets([path])
    both = read_sets([path, path.with_name("LaMP_3_dev_outputs.json")])
    assert [q.text for q in alone] == ["4", "2"]
    assert [q.source for q in alone] == [q.source for q in both]


def test_other_outputs_are_other_sources(data, tmp_path):
    """A changed answer is another query."""
    name = "LaMP_3_dev_questions.json"
    questions = (data / "lamp" / name).read_text()
    (tmp_path / name).write_text(questions)
    golds = {"task": "LaMP_3", "golds": [{"id": "310", "output": "1"}]}
    golds["golds"].append({"id": "311", "output": "3"})
    (tmp_path / "LaMP_3_dev_outputs.json").write_text(json.dumps(golds))
    (published, *_), (changed, *_) = (
        read_sets([folder / name]) for folder in (data / "lamp", tmp_path)
    )
    assert (published.text, changed.text) == ("4", "1")
    assert published.source != changed.source


def test_labels_are_those_of_the_question(data):
    """Fifteen tags or categories, or the two references."""
    labels = {q.dataset[:6]: q.labels for q in read_sets([data / "lamp"], 1)}
    assert labels["LaMP-1"] == ("[1]", "[2]")
    assert len(labels["LaMP-2"]) == 15
    assert labels["LaMP-3"] == ()


def test_histories_are_read_as_by_evaluate(tmp_path):
    """Packed or not."""
    row = {
        "user": "u1",
        "genre": "post",
        "history": [{"prompt": "Tea", "text": "Tea first."}],
        "queries": [{"prompt": "The mill", "target": "Past the mill, in rain."}],
    }
    path = tmp_path / "walks.jsonl.xz"
    path.write_bytes(lzma.compress(json.dumps(row).encode()))
    (query,) = read_sets([tmp_path])
    assert (query.dataset, query.user, query.kind) == ("walks", "u1", "text")
    assert query.text == "Past the mill, in rain."


def test_the_first_users_and_queries(tmp_path):
    """Of each set, however the rows of a user lie."""
    ask = "Generate the content for a reddit post"
    rows = [
        {"author": user, "input": f"{ask} {n}", "output": str(n), "profile": []}
        for n, user in enumerate("abacab")
    ]
    (tmp_path / "posts.jsonl").write_text("\n".join(map(json.dumps, rows)))

    def texts(users, queries):
        return [q.text for q in read_sets([tmp_path], users, queries)]

    assert texts(None, None) == list("012345")
    assert texts(2, None) == list("01245")
    assert texts(2, 1) == list("01")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.json", "{", "this is not JSON"),
        ("a.json", "[1]", "holds no JSON objects"),
        ("a.jsonl", '{"b": 1, "c": 2}', "no known format: its rows hold b, c"),
        ("a.jsonl.xz", "x", "is no whole xz file"),
        ("a.json", '[{"input": null, "profile": []}]', "'input' must be a text"),
        ("a.json", '[{"input": "Sing!", "profile": []}]', "no task of LaMP"),
        (
            "a.json",
            '[{"id": "7", "input": "paraphrase the following tweet", "profile": []}]',
            "no true answer to question 7",
        ),
        ("a.json", '[{"input": "x", "profile": 3}]', "must be a list of objects"),
        ("a.txt", "", "holds no JSON objects"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path, name, content, reason):
    """It names the file, and the row where there is one."""
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(CasesError, match="a\\.") as error:
        read_sets([path])
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


def test_folders_without_files_are_an_error(tmp_path):
    """And so is a path that is not there."""
    with pytest.raises(CasesError, match=r"no \.json"):
        read_sets([tmp_path])
    with pytest.raises(CasesError, match="no file or folder"):
        read_sets([tmp_path / "gone"])
