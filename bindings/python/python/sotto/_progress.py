"""How far an opening is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

from ._errors import MisuseError

ProgressFn = Callable[[str, int, int], object]
"""`progress(stage, done, total)`, in bytes; `total` is 0 where it is not known."""
Progress = Union[bool, ProgressFn]

_WORDS = {
    "catalog": "fetching the catalog",
    "waiting": "waiting for another download",
    "hint": "fetching the hint",
    "rows": "streaming rows",
    "next-client": "streaming rows for the next hints",
    "keys": "uploading keys",
    "hints": "waiting for hints",
    "row": "fetching the row",
}


def progress_fn(progress: Progress) -> ProgressFn | None:
    """The function that reports progress: bars of tqdm for `True`."""
    if progress is False:
        return None
    if progress is not True:
        return progress
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise MisuseError(
            "progress=True needs tqdm, which is not installed",
            "misuse",
            "install tqdm, or give a function (stage, done, total)",
        ) from None
    return _Bars(tqdm)


class _Bars:
    def __init__(self, make: Any) -> None:
        self._make = make
        self._stage = ""
        self._bar: Any = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            if self._bar is not None:
                self._bar.close()
            self._bar, self._stage = None, stage
        words = _WORDS.get(stage)
        if words is None or total == 0:
            return
        if self._bar is None:
            self._bar = self._make(total=total, desc=words, unit="B", unit_scale=True)
        self._bar.update(done - self._bar.n)
