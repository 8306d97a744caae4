# SPDX-License-Identifier: MIT
"""Objects are mapped to two tables, written, joined, changed and read again."""
from sqlalchemy import ForeignKey, create_engine, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship


class Base(DeclarativeBase):
    pass


class Shop(Base):
    __tablename__ = "shop"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    sales: Mapped[list["Sale"]] = relationship(back_populates="shop")


class Sale(Base):
    __tablename__ = "sale"
    id: Mapped[int] = mapped_column(primary_key=True)
    cents: Mapped[int]
    shop_id: Mapped[int] = mapped_column(ForeignKey("shop.id"))
    shop: Mapped[Shop] = relationship(back_populates="sales")


engine = create_engine("sqlite://")
Base.metadata.create_all(engine)
with Session(engine) as session:
    for number in range(200):
        session.add(Shop(name="shop %d" % number, sales=[Sale(cents=number * place % 997) for place in range(40)]))
    session.commit()
    for shop in session.scalars(select(Shop).where(Shop.id % 3 == 0)):
        shop.name = shop.name.upper()
        shop.sales[0].cents += 1
    session.commit()
    print(session.execute(select(Shop.name, func.sum(Sale.cents)).join(Sale).group_by(Shop.id).order_by(Shop.id)).all()[:9])
    print(session.scalar(select(func.sum(Sale.cents))))
