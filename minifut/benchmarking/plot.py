"""A figure of versions: the time of each, data set by data set, on a logarithmic scale.

Bars of one data set are together, a colour for each version, the best one labelled
with its time; a dot marks what the current parameters choose. With many data sets the
bars become lines. Needs matplotlib, which nothing else in minifut does.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from minifut.benchmarking.compare import ComparedVersion, Comparison
from minifut.benchmarking.version_report import readable_seconds
from minifut.errors import UsageError
from minifut.parameters.versions import Version

MOST_BARS = 48
"""more are drawn as lines"""

WIDTH = 7.0
"""inches: a page's text"""


def need_matplotlib() -> None:
    """Raises `UsageError` with what to install if there is no matplotlib."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError(
            "--plot needs matplotlib: pip install 'minifut[plot]'"
        ) from None


def require_form(form: str) -> None:
    """Raises `UsageError` for an ending that no figure is written as."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if form not in FigureCanvasAgg.get_supported_filetypes():
        raise UsageError(f"--plot: figures cannot be written as .{form}")


def plot_versions(comparisons: Sequence[Comparison], form: str = "png") -> bytes:
    """The figure as a file of that form, one panel for each entry point."""
    need_matplotlib()
    require_form(form)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        if comparison.best is not None:
            panels.setdefault(comparison.data.program_name, []).append(comparison)
    figure = Figure(figsize=(WIDTH, 3.2 * max(1, len(panels))), layout="constrained")
    FigureCanvasAgg(figure)
    for number, (name, found) in enumerate(panels.items(), 1):
        axes = figure.add_subplot(len(panels), 1, number)
        _draw(axes, name, found)
    stream = io.BytesIO()
    figure.savefig(stream, format=form, dpi=200)
    return stream.getvalue()


def _draw(axes: Any, name: str, comparisons: Sequence[Comparison]) -> None:
    named: dict[str, list[Version]] = {}
    for entrant in (e for c in comparisons for e in c.entrants):
        named.setdefault(entrant.name, []).append(entrant.version)
    versions = list(named)
    as_bars = len(versions) * len(comparisons) <= MOST_BARS
    for position, version in enumerate(versions):
        points = [
            (x, _entrant(c, version, named[version])) for x, c in enumerate(comparisons)
        ]
        timed = [(x, e) for x, e in points if e is not None and e.candidate.seconds]
        places = [
            _place(x, position, len(versions)) if as_bars else x for x, _ in timed
        ]
        heights = [e.candidate.best * 1e3 for _, e in timed]
        look = {"color": f"C{position % 10}", "label": version}
        if as_bars:
            axes.bar(places, heights, 0.8 / len(versions) * 0.9, **look)
        else:
            style = ("-", "--", ":", "-.")[position // 10 % 4]
            axes.plot(places, heights, style, linewidth=1.2, **look)
        for (x, entrant), place, height in zip(timed, places, heights, strict=True):
            if entrant is comparisons[x].chosen:
                axes.plot([place], [height], "o", color="black", ms=4, zorder=5)
    axes.plot([], [], "o", color="black", markersize=4, label="chosen")
    for x, comparison in enumerate(comparisons):
        best = comparison.best
        if as_bars and best is not None:
            position = versions.index(best.name)
            axes.annotate(
                readable_seconds(best.candidate.best),
                (_place(x, position, len(versions)), best.candidate.best * 1e3),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                fontsize=7,
            )
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_ylabel("time (ms)")
    axes.set_title(name.rpartition("/")[2], fontsize=10)
    names = [_shortened(c.data.name) for c in comparisons]
    slanted = {"rotation": 30, "ha": "right"} if sum(map(len, names)) > 60 else {}
    axes.set_xticks(range(len(names)), names, fontsize=8, **slanted)
    axes.grid(axis="y", which="major", linewidth=0.4, color="0.8")
    axes.set_axisbelow(True)
    axes.margins(y=0.15)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _place(x: int, position: int, count: int) -> float:
    """The position of the bar of a version."""
    return x + 0.8 * ((position + 0.5) / count - 0.5)


def _entrant(
    comparison: Comparison, name: str, named: list[Version]
) -> ComparedVersion | None:
    """The version on the data set, also where its execution path is another's."""
    fit = [entrant for entrant in comparison.entrants if entrant.agrees]
    for entrant in fit:
        if entrant.name == name:
            return entrant
    for entrant in fit:
        if any(alias is version for alias in entrant.aliases for version in named):
            return entrant
    return None


def _shortened(name: str) -> str:
    name = name.removeprefix("data/").rpartition("/")[2] if "/" in name else name
    return name if len(name) <= 28 else name[:25] + "..."
