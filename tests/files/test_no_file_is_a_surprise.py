"""Whatever a file holds, it is read or refused in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.errors import InputFileError
from meshwright.files.overlays import read_overlay, read_tree
from meshwright.files.plans import read_overlay_or_target, read_plan
from meshwright.files.snapshots import read_interests, read_rates
from meshwright.files.traffic import read_clients, read_traffic

READERS: dict[str, Callable[[Path], object]] = {
    "interests.csv": read_interests,
    "rates.csv": read_rates,
    "traffic.csv": lambda path: read_traffic(path, {"a", "b"}),
    "clients.csv": lambda path: read_clients(path, {"a", "b"}),
    "overlay.json": read_overlay,
    "tree.json": read_tree,
    "plan.json": read_plan,
    "any.json": read_overlay_or_target,
    "interests.csv.gz": read_interests,
}
HEADERS = st.sampled_from(
    [b"", b"broker,topic\n", b"topic,publications\n", b"messages,members\n", b"client,broker\n"]
)
CSV_BYTES = st.text(st.sampled_from('ab01,;"\r\n.e- \x00é'), max_size=30).map(str.encode)
NAMES = st.sampled_from(["a", "b", "", "version", "é"])
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["design", "params", "brokers", "links", "positions", "version", "from", "to", "steps", "cost"]
)
OVERLAYS = st.fixed_dictionaries(
    {"design": NAMES, "brokers": st.lists(NAMES, max_size=3), "links": st.lists(st.lists(NAMES))},
    optional={"positions": st.dictionaries(NAMES, JSON_VALUES), "version": JSON_VALUES},
)
DOCUMENTS = JSON_VALUES | st.dictionaries(FIELDS, JSON_VALUES | OVERLAYS, max_size=6) | OVERLAYS


@settings(max_examples=150)
@given(st.sampled_from(sorted(READERS)), HEADERS, CSV_BYTES | st.binary(max_size=30))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, header: bytes, content: bytes
) -> None:
    read_or_refuse(tmp_path_factory.mktemp("any") / name, header + content)


@settings(max_examples=150)
@given(st.sampled_from([name for name in sorted(READERS) if name.endswith("json")]), DOCUMENTS)
def test_any_document_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, document: Any
) -> None:
    content = json.dumps(document, indent=1).encode()
    read_or_refuse(tmp_path_factory.mktemp("any") / name, content)


def read_or_refuse(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        READERS[path.name](path)
    except InputFileError as refusal:
        sentence = str(refusal)
        assert sentence.startswith(str(path))
        assert "\n" not in sentence
