from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from meshwright import kernel_cache
from meshwright.pipeline.spark.shipping import PACKAGE, pack_package

TESTS = Path(__file__).parents[1]
SOURCE = "def kernel(): return 1\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    kernels = tmp_path / "planning" / "kernels"
    kernels.mkdir(parents=True)
    (kernels / "caller.py").write_text(SOURCE)
    (kernels / "called.py").write_text(SOURCE)
    monkeypatch.setattr(kernel_cache, "__file__", str(tmp_path / "kernel_cache.py"))
    monkeypatch.delenv(kernel_cache.VARIABLE, raising=False)
    return tmp_path


def chosen(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(kernel_cache.VARIABLE, raising=False)
    kernel_cache.choose_folder()
    folder = Path(os.environ[kernel_cache.VARIABLE])
    folder.mkdir(exist_ok=True)
    return folder


def test_a_change_in_any_kernel_leaves_all_compiled_ones_behind(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = chosen(monkeypatch)
    assert chosen(monkeypatch) == first
    (package / "planning" / "kernels" / "called.py").write_text(SOURCE + "# changed\n")
    assert chosen(monkeypatch) != first
    assert not first.exists()


def test_a_folder_that_the_user_named_is_kept(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(kernel_cache.VARIABLE, str(package / "mine"))
    kernel_cache.choose_folder()
    assert os.environ[kernel_cache.VARIABLE] == str(package / "mine")


@pytest.mark.parametrize(
    "modules", ["numba, {kernel}", "{kernel}, numba", "compiled_once, {kernel}, numba"]
)
def test_numba_knows_the_folder_whoever_loaded_it_first(modules: str) -> None:
    loaded = modules.format(kernel="meshwright.overlays.kernels.breadth")
    script = f"import {loaded}; print(numba.config.CACHE_DIR)"
    environment = {k: v for k, v in os.environ.items() if k != kernel_cache.VARIABLE}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (PACKAGE.parent, TESTS)))
    run = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert Path(run.stdout.strip()).name.startswith(kernel_cache.PREFIX)


def test_what_was_compiled_from_sources_is_found_from_an_archive_of_them(tmp_path: Path) -> None:
    script = (
        "import numpy as np; from meshwright.overlays.kernels.breadth import all_hops as kernel; "
        "hops = kernel(np.array([0, 1, 2]), np.array([1, 0], np.int32)); "
        "assert hops.tolist() == [[0, 1], [1, 0]]; "
        "print(kernel.py_func.__code__.co_filename, sum(kernel.stats.cache_hits.values()))"
    )
    archive = tmp_path / "meshwright.zip"
    pack_package(archive)
    told = []
    for place in (PACKAGE.parent, archive):
        environment = os.environ | {
            "PYTHONPATH": str(place), kernel_cache.VARIABLE: str(tmp_path / "compiled"),
        }  # fmt: skip
        run = subprocess.run(
            [sys.executable, "-c", script], env=environment, cwd=tmp_path, capture_output=True,
            text=True, check=True,
        )  # fmt: skip
        file, hits = run.stdout.split()
        assert Path(file).is_relative_to(place)
        told.append(hits)
    assert told == ["0", "1"]
