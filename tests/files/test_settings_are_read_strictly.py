from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
import pytest

from meshwright.errors import InputFileError
from meshwright.files.settings import read_settings


class Listener(msgspec.Struct, frozen=True, kw_only=True):
    address: str
    anonymous: bool = False


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    packet_bytes_max: int = 1024
    queue_full: Literal["refuse", "drop"] | None = None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    name: str = "broker"
    durability: Literal["synced", "memory"] = "synced"
    listeners: tuple[Listener, ...] = ()
    limits: Limits | None = None


def read(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "broker.toml"
    path.write_text(text)
    return read_settings(path, Settings, documented_in="docs/broker.toml")


def test_settings_are_decoded_into_their_struct(tmp_path: Path) -> None:
    text = 'name = "north"\n[[listeners]]\naddress = "a:1"\n[limits]\npacket_bytes_max = 7\n'
    expected = Settings(
        name="north", listeners=(Listener(address="a:1"),), limits=Limits(packet_bytes_max=7)
    )
    assert read(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('nam = "x"', "line 1: there is no setting 'nam'; did you mean 'name'."),
        (
            "[limits]\n\npacket_byte_max = 7",
            "line 3: there is no setting 'limits.packet_byte_max'; did you mean 'limits.packet_byt",
        ),
        (
            '[[listeners]]\naddress = "a:1"\nanonymus = true',
            "line 3: there is no setting 'listeners.anonymus'; did you mean 'listeners.anonymous'.",
        ),
        (
            "[limits]\npacket_bytes_max = true",
            "line 2: limits.packet_bytes_max: expected `int`, got `bool`; see docs/broker.toml.",
        ),
        (
            'durability = "disk"',
            "line 1: durability: invalid enum value 'disk'; choose 'synced' or 'memory'.",
        ),
        (
            '[limits]\nqueue_full = "wait"',
            "line 2: limits.queue_full: invalid enum value 'wait'; choose 'refuse' or 'drop'.",
        ),
        ("[[listeners]]", "line 1: listeners: object missing required field `address`"),
        ("name = ", "line 1: this is not TOML (invalid value"),
    ],
)
def test_a_fault_is_pointed_at(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InputFileError) as caught:
        read(tmp_path, text)
    assert sentence in str(caught.value)
