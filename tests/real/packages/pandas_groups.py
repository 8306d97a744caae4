# SPDX-License-Identifier: MIT
"""A table of 200,000 rows is joined, grouped, pivoted, written as CSV and read again."""
import io

import numpy
import pandas

generator = numpy.random.default_rng(7)
sales = pandas.DataFrame({"shop": generator.integers(0, 300, 200_000), "day": generator.integers(0, 365, 200_000),
                          "price": generator.integers(1, 10_000, 200_000) / 100})
shops = pandas.DataFrame({"shop": range(300), "town": ["town %d" % (number % 40) for number in range(300)]})
joined = sales.merge(shops, on="shop")
print(joined.groupby("town").price.agg(["count", "sum", "max"]).round(2).head(10).to_string())
print(joined.pivot_table(index="town", columns=joined.day // 92, values="price", aggfunc="sum").round(2).tail(5).to_string())
text = joined.head(50_000).to_csv(index=False)
again = pandas.read_csv(io.StringIO(text))
print(len(text), len(again), round(again.price.sum(), 2), again.town.nunique())
