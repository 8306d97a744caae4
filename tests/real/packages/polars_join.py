# SPDX-License-Identifier: MIT
"""The same work by polars: a lazy query that its threads share out."""
import numpy
import polars

generator = numpy.random.default_rng(7)
sales = polars.DataFrame({"shop": generator.integers(0, 300, 300_000), "cents": generator.integers(1, 10_000, 300_000)})
shops = polars.DataFrame({"shop": range(300), "town": ["town %d" % (number % 40) for number in range(300)]})
result = (sales.lazy().join(shops.lazy(), on="shop").group_by("town")
          .agg(polars.len().alias("count"), polars.col("cents").sum(), polars.col("cents").max().alias("largest"))
          .sort("town").collect())
print(result.rows()[:10], result["cents"].sum())
print(sorted(sales.with_columns(polars.col("shop").cast(polars.String)).filter(polars.col("cents") > 9_990)["shop"].to_list())[:20])
