"""Shares in whole percent."""

from __future__ import annotations

import numpy as np
import pytest

from mha.rounding import percent


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, "0%"),
        (1e-300, "less than 1%"),
        (0.0049, "less than 1%"),
        (0.006, "1%"),
        (0.345, "34%"),
        (0.994, "99%"),
        (0.996, "more than 99%"),
        (np.nextafter(1, 0), "more than 99%"),
        (1.0, "100%"),
        (3.126, "313%"),
        (-0.25, "-25%"),
    ],
)
def test_only_nothing_is_0_and_only_all_is_100(share: float, said: str) -> None:
    assert percent(share) == said
