"""Results of a run: a few files that belong together, wherever they go."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from meshwright.files.writing import make_folder, write_whole
from meshwright.pipeline.places.hadoop import names_at, write_file
from meshwright.pipeline.places.place import Address, Place


def write_results(folder: Place, contents: Mapping[str, bytes]) -> None:
    """Write files by their names: on this machine all or none, at an address each of them whole."""
    if isinstance(folder, Path):
        made = make_folder(folder)
        write_whole({made / name: content for name, content in contents.items()})
        return
    for name, content in contents.items():
        write_file(folder / name, content)


def is_folder(place: Place) -> bool:
    """Whether there is a folder."""
    return names_at(place) is not None if isinstance(place, Address) else place.is_dir()
