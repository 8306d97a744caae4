# SPDX-License-Identifier: MIT
"""Models that Rust checks, from JSON and back."""
import json

import pydantic


class Item(pydantic.BaseModel):
    name: str
    price: float
    tags: list[str] = []


class Order(pydantic.BaseModel):
    number: int
    items: list[Item]


source = json.dumps([{"number": i, "items": [{"name": "n%d" % j, "price": j / 4, "tags": ["a", str(i)]} for j in range(8)]}
                     for i in range(4000)])
orders = pydantic.TypeAdapter(list[Order]).validate_json(source)
print(len(orders), sum(item.price for order in orders for item in order.items))
try:
    Order.model_validate({"number": "x", "items": [{"name": 3}]})
except pydantic.ValidationError as error:
    print(error.error_count(), [entry["type"] for entry in error.errors()])
print(len(pydantic.TypeAdapter(list[Order]).dump_json(orders)))
