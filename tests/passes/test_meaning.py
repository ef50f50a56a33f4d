"""Each step of the pipeline keeps what programs mean, by the interpreter."""

from __future__ import annotations

import pytest

from tests.passes.meaning import check_all_stages
from tests.passes.programs import EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_step_keeps_the_results(name: str) -> None:
    example = EXAMPLES[name]
    check_all_stages(example.text(), [example.values(seed) for seed in range(8)])
