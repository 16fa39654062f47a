from __future__ import annotations

import re
from pathlib import Path

from meshwright.files.settings import read_settings
from meshwright.pipeline.replays.parameters import ReplayParameters, RunSettings

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "FILES.md"
EXAMPLE = re.compile(r"^### replay\.toml.*?^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_documented_settings_are_all_there_are_and_the_defaults(tmp_path: Path) -> None:
    (example,) = EXAMPLE.findall(DOCUMENT.read_text(encoding="utf-8"))
    path = tmp_path / "replay.toml"
    path.write_text(example)
    settings = read_settings(path, RunSettings, documented_in="docs/FILES.md")
    assert (settings.trace, settings.out) == ("city", "findings")
    left_out = {"slot_s": 3600, "source": "subscriptions"}
    lists = {"methods", "designs"}
    default = ReplayParameters()
    for part in set(ReplayParameters.__struct_fields__) - {"seed"}:
        expected, found = getattr(default, part), getattr(settings.parameters(), part)
        for name in expected.__struct_fields__:
            assert re.search(rf"^{name} = ", example, re.MULTILINE), name
            if name not in lists:
                assert getattr(found, name) == left_out.get(name, getattr(expected, name)), name


def test_a_file_needs_only_a_trace_and_a_place_for_what_is_found(tmp_path: Path) -> None:
    path = tmp_path / "replay.toml"
    path.write_text('trace = "a"\nout = "b"\n')
    settings = read_settings(path, RunSettings, documented_in="docs/FILES.md")
    assert settings.parameters() == ReplayParameters()
