"""Predicting the water by fitting tidal constituents to what the gauge has seen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from .reading import Reading

# Speeds of the constituents in degrees per hour.
CONSTITUENTS = {
    "M2": 28.9841042,
    "S2": 30.0000000,
    "N2": 28.4397295,
    "K1": 15.0410686,
    "O1": 13.9430356,
}


@dataclass(frozen=True)
class Fit:
    """Mean level and, per constituent, the cosine and sine parts, in centimetres."""

    origin: datetime
    mean: float
    parts: dict[str, tuple[float, float]]

    def level_at(self, moment: datetime) -> float:
        hours = (moment - self.origin).total_seconds() / 3600
        level = self.mean
        for name, (cosine, sine) in self.parts.items():
            angle = math.radians(CONSTITUENTS[name] * hours)
            level += cosine * math.cos(angle) + sine * math.sin(angle)
        return level


def fit(readings: list[Reading]) -> Fit:
    """Least squares over all readings."""
    if len(readings) < 2 * len(CONSTITUENTS) + 1:
        raise ValueError(f"{len(readings)} readings are too few for {len(CONSTITUENTS)} constituents")
    origin = readings[0].at
    rows = [_row(reading, origin) for reading in readings]
    levels = [float(reading.level_cm) for reading in readings]
    solution = _solve(_normal_matrix(rows), _right_side(rows, levels))
    parts = {
        name: (solution[1 + 2 * position], solution[2 + 2 * position])
        for position, name in enumerate(CONSTITUENTS)
    }
    return Fit(origin=origin, mean=solution[0], parts=parts)


def next_high_water(fitted: Fit, start: datetime, hours: int = 24) -> tuple[datetime, float]:
    """Moment and level of the highest water within the next hours, in steps of five minutes."""
    steps = [start + timedelta(minutes=5 * step) for step in range(hours * 12 + 1)]
    best = max(steps, key=fitted.level_at)
    return best, fitted.level_at(best)


def _row(reading: Reading, origin: datetime) -> list[float]:
    hours = (reading.at - origin).total_seconds() / 3600
    row = [1.0]
    for speed in CONSTITUENTS.values():
        angle = math.radians(speed * hours)
        row += [math.cos(angle), math.sin(angle)]
    return row


def _normal_matrix(rows: list[list[float]]) -> list[list[float]]:
    size = len(rows[0])
    return [[sum(row[i] * row[j] for row in rows) for j in range(size)] for i in range(size)]


def _right_side(rows: list[list[float]], levels: list[float]) -> list[float]:
    return [sum(row[i] * level for row, level in zip(rows, levels)) for i in range(len(rows[0]))]


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gaussian elimination with partial pivoting."""
    size = len(right)
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(matrix[row][column]))
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        right[column], right[pivot] = right[pivot], right[column]
        for row in range(column + 1, size):
            factor = matrix[row][column] / matrix[column][column]
            right[row] -= factor * right[column]
            for k in range(column, size):
                matrix[row][k] -= factor * matrix[column][k]
    solution = [0.0] * size
    for row in reversed(range(size)):
        rest = sum(matrix[row][k] * solution[k] for k in range(row + 1, size))
        solution[row] = (right[row] - rest) / matrix[row][row]
    return solution
