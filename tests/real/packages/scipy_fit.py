# SPDX-License-Identifier: MIT
"""Optimization, interpolation, sparse systems and a Fourier transform."""
import numpy
from scipy import fft, interpolate, optimize, sparse
from scipy.sparse import linalg

result = optimize.minimize(optimize.rosen, numpy.zeros(6), method="BFGS")
print(numpy.round(result.x, 3).tolist())
grid = numpy.linspace(0, 10, 2000)
spline = interpolate.CubicSpline(grid, numpy.sin(grid))
print(round(float(spline.integrate(0, 10)), 6))
laplace = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(20_000, 20_000), format="csc")
print(round(float(linalg.spsolve(laplace, numpy.ones(20_000)).max()), 1))
print(numpy.argsort(-abs(fft.rfft(numpy.sin(grid * 20))))[:3].tolist())
