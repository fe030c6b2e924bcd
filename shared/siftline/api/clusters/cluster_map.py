"""The map of one's clusters as a picture: SVG that is legible on a light and on a dark ground, and read aloud.

No library draws it: each item is a mark in its cluster's colour. Where two clusters share a colour, their marks have
another shape, and each cluster bears the number that it has in the legend, so that nothing hangs on colour alone.
"""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID
from xml.etree.ElementTree import Element, SubElement, tostring

from siftline.api.clusters.clusters_store import MappedCluster, PointRow

_PLOT, _LEGEND, _TOP, _PAD, _LINE = 640, 330, 76, 24, 25
_LISTED = 22
_LABEL_CHARS = 28
_STYLE = """
svg { --ground: #ffffff; --ink: #1a1a1a; --faint: #5c5c5c; --frame: #d9d9d9; }
@media (prefers-color-scheme: dark) {
  svg { --ground: #14161a; --ink: #f2f2f2; --faint: #a8adb5; --frame: #3a3f47; }
}
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; fill: var(--ink); }
.ground { fill: var(--ground); }
.frame { fill: none; stroke: var(--frame); }
.faint { fill: var(--faint); }
.mark { stroke: var(--ground); stroke-width: 0.75; vector-effect: non-scaling-stroke; }
.number { font-weight: 700; paint-order: stroke; stroke: var(--ground); stroke-width: 4; stroke-linejoin: round; }
"""
_SHAPES = (
    "M-1,0a1,1 0 1,0 2,0a1,1 0 1,0 -2,0Z",
    "M-.9,-.9H.9V.9H-.9Z",
    "M0,-1.2L1.15,.85H-1.15Z",
    "M0,-1.3L1.3,0L0,1.3L-1.3,0Z",
)


def draw(clusters: Sequence[MappedCluster], points: Sequence[PointRow]) -> bytes:
    """Return the map as SVG; ``clusters`` the largest first. Items that were not placed are left out."""
    listed = clusters[:_LISTED]
    height = max(_TOP + _PLOT + _PAD, _TOP + _LINE * (len(listed) + 2) + _PAD)
    width = _PAD + _PLOT + _PAD + _LEGEND
    root = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width} {height}",
            "role": "img",
            "aria-labelledby": "map-title map-description",
        },
    )
    _say(root, "title", "Map of your clusters", id="map-title")
    _say(root, "desc", _described(clusters, points), id="map-description")
    _say(root, "style", _STYLE)
    SubElement(root, "rect", {"class": "ground", "width": str(width), "height": str(height)})
    _text(root, _PAD, 36, "Map of your clusters", 22, **{"font-weight": "700"})
    _text(root, _PAD, 60, _counted(clusters, points), 14, **{"class": "faint"})
    SubElement(
        root, "rect", {"class": "frame", "x": str(_PAD), "y": str(_TOP), "width": str(_PLOT), "height": str(_PLOT)}
    )
    shapes = _shapes(clusters)
    _plot(root, clusters, points, shapes)
    _legend(root, clusters, listed, shapes)
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True))


def _plot(
    root: Element, clusters: Sequence[MappedCluster], points: Sequence[PointRow], shapes: dict[UUID, str]
) -> None:
    colours = {cluster.id: cluster.colour for cluster in clusters}
    radius = max(2.2, min(6.0, 95.0 / max(1.0, len(points) ** 0.5)))
    by_cluster: dict[UUID, list[PointRow]] = {}
    for point in points:
        by_cluster.setdefault(point.cluster_id, []).append(point)
    for cluster_id, members in by_cluster.items():
        group = SubElement(root, "g", {"fill": colours[cluster_id]})
        for point in members:
            x, y = _place(point.x, point.y)
            mark = SubElement(
                group,
                "path",
                {
                    "class": "mark",
                    "d": shapes[cluster_id],
                    "transform": f"translate({x:.1f} {y:.1f}) scale({radius:.1f})",
                },
            )
            _say(mark, "title", point.title or point.url)
    for number, cluster in enumerate(clusters[:_LISTED], start=1):
        members = by_cluster.get(cluster.id, [])
        if members:
            x, y = _place(
                sum(point.x for point in members) / len(members), sum(point.y for point in members) / len(members)
            )
            _text(root, x, y + 6, str(number), 17, **{"class": "number", "text-anchor": "middle"})


def _legend(
    root: Element, clusters: Sequence[MappedCluster], listed: Sequence[MappedCluster], shapes: dict[UUID, str]
) -> None:
    left = _PAD + _PLOT + _PAD
    for row, cluster in enumerate(listed):
        y = _TOP + _LINE * row + 14
        _text(root, left + 20, y, str(row + 1), 13, **{"text-anchor": "end", "font-weight": "700"})
        SubElement(
            root,
            "path",
            {"d": shapes[cluster.id], "fill": cluster.colour, "transform": f"translate({left + 34} {y - 5}) scale(6)"},
        )
        _text(root, left + 48, y, _short(cluster.label), 13)
        _text(root, left + _LEGEND - _PAD, y, f"{cluster.size}", 13, **{"text-anchor": "end", "class": "faint"})
    rest = len(clusters) - len(listed)
    if rest:
        _text(root, left + 48, _TOP + _LINE * len(listed) + 14, f"and {rest} more", 13, **{"class": "faint"})


def _shapes(clusters: Sequence[MappedCluster]) -> dict[UUID, str]:
    """Return each cluster's shape: the oldest of a colour is round, and so it stays."""
    met: Counter[str] = Counter()
    shapes = {}
    for cluster in sorted(clusters, key=lambda one: one.id):
        shapes[cluster.id] = _SHAPES[met[cluster.colour] % len(_SHAPES)]
        met[cluster.colour] += 1
    return shapes


def _place(x: float, y: float) -> tuple[float, float]:
    half, inner = _PLOT / 2, _PLOT / 2 - 14
    return _PAD + half + inner * x, _TOP + half - inner * y


def _counted(clusters: Sequence[MappedCluster], points: Sequence[PointRow]) -> str:
    if not clusters:
        return "No clusters yet."
    return f"{_number(len(points), 'item')} in {_number(len(clusters), 'cluster')}. Similar items are close together."


def _described(clusters: Sequence[MappedCluster], points: Sequence[PointRow]) -> str:
    named = "; ".join(f"{cluster.label}, {_number(cluster.size, 'item')}" for cluster in clusters[:_LISTED])
    return f"{_counted(clusters, points)}{' Largest: ' + named + '.' if named else ''}"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _short(label: str) -> str:
    return label if len(label) <= _LABEL_CHARS else label[: _LABEL_CHARS - 1].rstrip(" ·") + "…"


def _say(parent: Element, tag: str, words: str, **attributes: str) -> None:
    SubElement(parent, tag, attributes).text = words


def _text(parent: Element, x: float, y: float, words: str, size: int, **attributes: str) -> None:
    _say(parent, "text", words, x=f"{x:.1f}", y=f"{y:.1f}", **{"font-size": str(size)}, **attributes)
