"""Tokens in files, as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshwright.errors import InputFileError
from meshwright.files.tokens import read_token
from meshwright.manager.rest.rest_client import RestDesk


def test_a_token_is_read_without_the_end_of_its_line(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("0123456789abcdef\n")
    assert read_token(path) == "0123456789abcdef"


@pytest.mark.parametrize("content", ["", "\n", "[settings]\nkey = 1\n", "grün"])
def test_a_file_that_holds_no_token_is_refused_by_who_shows_it_too(
    content: str, tmp_path: Path
) -> None:
    path = tmp_path / "token"
    path.write_text(content)
    for read in (read_token, lambda path: RestDesk("http://127.0.0.1:9", path)):
        with pytest.raises(InputFileError, match="a token is one line of ASCII"):
            read(path)


def test_a_token_that_could_be_guessed_is_refused_where_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("short\n")
    assert read_token(path, 1) == "short"
    with pytest.raises(InputFileError, match="5 characters and could be guessed"):
        read_token(path)
