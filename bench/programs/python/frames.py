# SPDX-License-Identifier: MIT
"""pandas: a table made, joined, grouped, and its rows as documents."""
import json

import numpy
import pandas


def make_orders(count):
    numbers = numpy.random.default_rng(1)
    return pandas.DataFrame({"customer": numbers.integers(0, 5000, count), "product": numbers.integers(0, 300, count),
                             "amount": numbers.random(count), "note": ["order %d" % i for i in range(count)]})


def join(orders):
    products = pandas.DataFrame({"product": range(300), "name": ["product %d" % i for i in range(300)]})
    return orders.merge(products, on="product")


def documents(frame):
    return [json.loads(line) for line in frame.head(60000).to_json(orient="records", lines=True).splitlines()]


def main():
    total = 0
    for _ in range(30):
        joined = join(make_orders(400000))
        total += len(joined.groupby("customer").agg({"amount": ["sum", "mean"], "product": "nunique"}))
        total += len(documents(joined))
    print(total)


main()
