"""Small files of check-ins, and what an independent computation makes of them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd

HEADER = "user_id,ts_utc,lat,lon,venue_id"


def write_lines(path: Path, *lines: str) -> Path:
    text = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def random_checkins(count: int, seed: int) -> list[str]:
    """Rows of few users, venues and hours, so that runs, ties and exact duplicates are common."""
    rng = np.random.default_rng(seed)
    hours = rng.integers(0, 24 * 40, count)
    venues = rng.integers(0, 12, count)
    users = rng.integers(0, 15, count)
    return [
        f"u{user},2010-08-{1 + hour // 24 % 31:02d}T{hour % 24:02d}:00:00Z,"
        f"{venue * 0.37 - 2:.2f},{venue * -0.73 + 4:.2f},{venue}"
        for user, hour, venue in zip(users.tolist(), hours.tolist(), venues.tolist(), strict=True)
    ]


def described_by_pandas(path: Path, cell_degrees: float) -> dict[str, float]:
    """The figures of trace describe, by other means."""
    read = pd.read_csv(path, dtype={"user_id": str, "venue_id": str})
    kept = read.drop_duplicates().copy()
    kept["time"] = pd.to_datetime(kept["ts_utc"])
    kept["north"] = np.floor(kept["lat"] / cell_degrees)
    kept["east"] = np.floor(kept["lon"] / cell_degrees)
    kept = kept.sort_values(["user_id", "time", "venue_id"], kind="stable")
    former = kept.groupby("user_id")[["north", "east"]].shift()
    starts = kept[(former != kept[["north", "east"]]).any(axis=1)]
    stays = (starts.groupby("user_id")["time"].shift(-1) - starts["time"]).dropna()
    pairs = starts.groupby(["user_id", "north", "east"]).size()
    return {
        "checkins": len(kept),
        "users": kept["user_id"].nunique(),
        "visits": len(starts),
        "user_cells": len(pairs),
        "once_only_share": float((pairs == 1).mean()),
        "stay_under_day_share": float((stays < pd.Timedelta(days=1)).mean()),
        "stay_over_week_share": float((stays > pd.Timedelta(days=7)).mean()),
        "quarantined": len(read) - len(kept),
    }
