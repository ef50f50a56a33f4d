"""What a campaign has done: a file of JSON lines, one for each seed of a stage."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

AGREES, DISAGREES, CRASHED, HUNG, PARTLY = (
    "agrees", "DISAGREES", "CRASHED", "HUNG", "partly",
)  # fmt: skip
BAD = (DISAGREES, CRASHED, HUNG)


@dataclass(frozen=True, slots=True)
class Record:
    """A seed of a stage: `runs` were compared, `rounded` of them equal but for the
    last bits of floats; `why` says what is wrong, or why a part was left out."""

    stage: str
    seed: int
    verdict: str
    runs: int = 0
    rounded: int = 0
    seconds: float = 0.0
    why: str = ""

    def __str__(self) -> str:
        text = f"{self.stage} seed {self.seed}: {self.verdict}, {self.runs} runs, "
        text += f"{self.seconds:.1f} s"
        return "\n    ".join([text, *self.why.splitlines()])


@dataclass(slots=True)
class State:
    """The records of a folder."""

    folder: Path
    records: dict[tuple[str, int], Record] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.file.exists():
            for line in self.file.read_text().splitlines():
                record = Record(**json.loads(line))
                self.records[record.stage, record.seed] = record

    @property
    def file(self) -> Path:
        return self.folder / "state.jsonl"

    def add(self, record: Record) -> None:
        self.records[record.stage, record.seed] = record
        with self.file.open("a") as file:
            file.write(json.dumps(asdict(record)) + "\n")

    def left(self, stage: str, first: int, count: int, again: bool) -> Iterator[int]:
        """The seeds that are not done, with `again` those that went wrong as well."""
        for seed in range(first, first + count):
            known = self.records.get((stage, seed))
            if known is None or (again and known.verdict in BAD):
                yield seed

    def summary(self) -> str:
        """A line for each stage, and one for each seed that went wrong."""
        lines = []
        for stage in dict.fromkeys(stage for stage, _ in self.records):
            own = [r for (s, _), r in sorted(self.records.items()) if s == stage]
            verdicts = Counter(record.verdict for record in own)
            said = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.most_common())
            runs, rounded = (
                sum(getattr(r, a) for r in own) for a in ("runs", "rounded")
            )
            took = sum(record.seconds for record in own)
            lines.append(
                f"{stage}: {len(own)} seeds: {said}; {runs} runs, {rounded} equal "
                f"within rounding; {took:.0f} s, {took / len(own):.2f} s a seed"
            )
            lines += [str(record) for record in own if record.verdict in BAD]
        return "\n".join(lines)
