from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from meshwright.errors import InputFileError, OperatorError
from meshwright.lab.experiments.results import Question, ResultFolder, result_folders

QUESTION = Question(
    experiment="ktco-degree",
    scale="small",
    grid={"brokers": [10, 20]},
    seeds=2,
    version="1.0",
    sources="abc",
    asked_at="today",
)
ROWS = [{"task": number, "seed": number % 2, "brokers": 10, "degree": 2.5} for number in range(3)]


@pytest.fixture
def folder(tmp_path: Path) -> ResultFolder:
    folder = ResultFolder(tmp_path / "ktco-degree")
    folder.open(QUESTION)
    folder.add(ROWS[2:])
    folder.add(ROWS[:2])
    return folder


def test_rows_come_in_the_order_of_tasks_whichever_part_was_done_first(
    folder: ResultFolder,
) -> None:
    assert folder.done() == {0, 1, 2}
    assert folder.rows().to_dict("records") == ROWS
    assert list(result_folders(folder.folder.parent)) == ["ktco-degree"]


def test_results_stay_when_the_same_is_asked_later(folder: ResultFolder) -> None:
    folder.open(msgspec.structs.replace(QUESTION, asked_at="tomorrow"))
    assert folder.question().asked_at == "today"
    assert folder.done() == {0, 1, 2}


def test_more_seeds_may_be_asked_for_later_and_fewer_take_none_away(folder: ResultFolder) -> None:
    for seeds, most in ((3, 3), (1, 3)):
        folder.open(msgspec.structs.replace(QUESTION, seeds=seeds))
        assert folder.question().seeds == most
        assert folder.done() == {0, 1, 2}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"scale": "paper"}, "scale small"),
        ({"grid": {"brokers": [30]}}, "other parameters"),
        ({"sources": "def"}, "another version of the code"),
    ],
)
def test_results_of_another_question_are_refused_unless_they_are_measured_again(
    folder: ResultFolder, change: dict[str, object], reason: str
) -> None:
    other = msgspec.structs.replace(QUESTION, **change)
    with pytest.raises(OperatorError, match=f"has results of {reason}.*--renew"):
        folder.open(other)
    assert folder.done() == {0, 1, 2}
    folder.open(other, again="outdated")
    assert folder.done() == set()


def test_results_of_the_same_question_stay_unless_all_is_measured_again(
    folder: ResultFolder,
) -> None:
    folder.open(QUESTION, again="outdated")
    assert folder.done() == {0, 1, 2}
    folder.open(QUESTION, again="all")
    assert folder.done() == set()


def test_a_part_that_was_damaged_is_named(folder: ResultFolder) -> None:
    part = folder.folder / "part-0000000.parquet"
    part.write_bytes(part.read_bytes()[:-10])
    with pytest.raises(InputFileError, match=r"part-0000000.parquet.*delete it"):
        folder.refuse(QUESTION)
    part.unlink()
    assert folder.done() == {2}


def test_a_question_that_was_damaged_is_named(folder: ResultFolder) -> None:
    (folder.folder / "question.json").write_text("{}")
    with pytest.raises(InputFileError, match=r"question.json.*--anew"):
        folder.refuse(QUESTION)
    folder.open(QUESTION, again="all")


def test_a_question_of_another_experiment_is_named(folder: ResultFolder) -> None:
    other = msgspec.structs.replace(QUESTION, experiment="ktco-time")
    (folder.folder / "question.json").write_bytes(msgspec.json.encode(other))
    with pytest.raises(InputFileError, match=r"is of ktco-degree, and this of ktco-time.*--anew"):
        folder.refuse(QUESTION)


def test_what_has_no_question_is_told_as_what_it_is(folder: ResultFolder) -> None:
    (folder.folder / "question.json").rename(folder.folder.parent / "letter.txt")
    with pytest.raises(OperatorError, match=r"has rows, but no question.json"):
        result_folders(folder.folder.parent)
    with pytest.raises(OperatorError, match="is no folder"):
        result_folders(folder.folder.parent / "letter.txt")


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(OperatorError, match="is not empty"):
        ResultFolder(tmp_path).open(QUESTION)
    with pytest.raises(OperatorError, match="has no results; meshwright lab run"):
        result_folders(tmp_path)


def test_a_folder_in_which_nothing_was_measured_takes_any_question(tmp_path: Path) -> None:
    empty = ResultFolder(tmp_path / "ktco-degree")
    empty.open(QUESTION)
    other = msgspec.structs.replace(QUESTION, grid={"brokers": [30]})
    empty.open(other)
    assert empty.question() == other
