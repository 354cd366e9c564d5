"""Rows in memory as the columns that filters read: the simplest ones, which those of an index are compared with."""

from collections.abc import Sequence

import numpy as np

from clew.query.conditions import Column, Row, field_value


class RowColumns:
    def __init__(self, rows: Sequence[Row]) -> None:
        self.count = len(rows)
        self._rows = rows

    def column(self, name: str) -> Column:
        return Column([field_value(row, name) for row in self._rows], np.arange(self.count))
