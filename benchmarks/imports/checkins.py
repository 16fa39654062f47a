"""Files of check-ins: of people who mostly stay where they are, and with what goes wrong."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import numpy as np
import pandas as pd

ROWS_OF_A_USER = 25
# Of so many rows, one cannot be used, and one stands there already.
ROWS_PER_FAULT = 1000
NO_TEXT = b"7,2010-08-01T12:00:00Z,40.7,-73.9,\xff\xfe\n"
WRONG = (
    NO_TEXT,
    b"7,yesterday,40.7,-73.9,v1\n",
    b"7,1969-08-01T12:00:00Z,40.7,-73.9,v1\n",
    b"7,2300-08-01T12:00:00Z,40.7,-73.9,v1\n",
    b"7,2010-08-01T12:00:00Z,90.1,-73.9,v1\n",
    b"7,2010-08-01T12:00:00Z,nan,-73.9,v1\n",
    b"7,2010-08-01T12:00:00Z,40.7,,v1\n",
    b",2010-08-01T12:00:00Z,40.7,-73.9,v1\n",
    b"7,2010-08-01T12:00:00Z,40.7\n",
)


def write_checkins(path: Path, row_count: int) -> None:
    """Check-ins that are all good."""
    rng = np.random.default_rng(1)
    users = np.sort(rng.integers(max(1, row_count // ROWS_OF_A_USER), size=row_count))
    times = pd.Timestamp("2010-08-01") + pd.to_timedelta(
        rng.integers(92 * 86_400, size=row_count), unit="s"
    )
    frame = pd.DataFrame(
        {
            "user_id": users,
            "ts_utc": times.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "lat": np.round(25 + users % 20 + rng.exponential(0.6, row_count), 6),
            "lon": np.round(-125 + users % 60 + rng.exponential(0.6, row_count), 6),
            "venue_id": rng.integers(100_000, size=row_count),
        }
    )
    frame.to_csv(path, index=False)


def write_recorded(path: Path, row_count: int) -> None:
    """About as many check-ins, a few of them wrong or repeated, as in files that people have."""
    write_checkins(path, row_count)
    header, *lines = path.read_bytes().splitlines(keepends=True)
    wrong = cycle(WRONG)
    for place in range(ROWS_PER_FAULT // 2, len(lines), ROWS_PER_FAULT):
        lines[place] = next(wrong)
        lines[place - 1] = lines[place - 2]
    path.write_bytes(b"".join([header, *lines]))
