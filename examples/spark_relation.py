"""Lineage that a Spark job writes, compressed by Spark: a group-by over a table of orders.

The relation is a DataFrame with an integer column per axis: ``b0`` is the customer's row in the
result, ``a0`` the order's row in the source.
"""

import dslog

ORDERS, CUSTOMERS = 100_000, 250


def main() -> None:
    """Group orders by customer, store which order went where, and ask."""
    session = dslog.spark()
    orders = session.range(ORDERS).selectExpr("id as a0", f"(id * 7919) % {CUSTOMERS} as b0")

    with dslog.open(":memory:") as store:
        store.array("orders", ORDERS)
        store.array("customers", CUSTOMERS)
        stored = store.lineage("customers", "orders", orders, engine="spark")
        print(f"{ORDERS:,} pairs, {stored.num_rows} rows, {stored.nbytes:,} bytes")
        cells = store.prov_query(["customers", "orders"], 17)
        print(f"customer 17 has {cells.count} orders, the first at", cells.indices()[0].tolist())
        print("order 5 went to", store.forward("orders", 5, to="customers").indices().tolist())


if __name__ == "__main__":
    main()
