# SPDX-License-Identifier: MIT
"""A forest of trees and clusters, in threads of OpenMP and joblib."""
import numpy
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier

generator = numpy.random.default_rng(7)
points = generator.normal(size=(4000, 8))
classes = (points[:, 0] + points[:, 1] ** 2 > 1).astype(int)
forest = RandomForestClassifier(60, random_state=7, n_jobs=2).fit(points, classes)
print(round(forest.score(points, classes), 4), sum(tree.tree_.node_count for tree in forest.estimators_))
print(sorted(numpy.bincount(KMeans(5, random_state=7, n_init=2).fit_predict(points)).tolist()))
