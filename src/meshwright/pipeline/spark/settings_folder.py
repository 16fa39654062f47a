"""The folder of Spark's settings: ours, or the user's; where the user's is silent, ours hold."""

from __future__ import annotations

import os
import re
from pathlib import Path

from meshwright.errors import OperatorError

OWN_FOLDER = Path(__file__).parent / "runtime" / "conf"
FOLDER_VARIABLE = "SPARK_CONF_DIR"
LOG_VARIABLE = "MESHWRIGHT_LOG_SETTINGS"  # for the script that stands in for java
DEFAULTS, SCRIPT = "spark-defaults.conf", "spark-env.sh"
LOG_SETTINGS = tuple(f"log4j2.{kind}" for kind in ("properties", "yaml", "yml", "json", "xml"))
SETTING = re.compile(r"\s*([^#!\s=:][^\s=:]*)(?:\s*[=:\s]\s*(.*?))?\s*")


def choose_settings_folder() -> None:
    """Name the folder to Spark, and to Java who says what is logged."""
    folder = _folder()
    if not folder.is_dir():
        raise OperatorError(
            f"{FOLDER_VARIABLE}: there is no folder {folder}; correct the name, or unset it."
        )
    os.environ[FOLDER_VARIABLE] = str(folder)
    own = OWN_FOLDER / LOG_SETTINGS[0]
    found = (folder / name for name in LOG_SETTINGS if (folder / name).exists())
    os.environ[LOG_VARIABLE] = str(next(found, own))


def default_settings() -> dict[str, str]:
    """What the folder says of Spark's settings."""
    file = _folder() / DEFAULTS
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return {found[1]: found[2] or "" for line in lines if (found := SETTING.fullmatch(line))}


def has_script() -> bool:
    """Whether a script in the folder may set anything, also where Spark works."""
    return (_folder() / SCRIPT).exists()


def is_for_class_path() -> bool:
    """Whether the folder has files that Java finds only on its class path."""
    found_by_name = {DEFAULTS, SCRIPT, *LOG_SETTINGS}
    return any(
        path.name not in found_by_name and path.suffix != ".template"
        for path in _folder().iterdir()
    )


def _folder() -> Path:
    return Path(os.environ.get(FOLDER_VARIABLE, OWN_FOLDER)).absolute()
