"""Builds the wheel, looks whether all is in it, installs it alone, and asks it.

`make wheel` runs it; the wheel stays in dist. The environment is made anew under build, by pip
alone, with the libraries that pip chooses.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

from book.contents import ROOT
from meshwright import __version__
from meshwright.errors import OperatorError

PACKAGE = ROOT / "src" / "meshwright"
DIST = ROOT / "dist"
ENVIRONMENT = ROOT / "build" / "wheel"
NETWORK = ("workload", "generate", "--brokers", "12", "--topics", "8", "--topics-per-broker", "3",
           "--popularity", "zipf", "--out", "work")  # fmt: skip
COMPARE = ("overlay", "compare", "--interests", "work/interests.csv", "--rates", "work/rates.csv")
TRACE = ("trace", "generate", "--model", "poisson", "--users", "20", "--hours", "2",
         "--out", "trace")  # fmt: skip
# Ports of their own, so that a network that runs here is left alone.
UP = ("up", "-n", "2", "--manage", "--port", "21883", "--peer-port", "27883")
MANAGER = '[rest]\nlisten = "127.0.0.1:28090"\n'
SHOWN = "Look at the network: "
START_S = 120


def build(folder: Path) -> Path:
    """The wheel of this tree; nothing is fetched for it."""
    shutil.rmtree(ROOT / "build" / "lib", ignore_errors=True)  # what an earlier build left there
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([*pip, "wheel", *options, str(ROOT)], check=True)
    return folder / f"meshwright-{__version__}-py3-none-any.whl"


def missing(wheel: Path) -> list[str]:
    """Files of the package that are not in the wheel."""
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    files = [path for path in PACKAGE.rglob("*") if path.is_file()]
    wanted = [path.relative_to(PACKAGE.parent).as_posix() for path in files]
    return [name for name in sorted(wanted) if name not in names and "__pycache__" not in name]


def install(wheel: Path) -> Path:
    """The command in an environment that has the wheel, and what it brings."""
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    venv.create(ENVIRONMENT, with_pip=True)
    python = ENVIRONMENT / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, str(wheel)], check=True)
    return ENVIRONMENT / "bin" / "meshwright"


def ask(command: Path, folder: Path) -> None:
    """Have the command say its version, compare designs, start Spark, and run two brokers."""
    said = _asked(command, folder, "--version")
    if said.strip() != f"meshwright {__version__}":
        raise OperatorError(f"The wheel says {said.strip()!r}, and not version {__version__}")
    _asked(command, folder, *NETWORK)
    _asked(command, folder, *COMPARE)
    _asked(command, folder, *TRACE)
    _run_brokers(command, folder)


def _asked(command: Path, folder: Path, *words: str) -> str:
    run = subprocess.run(
        [str(command), *words], cwd=folder, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise OperatorError(f"meshwright {' '.join(words)} of the wheel failed: {run.stderr}")
    return run.stdout


def _run_brokers(command: Path, folder: Path) -> None:
    """Start two brokers with a manager, open its dashboard, and stop them."""
    data = folder / ".meshwright"
    data.mkdir()
    (data / "manager.toml").write_text(MANAGER)
    with subprocess.Popen(
        [str(command), *UP], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as running:
        too_long = threading.Timer(START_S, running.terminate)
        too_long.start()
        try:
            is_shown = _is_shown(running.stdout or ())
        finally:
            too_long.cancel()
            running.send_signal(signal.SIGINT)
    if not is_shown:
        raise OperatorError(f"Two brokers of the wheel showed no dashboard within {START_S} s")


def _is_shown(printed: Iterable[str]) -> bool:
    """Follow the link that is printed, as a browser does."""
    links = (line.partition(SHOWN)[2].strip() for line in printed)
    link = next(filter(None, links), None)
    if link is None:
        return False
    # The link leaves a cookie by which the browser is known.
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(link) as page:
        return b"Meshwright" in page.read()


def main() -> None:
    """Build, look, install, ask; the first that fails ends it."""
    wheel = build(DIST)
    if absent := missing(wheel):
        raise OperatorError(f"{wheel.name} lacks {', '.join(absent)}; see package-data")
    print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size / 1e6:.1f} MB, all files in it")
    command = install(wheel)
    with tempfile.TemporaryDirectory() as folder:
        ask(command, Path(folder))
    shutil.rmtree(ENVIRONMENT)
    print(f"installed by pip alone, it answers: meshwright {__version__}")


if __name__ == "__main__":
    try:
        main()
    except OperatorError as error:
        sys.exit(f"error: {error}.")
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {' '.join(map(str, error.cmd))} failed with {error.returncode}.")
