from __future__ import annotations

import os
import resource
from pathlib import Path
from types import SimpleNamespace

import pytest

from meshwright.errors import OperatorError
from meshwright.files.writing import make_folder, refuse_folder, refuse_unwritable, write_whole


def test_files_written_together_appear_together(tmp_path: Path) -> None:
    write_whole({tmp_path / "one": b"1", tmp_path / "two": b"2"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "one": b"1",
        "two": b"2",
    }


def test_a_failing_write_leaves_what_stood_there(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"old")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OperatorError, match="is a folder"):
        write_whole({tmp_path / "one": b"new", tmp_path / "folder": b"new"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "one"]
    assert (tmp_path / "one").read_bytes() == b"old"


def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OperatorError, match="cannot be written"):
            write_whole({tmp_path / "small": b"1", tmp_path / "large": b"2" * 100_000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "file")
    write_whole({tmp_path / "link": b"1"})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "file").read_bytes() == b"1"


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    write_whole({tmp_path / "whole": b"1"})
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_what_cannot_be_written_is_refused_beforehand(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "round").symlink_to(tmp_path / "round")
    for path, fault in (
        (tmp_path, "is a folder"),
        (tmp_path / "none" / "file", "its folder does not exist"),
        (tmp_path / "file" / "file", "its folder does not exist"),
        (Path(os.devnull), "not an ordinary file"),
        (tmp_path / "a\0b", "this name cannot be used"),
        (tmp_path / ("n" * 300), "this name cannot be used"),
        (tmp_path / "round", "this name cannot be used"),
    ):
        with pytest.raises(OperatorError, match=fault):
            refuse_unwritable(path)


def test_folders_are_made_unless_a_file_is_in_the_way(tmp_path: Path) -> None:
    assert make_folder(tmp_path / "one" / "two").is_dir()
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OperatorError, match="a file is in the way"):
            make_folder(path)


@pytest.mark.parametrize(
    ("flags", "reason"),
    [(os.ST_RDONLY, "is on a read-only file system"), (0, "may not be written by this user")],
)
def test_a_folder_that_nobody_may_write_says_whose_right_is_missing(
    flags: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=flags))
    for refuse in (refuse_folder, refuse_unwritable):
        with pytest.raises(OperatorError, match=f"new: {tmp_path} {reason}; choose another folder"):
            refuse(tmp_path / "new")
