"""Random functions have the derivatives that differences have."""

from __future__ import annotations

import pytest

from tests.passes.differentiate.random_functions import check_function


@pytest.mark.parametrize("seed", range(40))
def test_a_random_function(seed: int) -> None:
    check_function(seed)
