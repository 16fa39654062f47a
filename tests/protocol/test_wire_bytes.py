"""Neither the bytes between brokers nor those on disk change unless somebody means it."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import pytest
from wire_bytes import (
    DISK_BYTES,
    disk_now,
    envelopes_with,
    read_bytes,
    tag_of,
    wire_file,
    wire_now,
)
from wire_examples import DISK_EXAMPLES, EXAMPLES

from meshwright.protocol.assembly import MESSAGES
from meshwright.protocol.foundation.message import CountsAs, Message
from meshwright.protocol.wire import (
    DISK_VALUES,
    SPOKEN,
    WireVersions,
    decode_disk,
    decode_envelopes,
    encode,
)

TO_ADD = "write it down: python tests/protocol/wire_bytes.py"
ANOTHER_VERSION = (
    "Brokers of this version send something else: if they are in use, give SPOKEN in "
    "protocol/wire.py a newer version (docs/decisions/0022); if not, see wire_bytes.py."
)
SPOKEN_VERSIONS = range(SPOKEN.oldest, SPOKEN.newest + 1)


def messages_of(parent: type[Message] = Message) -> set[type[Message]]:
    """All classes of messages in the core that are not there for others to be made of."""
    children = [one for one in parent.__subclasses__() if one.__module__.startswith("meshwright")]
    mine = {parent} if parent.__struct_config__.tag is not None else set()
    return mine.union(*(messages_of(one) for one in children))


def core_messages() -> set[type[Message]]:
    return {one for one in messages_of() if ".protocol." in one.__module__}


def test_each_message_has_one_example() -> None:
    counts = Counter(type(one) for one in EXAMPLES)
    assert {one.__name__ for one in core_messages() - set(counts)} == set()
    assert [one.__name__ for one, count in counts.items() if count > 1] == []


def test_no_two_messages_share_a_tag() -> None:
    tags = Counter(tag_of(one) for one in core_messages())
    assert [tag for tag, count in tags.items() if count > 1] == []


def test_each_message_between_brokers_says_what_it_counts_as() -> None:
    assert {one.__name__ for one in MESSAGES if one.counts_as not in get_args(CountsAs)} == set()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: type(one).__name__)
def test_the_bytes_of_a_message_are_those_of_its_version(example: Message) -> None:
    tag = str(tag_of(type(example)))
    kept = read_bytes(wire_file(SPOKEN.newest))
    assert tag in kept, TO_ADD
    assert wire_now()[tag] == kept[tag], ANOTHER_VERSION
    assert decode_envelopes(bytes.fromhex(kept[tag])) == envelopes_with(example)


@pytest.mark.parametrize("version", SPOKEN_VERSIONS)
def test_what_brokers_of_a_spoken_version_send_can_be_read(version: int) -> None:
    kept = read_bytes(wire_file(version))
    assert kept
    for encoded in kept.values():
        assert decode_envelopes(bytes.fromhex(encoded))


def test_what_was_written_down_is_still_said() -> None:
    assert set(read_bytes(wire_file(SPOKEN.newest))) <= set(wire_now()), ANOTHER_VERSION


@pytest.mark.parametrize("kind", DISK_VALUES)
def test_what_is_on_disk_can_be_read_and_is_written_so(kind: str) -> None:
    assert kind in DISK_EXAMPLES, "give it an example in wire_examples.py"
    kept = read_bytes(DISK_BYTES)
    assert kind in kept, TO_ADD
    assert disk_now()[kind] == kept[kind]
    assert decode_disk(encode((kind,)), bytes.fromhex(kept[kind])) == (
        (kind,),
        DISK_EXAMPLES[kind],
    )


def test_versions_speak_with_each_other_if_both_speak_one() -> None:
    old, both, new = WireVersions(2, 2), WireVersions(3, 2), WireVersions(4, 4)
    assert old.speaks_with(both)
    assert both.speaks_with(old)
    assert not old.speaks_with(new)
    assert not new.speaks_with(both)
    assert str(old) == "version 2"
    assert str(both) == "versions 2 to 3"
