from __future__ import annotations

from pathlib import Path

import pytest

from meshwright.errors import InputFileError, OperatorError
from meshwright.filters.filter import parse_filter
from meshwright.live.access.passwords import read_passwords, remove_user, set_password
from meshwright.live.access.rules import ClientRules, read_rules

RULES = """
# what everybody may read
topic read news/#
user alice
topic readwrite alice/#
topic deny alice/secret
pattern write devices/%c/state
pattern read users/%u/#
"""


def rules_of(tmp_path: Path, client: str, user: str, text: str = RULES) -> ClientRules:
    path = tmp_path / "rules"
    path.write_text(text)
    return read_rules(path).of(client, user)


@pytest.mark.parametrize(
    ("client", "user", "wanted", "may"),
    [
        ("c", "", "news/today", True),
        ("c", "", "news/+/x", True),
        ("c", "", "#", False),
        ("c", "", "alice/a", False),
        ("c", "alice", "alice/a", True),
        ("c", "alice", "alice/secret", False),
        ("c", "alice", "alice/#", False),
        ("c", "alice", "alice/+/deep", True),
        ("c", "alice", "users/alice/x", True),
        ("c", "bob", "users/alice/x", False),
        ("c", "+", "users/bob/x", False),
        ("c", "", "$share/group/news/#", True),
        ("c", "", "$where/price>3/news/today", True),
    ],
)
def test_a_filter_is_granted_only_if_all_of_it_may_be_read(
    client: str, user: str, wanted: str, may: bool, tmp_path: Path
) -> None:
    assert rules_of(tmp_path, client, user).may_read_all(parse_filter(wanted)) is may


@pytest.mark.parametrize(
    ("client", "user", "topic", "may"),
    [
        ("d1", "", "devices/d1/state", True),
        ("d1", "", "devices/d2/state", False),
        ("+", "", "devices/d2/state", False),
        ("d1/state/x", "", "devices/d1/state/x/state", False),
        ("c", "", "news/today", False),
        ("c", "alice", "alice/a/b", True),
        ("c", "alice", "alice/secret", False),
    ],
)
def test_a_topic_is_written_only_where_a_rule_says_so(
    client: str, user: str, topic: str, may: bool, tmp_path: Path
) -> None:
    assert rules_of(tmp_path, client, user).may("write", topic) is may


@pytest.mark.parametrize(
    ("wanted", "may"),
    [
        ("#", True),
        ("alice/#", True),
        ("alice/+", True),
        ("alice/secret", False),
        ("other/#", False),
        ("+/today", True),
        ("$SYS/#", False),
    ],
)
def test_a_filter_some_of_which_may_be_read_is_told_from_others(
    wanted: str, may: bool, tmp_path: Path
) -> None:
    assert rules_of(tmp_path, "c", "alice").may_read_some(parse_filter(wanted)) is may


PATTERNS = """
pattern readwrite homes/%c/#
pattern read %c/of/%u
pattern deny homes/%c/secret
topic write #
"""


@pytest.mark.parametrize("name", ["%u", "%c", "x%u", "a?b=c", "$where", "$share"])
def test_a_name_stands_for_itself_in_a_pattern(name: str, tmp_path: Path) -> None:
    for client, user in ((name, "alice"), ("alice", name)):
        rules = rules_of(tmp_path, client, user, PATTERNS)
        assert rules.may("read", f"homes/{client}/x")
        assert rules.may("read", f"{client}/of/{user}")
        assert not rules.may("read", f"homes/{client}/secret")
        for topic in ("homes/xalice/x", "alice/of/alice", "b/of/c", "of/alice"):
            assert not rules.may("read", topic)


@pytest.mark.parametrize("name", ["#", "+", "a/b", "a/#"])
def test_a_name_that_would_widen_a_pattern_makes_it_void_but_for_denials(
    name: str, tmp_path: Path
) -> None:
    rules = rules_of(tmp_path, name, "alice", PATTERNS)
    assert not rules.may("read", "homes/a/b/x")
    assert not rules.may("read", "a/of/alice")
    assert not rules_of(tmp_path, "a/b", "alice", PATTERNS).may("write", "homes/a/b/secret")


@pytest.mark.parametrize(
    "line",
    [
        "user",
        "topics read a",
        "topic read a/#/b",
        "topic read $where/b=1/a",
        "topic dney a/secret",
        "pattern raed a/%c",
        "topic of two words",
    ],
)
def test_a_line_that_is_no_rule_is_pointed_at(line: str, tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="line 2"):
        rules_of(tmp_path, "c", "", f"topic read a\n{line}\n")


def test_words_of_a_rule_may_stand_apart_by_any_blanks(tmp_path: Path) -> None:
    rules = rules_of(
        tmp_path, "c", "", "topic\tread  a/#\ntopic deny\ta/secret\ntopic read two words\n"
    )
    assert rules.may("read", "a/b")
    assert not rules.may("read", "a/secret")
    assert rules.may("read", "two words")


def test_passwords_are_checked_and_never_stored(tmp_path: Path) -> None:
    path = tmp_path / "passwords"
    assert not set_password(path, "alice", b"correct horse")
    assert not set_password(path, "bob", b"battery")
    assert set_password(path, "alice", b"staple")
    assert "staple" not in path.read_text()
    passwords = read_passwords(path)
    assert passwords.are_right("alice", b"staple")
    assert not passwords.are_right("alice", b"correct horse")
    assert not passwords.are_right("carol", b"nobody")
    remove_user(path, "alice")
    assert not read_passwords(path).are_right("alice", b"staple")
    with pytest.raises(OperatorError, match="no user 'alice'"):
        remove_user(path, "alice")


def test_a_file_of_plain_passwords_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "passwords"
    path.write_text("alice:staple\n")
    with pytest.raises(InputFileError, match="line 1"):
        read_passwords(path)
    for user in ("", "a:b", " a"):
        with pytest.raises(OperatorError):
            set_password(tmp_path / "new", user, b"x")


def test_a_file_of_passwords_is_for_its_owner_and_a_group_that_had_it(tmp_path: Path) -> None:
    path = tmp_path / "passwords"
    set_password(path, "alice", b"staple")
    assert path.stat().st_mode & 0o777 == 0o600
    for before, after in ((0o644, 0o640), (0o640, 0o640), (0o600, 0o600), (0o666, 0o640)):
        path.chmod(before)
        set_password(path, "bob", b"battery")
        assert path.stat().st_mode & 0o777 == after
    remove_user(path, "bob")
    assert path.stat().st_mode & 0o777 == 0o640
