# SPDX-License-Identifier: MIT
"""Matrices are multiplied, solved and decomposed; arrays are sorted, cut and joined."""
import numpy

generator = numpy.random.default_rng(7)
for size in (50, 200, 400):
    matrix = generator.integers(-9, 9, (size, size)).astype(float) + size * numpy.eye(size)
    answer = numpy.linalg.solve(matrix, numpy.arange(size))
    print(size, numpy.allclose(matrix @ answer, numpy.arange(size)), round(float(numpy.linalg.norm(matrix)), 6))
values = generator.integers(0, 1 << 40, 500_000)
parts = numpy.array_split(numpy.sort(values), 1000)
print([int(part.sum() % 9973) for part in parts[::100]], len(numpy.unique(values % 4096)))
