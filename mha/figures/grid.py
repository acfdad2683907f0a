"""Where the maps of one figure stand: sizes in px, positions in cells.

All maps share one pair of axes, since axes are what costs time in Plotly. One key is 1 wide and one query 1 high; the
first cell of a map lies at its corner, whose place is rounded to hundredths: Plotly looks its label up by that text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from mha.config import whole_number
from mha.figures.labels import text_width

FONT = 12  # px: names and axis titles
SMALL_FONT = 11  # px: tokens and the numbers of the scale
NARROW = 560  # px: below this the scale lies above the maps instead of beside them

_NAME_ROW = 24.0  # px above each row of maps
_MAP_GAP = 14.0  # px between maps side by side
_PANEL_TITLE = 20.0  # px above the maps of each of several panels
_PANEL_GAP = 4.0  # px between two panels
_NARROW_SCALE = 26.0  # px above each panel on a phone: the scale and its numbers
_SCALE_GAP, _SCALE_THICKNESS, _SCALE_LABELS = 16.0, 10.0, 42.0  # px
_LONGEST_SCALE = 260.0  # px
_BETWEEN_SCALES = 40.0  # px for the word above the lower of two
_SCALE_WORD = 64.0  # px for what the scale shows, to its right
SCALE_TEXT_GAP = 3.0  # px between the scale and its numbers
_TITLE = 22.0  # px: an axis title
_LARGEST_MAP, _SMALLEST_MAP = 480.0, 96.0  # px
_LARGEST_CELL = 110.0  # px
_LARGEST_TILED = 30.0  # px: larger cells would leave too wide gaps
_MOST_TILED = 20_000  # cells in a panel; with more, each map as an array of its own is drawn as fast
_WIDE_CELL = 17.0  # px: from here on slanted labels do not touch
_LABEL_PITCH = 13.0  # px from one upright label to the next
_LONGEST_SHAPE = 1.6  # a map with more queries than keys is at most this much higher than wide ...
_FLATTEST_SHAPE = 0.25  # ... and with fewer, at least this much


@dataclass(frozen=True)
class Grid:
    """Layout of `maps` maps of (queries, keys) cells, `columns` side by side."""

    maps: int
    queries: int
    keys: int
    columns: int
    narrow: bool
    map_width: float  # px
    map_height: float
    left: float  # margins, px
    right: float
    top: float
    bottom: float
    label_angle: int  # of the keys' labels, degrees
    key_step: int  # every how many keys a label is drawn
    query_step: int
    tiled: bool = False  # the gaps are whole cells, so that all maps of a panel fit into one array
    panels: int = 1  # blocks of `maps` maps, each with a title if there are several
    across: bool = False  # panels side by side instead of below each other, each one map wide

    @property
    def rows(self) -> int:
        """Rows of maps in one panel."""
        return ceil(self.maps / self.columns)

    @property
    def panel_head(self) -> float:
        """px above the names of a panel's first maps: its title, and on a phone its scale."""
        if self.panels == 1:
            return 0.0
        return _PANEL_TITLE + (_NARROW_SCALE if self.narrow else 0.0)

    @property
    def cell_width(self) -> float:
        return self.map_width / self.keys

    @property
    def cell_height(self) -> float:
        return self.map_height / self.queries

    @property
    def pitch_x(self) -> float:
        """From one map to the next, in cells."""
        gap = _MAP_GAP / self.cell_width
        return self.keys + (ceil(gap) if self.tiled else round(gap, 2))

    @property
    def pitch_y(self) -> float:
        gap = _NAME_ROW / self.cell_height
        return self.queries + (ceil(gap) if self.tiled else round(gap, 2))

    @property
    def panel_pitch(self) -> float:
        """From one panel to the next one below, in cells."""
        return self.rows * self.pitch_y + round((self.panel_head + _PANEL_GAP) / self.cell_height, 2)

    @property
    def right_edge(self) -> float:
        """The right edge of the last map of a row, in cells."""
        side_by_side = self.panels if self.across else self.columns
        return (side_by_side - 1) * self.pitch_x + self.keys - 0.5

    @property
    def lower_edge(self) -> float:
        below = 0 if self.across else (self.panels - 1) * self.panel_pitch
        return below + (self.rows - 1) * self.pitch_y + self.queries - 0.5

    def scale_box(self, place: int = 0, count: int = 1) -> tuple[float, float, float, float]:
        """Left, right, upper and lower edge of a colour scale, in cells: beside the maps, or above them if narrow.

        Beside panel `place`, or, where panels stand side by side, `place` of `count` scales below each other.
        """
        top = self.corner(0, 0 if self.across else place)[1] - 0.5
        if self.narrow:
            lower = top - _NAME_ROW / self.cell_height
            right = min(self.right_edge - _SCALE_WORD / self.cell_width, -0.5 + _LONGEST_SCALE / self.cell_width)
            return -0.5, right, lower - _SCALE_THICKNESS / self.cell_height, lower
        left = self.right_edge + _SCALE_GAP / self.cell_width
        high = (self.rows - 1) * self.pitch_y + self.queries
        if self.across:
            between = _BETWEEN_SCALES / self.cell_height
            high = (high - (count - 1) * between) / count
            top += place * (high + between)
        # Plotly drops the number at its end if rounding puts it below the maps
        lower = min(top + min(high, _LONGEST_SCALE / self.cell_height), self.lower_edge)
        return left, left + _SCALE_THICKNESS / self.cell_width, top, lower

    @property
    def x_range(self) -> tuple[float, float]:
        """What the axes span, in cells: the maps, their names and the scale. Plotly drops texts that stand outside."""
        return -0.5, max(self.right_edge, self.scale_box()[1] + SCALE_TEXT_GAP / self.cell_width)

    @property
    def y_range(self) -> tuple[float, float]:
        """From the lower to the upper edge: the first query is at the top."""
        names = -0.5 - _NAME_ROW / self.cell_height
        return self.lower_edge, min(names, self.scale_box()[2]) - self.panel_head / self.cell_height

    @property
    def height(self) -> int:
        """Of the whole figure, px."""
        lower, upper = self.y_range
        return round(self.top + (lower - upper) * self.cell_height + self.bottom)

    def corner(self, m: int, panel: int = 0) -> tuple[float, float]:
        """The middle of the first cell of map m of a panel: x, y in cells."""
        row, column = divmod(m, self.columns)
        below = 0.0 if self.across else panel * self.panel_pitch
        return round((panel if self.across else column) * self.pitch_x, 2), round(below + row * self.pitch_y, 2)

    def title_place(self, panel: int) -> tuple[float, float]:
        """The lower left corner of a panel's title: x, y in cells."""
        x, y = self.corner(0, panel)
        above = _NAME_ROW + self.panel_head - _PANEL_TITLE
        return x - 0.5, y - 0.5 - above / self.cell_height


def grid(
    maps: int,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    columns_per_row: int | None,
    width: int,
    height: int,
    panels: int = 1,
) -> Grid:
    """The grid of `maps` maps on a chart about `width` px wide; maps of as many queries as keys are square.

    columns_per_row: maps side by side at most. None takes what makes the maps largest on `width` by `height` px; a
    given number is kept, and only up to two rows of maps keep to the height.
    panels: several blocks of as many maps, below each other, or side by side where that makes the maps larger.
    """
    narrow = width < NARROW
    left = _longest(rows) + _TITLE + 8
    beside = 0.0 if narrow else _SCALE_GAP + _SCALE_THICKNESS + SCALE_TEXT_GAP
    right = 14.0 if narrow else _SCALE_LABELS
    top = 20.0 if narrow else 2.0
    shape = min(_LONGEST_SHAPE, max(_FLATTEST_SHAPE, len(rows) / len(columns)))
    free = width - left - right - beside
    # the height of the labels depends on the width and is at most this
    free_height = height - top - _longest(columns) - _TITLE - 12

    head = 0.0 if panels == 1 else _PANEL_TITLE + _PANEL_GAP + (_NARROW_SCALE if narrow else 0.0)

    def map_width(
        side_by_side: int, rows_in_all: int, heads: float, keep_height: bool = True, more: float = 0
    ) -> float:
        fitting = (free - (side_by_side - 1) * (_MAP_GAP + more)) / side_by_side
        if keep_height:
            fitting = min(fitting, ((free_height - heads) / rows_in_all - _NAME_ROW - more) / shape)
        return min(_LARGEST_MAP, _LARGEST_MAP / shape, _LARGEST_CELL * len(columns), fitting)

    def below_each_other(side_by_side: int, keep_height: bool = True, more: float = 0) -> float:
        return map_width(side_by_side, panels * ceil(maps / side_by_side), panels * head, keep_height, more)

    whole_number(width, "width", 1)
    whole_number(height, "height", 1)
    keep_height = True
    if columns_per_row is None:
        side_by_side = max(range(1, maps + 1), key=below_each_other)
    else:
        side_by_side = _balanced(maps, whole_number(columns_per_row, "columns_per_row", 1))
        keep_height = ceil(maps / side_by_side) <= 2 and (panels == 1 or not narrow)
    wide = below_each_other(side_by_side, keep_height)
    beside_each_other = 0.0 if panels == 1 or narrow else map_width(panels, maps, head)
    across = beside_each_other > wide
    if across:
        side_by_side, wide = 1, beside_each_other
    cell = max(wide, wide * shape * len(columns) / len(rows)) / len(columns)
    tiled = maps > 1 and not across and cell <= _LARGEST_TILED and maps * len(rows) * len(columns) <= _MOST_TILED
    if tiled:
        wide = below_each_other(side_by_side, keep_height, more=cell)  # a gap is at most a cell more than it has to be
    wide = max(_SMALLEST_MAP, wide)
    gap = ceil(_MAP_GAP / (wide / len(columns))) * wide / len(columns) if tiled else _MAP_GAP
    wide_in_all = (panels if across else side_by_side) * (wide + gap) - gap
    angle, key_step, label_height = key_labels(columns, wide / len(columns))
    return Grid(
        maps=maps,
        queries=len(rows),
        keys=len(columns),
        columns=side_by_side,
        narrow=narrow,
        map_width=wide,
        map_height=wide * shape,
        left=left,
        right=right + max(0.0, free - wide_in_all),
        top=top,
        bottom=label_height + _TITLE + 6,
        label_angle=angle,
        key_step=key_step,
        query_step=max(1, ceil(_LABEL_PITCH / (wide * shape / len(rows)))),
        tiled=tiled,
        panels=panels,
        across=across,
    )


def _balanced(maps: int, most: int) -> int:
    """How many maps stand side by side: at most `most`, with the rows about equally long."""
    return ceil(maps / ceil(maps / most))


def _longest(tokens: Sequence[str]) -> float:
    return max(text_width(token, SMALL_FONT) for token in tokens)


def key_labels(columns: Sequence[str], cell_width: float) -> tuple[int, int, float]:
    """Angle, step and height in px of the labels below the maps."""
    longest = _longest(columns)
    if longest + 6 <= cell_width:
        return 0, 1, SMALL_FONT + 8.0
    if cell_width >= _WIDE_CELL:
        return -45, 1, 0.71 * longest + SMALL_FONT + 4
    return -90, max(1, ceil(_LABEL_PITCH / cell_width)), longest + 8
