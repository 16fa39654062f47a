from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from meshwright.errors import InputFileError, MeshwrightError
from meshwright.live.settings import (
    ListenerSettings,
    LiveSettings,
    read_live_settings,
)

DOCUMENTED = Path(__file__).parents[2] / "docs" / "broker.toml"


def test_the_documented_file_says_what_is_so_without_it() -> None:
    found = read_live_settings(DOCUMENTED)
    folder = DOCUMENTED.parent
    expected = LiveSettings(
        folder=folder / ".meshwright", listeners=(ListenerSettings(anonymous=True),)
    )
    assert found == expected


def test_every_key_is_documented() -> None:
    text = DOCUMENTED.read_text()

    def check(kind: type[msgspec.Struct]) -> None:
        for field in msgspec.structs.fields(kind):
            assert re.search(rf"^(# )?\[*([a-z]+\.)*{field.name}\b", text, re.MULTILINE), field.name

    for field in msgspec.structs.fields(LiveSettings):
        kinds = [field.type, *getattr(field.type, "__args__", ())]
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
                check(kind)
    check(LiveSettings)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[[listeners]]\naddress = "0.0.0.0:1883"', "could let nobody in"),
        ('[peers]\nlisten = "nowhere"', "'nowhere' is no address"),
        ('[access]\npasswords = "none"', "there is no such file"),
        ("[limits]\nqueue_max = -1", "limits.queue_max is -1"),
        ('name = "a/b"', "is no name for a broker"),
        ('design = "chrd"', "There is no design 'chrd'"),
        ('mobility = "home-broker"', "There is no mobility policy 'home-broker'"),
        ("[adaptation]\nevery_s = 0", "adaptation.every_s is 0.0"),
        ("[adaptation]\nlink_weight = -1", "adaptation.link_weight is -1"),
        ("[adaptation]\ndegree_max = 1", "adaptation.degree_max is 1"),
        ('[adaptation]\nlink_costs = "none"', "there is no such file"),
        ("[peers]\nheartbeat_s = 0", "peers.heartbeat_s is 0.0"),
        ("latitude = 91.0\nlongitude = 0.0", "latitude is 91.0"),
        ("latitude = 10.0", "latitude stands alone"),
        ("[moves]\nclients_per_second = -1", "moves.clients_per_second is -1"),
        ('site = ""', "the site is empty"),
        ("[telemetry]\ntrace_bytes_max = -1", "telemetry.trace_bytes_max is -1"),
    ],
)
def test_what_cannot_work_is_refused_in_a_sentence(
    text: str, sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "broker.toml"
    path.write_text(text)
    with pytest.raises(MeshwrightError, match=re.escape(sentence)):
        read_live_settings(path)


def test_a_misspelt_key_is_answered_with_the_right_one(tmp_path: Path) -> None:
    path = tmp_path / "broker.toml"
    path.write_text("[limits]\nqueu_max = 1\n")
    with pytest.raises(InputFileError, match=r"did you mean 'limits\.queue_max'"):
        read_live_settings(path)
