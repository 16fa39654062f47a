"""The settings of a manager: documented key by key, and refused in a sentence."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from meshwright.errors import InputFileError, MeshwrightError
from meshwright.manager.settings import BrokerAccess, ManagerSettings, read_manager_settings

DOCUMENTED = Path(__file__).parents[2] / "docs" / "manager.toml"


def test_the_documented_file_says_what_is_so_without_it() -> None:
    folder = DOCUMENTED.parent
    assert read_manager_settings(DOCUMENTED) == ManagerSettings(
        folder=folder / ".meshwright/manager", brokers=BrokerAccess(data=folder / ".meshwright")
    )


def test_every_key_is_documented() -> None:
    text = DOCUMENTED.read_text()

    def check(kind: type[msgspec.Struct]) -> None:
        for field in msgspec.structs.fields(kind):
            assert re.search(rf"^(# )?\[?([a-z]+\.)*{field.name}\b", text, re.MULTILINE), field.name
            for kind_of in (field.type, *getattr(field.type, "__args__", ())):
                if isinstance(kind_of, type) and issubclass(kind_of, msgspec.Struct):
                    check(kind_of)

    check(ManagerSettings)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[brokers]\naddresses = ["127.0.0.1:1"]', "Brokers at an address want a token"),
        ('[brokers]\naddresses = ["nowhere"]\ntoken_file = "t"', "'nowhere' is no address"),
        ('[rest]\nlisten = "0.0.0.0:8090"', "for others to read"),
        ("[windows]\nneeded = 9\nkept = 3", "windows.kept is 3, and 9 are needed"),
        ('[planning]\ndesign = "chrd"', "There is no design 'chrd'"),
        ('[planning]\ndesign = "tree"\nk = 3', "line 3: The design tree cannot be built for k = 3"),
        ('[planning]\nmaster = "a"\nremote = "b"', "Spark works in one place"),
        ("[planning]\nhorizon_s = 1.0", "less than a window of 60 s"),
        ("[goals]\nk_min = 3\ndegree_max = 2", "degree_max = 2 allows fewer"),
        ('[goals]\nprefer = ["beauty"]', "choose 'cost', 'delay', 'moved_clients'"),
        ('[policy]\nmode = "always"', "choose 'manual' or 'automatic'"),
        ('[policy]\nhours = "03:00-03:00"', "leaves no time in which a plan may begin"),
        ("[lease]\nseconds = 0", "lease.seconds is 0"),
    ],
)
def test_what_cannot_work_is_refused_in_a_sentence(
    text: str, sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "manager.toml"
    path.write_text(text)
    with pytest.raises(MeshwrightError, match=re.escape(sentence)):
        read_manager_settings(path)


def test_a_misspelt_key_is_answered_with_the_right_one(tmp_path: Path) -> None:
    path = tmp_path / "manager.toml"
    path.write_text("[policy]\ncooldown_s = 1\n")
    with pytest.raises(InputFileError, match=r"did you mean 'policy\.cool_down_s'"):
        read_manager_settings(path)
