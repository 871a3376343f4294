"""TPC-H in small: its tables, drawn at random, and its 22 queries."""

import datetime as dt

import numpy as np
import pandas as pd

REGION_OF = {
    "ALGERIA": 0,
    "ARGENTINA": 1,
    "BRAZIL": 1,
    "CANADA": 1,
    "EGYPT": 4,
    "ETHIOPIA": 0,
    "FRANCE": 3,
    "GERMANY": 3,
    "INDIA": 2,
    "INDONESIA": 2,
    "IRAN": 4,
    "IRAQ": 4,
    "JAPAN": 2,
    "JORDAN": 4,
    "KENYA": 0,
    "MOROCCO": 0,
    "MOZAMBIQUE": 0,
    "PERU": 1,
    "CHINA": 2,
    "ROMANIA": 3,
    "ARABIA": 4,
    "VIETNAM": 2,
    "RUSSIA": 3,
    "KINGDOM": 3,
    "STATES": 1,
}
REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
TYPES = ["ECONOMY STEEL", "PROMO BRUSHED BRASS", "MEDIUM POLISHED TIN", "STANDARD BRASS"]


def tables(scale=0.0005, seed=0):
    """Return the eight tables; ``scale`` is that of the benchmark, with a few rows at least."""
    rng = np.random.default_rng(seed)
    suppliers, parts, customers, orders = (
        max(int(rows * scale), 5) for rows in (10_000, 200_000, 150_000, 1_500_000)
    )
    found = {
        "region": pd.DataFrame({"r_regionkey": range(5), "r_name": REGIONS}),
        "nation": pd.DataFrame(
            {
                "n_nationkey": range(25),
                "n_name": list(REGION_OF),
                "n_regionkey": list(REGION_OF.values()),
            }
        ),
        "supplier": pd.DataFrame(
            {
                "s_suppkey": np.arange(1, suppliers + 1),
                "s_name": [f"Supplier#{i}" for i in range(suppliers)],
                "s_address": [f"a{i}" for i in range(suppliers)],
                "s_nationkey": rng.integers(0, 25, suppliers),
                "s_acctbal": rng.uniform(-999, 9999, suppliers).round(2),
                "s_comment": rng.choice(["fine", "Customer bad Complaints"], suppliers),
            }
        ),
        "part": pd.DataFrame(
            {
                "p_partkey": np.arange(1, parts + 1),
                "p_name": [
                    " ".join(rng.choice(["green", "forest", "blue", "red"], 3))
                    for _ in range(parts)
                ],
                "p_brand": rng.choice(["Brand#12", "Brand#23", "Brand#45"], parts),
                "p_type": rng.choice(TYPES, parts),
                "p_size": rng.integers(1, 51, parts),
            }
        ),
        "partsupp": _supplies(rng, parts, suppliers),
        "customer": pd.DataFrame(
            {
                "c_custkey": np.arange(1, customers + 1),
                "c_name": [f"Customer#{i}" for i in range(customers)],
                "c_nationkey": rng.integers(0, 25, customers),
                "c_phone": [f"{k}-{i}" for i, k in enumerate(rng.choice([13, 31, 11], customers))],
                "c_acctbal": rng.uniform(-999, 9999, customers).round(2),
                "c_mktsegment": rng.choice(["BUILDING", "AUTOMOBILE"], customers),
            }
        ),
        "orders": pd.DataFrame(
            {
                "o_orderkey": np.arange(1, orders + 1),
                "o_custkey": 1 + 3 * rng.integers(0, customers, orders) // 4,
                "o_orderstatus": rng.choice(["F", "O"], orders),
                "o_totalprice": rng.uniform(1000, 500000, orders).round(2),
                "o_orderdate": np.datetime64("1992-01-01")
                + rng.integers(0, 2400, orders).astype("timedelta64[D]"),
                "o_orderpriority": rng.choice(["1-URGENT", "2-HIGH", "3-MEDIUM"], orders),
                "o_comment": rng.choice(["fine", "special happy requests"], orders),
                "o_shippriority": 0,
            }
        ),
    }
    found["lineitem"] = _lines(rng, found["orders"], found["partsupp"])
    for frame in found.values():
        for name in frame.columns[frame.dtypes.astype(str).str.startswith("datetime")]:
            frame[name] = frame[name].map(dt.datetime.date)
    return found


def _supplies(rng, parts, suppliers):
    pairs = sorted({(p, (p + k) % suppliers + 1) for p in range(1, parts + 1) for k in range(4)})
    return pd.DataFrame(
        {
            "ps_partkey": [part for part, _ in pairs],
            "ps_suppkey": [supplier for _, supplier in pairs],
            "ps_availqty": rng.integers(1, 400, len(pairs)),
            "ps_supplycost": rng.uniform(1, 1000, len(pairs)).round(2),
        }
    )


def _lines(rng, orders, supplies):
    counts = rng.integers(1, 8, len(orders))
    count = int(counts.sum())
    days = lambda low, high: rng.integers(low, high, count).astype("timedelta64[D]")  # noqa: E731
    picked = supplies.iloc[rng.integers(0, len(supplies), count)]
    ordered = np.repeat(orders.o_orderdate.to_numpy("datetime64[D]"), counts)
    shipped = ordered + days(1, 122)
    return pd.DataFrame(
        {
            "l_orderkey": np.repeat(orders.o_orderkey.to_numpy(), counts),
            "l_partkey": picked.ps_partkey.to_numpy(),
            "l_suppkey": picked.ps_suppkey.to_numpy(),
            "l_quantity": rng.integers(1, 51, count).astype(float),
            "l_extendedprice": rng.uniform(900, 100000, count).round(2),
            "l_discount": rng.integers(0, 11, count) / 100,
            "l_returnflag": rng.choice(["R", "A", "N"], count),
            "l_linestatus": rng.choice(["O", "F"], count),
            "l_shipdate": shipped,
            "l_commitdate": ordered + days(30, 91),
            "l_receiptdate": shipped + days(1, 31),
            "l_shipmode": rng.choice(["AIR", "MAIL", "SHIP"], count),
        }
    )


QUERIES = {
    1: """
        select l_returnflag, l_linestatus, sum(l_quantity) sum_qty, sum(l_extendedprice)
        sum_base, sum(l_extendedprice*(1-l_discount)) sum_disc, avg(l_quantity) a, count(*) c
        from lineitem where l_shipdate<=date '1998-09-02' group by l_returnflag, l_linestatus
        order by 1, 2
    """,
    2: """
        select s_acctbal, s_name, n_name, p_partkey from part, supplier, partsupp, nation,
        region where p_partkey=ps_partkey and s_suppkey=ps_suppkey and p_size<25 and p_type like
        '%BRASS' and s_nationkey=n_nationkey and n_regionkey=r_regionkey and r_name='EUROPE' and
        ps_supplycost=(select min(ps_supplycost) from partsupp, supplier, nation, region where
        p_partkey=ps_partkey and s_suppkey=ps_suppkey and s_nationkey=n_nationkey and
        n_regionkey=r_regionkey and r_name='EUROPE') order by s_acctbal desc, n_name, s_name,
        p_partkey limit 100
    """,
    3: """
        select l_orderkey, sum(l_extendedprice*(1-l_discount)) revenue, o_orderdate,
        o_shippriority from customer, orders, lineitem where c_mktsegment='BUILDING' and
        c_custkey=o_custkey and l_orderkey=o_orderkey and o_orderdate<date '1995-03-15' and
        l_shipdate>date '1995-03-15' group by l_orderkey, o_orderdate, o_shippriority order by
        revenue desc, o_orderdate limit 10
    """,
    4: """
        select o_orderpriority, count(*) n from orders where o_orderdate>=date '1993-07-01' and
        o_orderdate<date '1995-10-01' and exists(select * from lineitem where
        l_orderkey=o_orderkey and l_commitdate<l_receiptdate) group by o_orderpriority order by
        1
    """,
    5: """
        select n_name, sum(l_extendedprice*(1-l_discount)) revenue from customer, orders,
        lineitem, supplier, nation, region where c_custkey=o_custkey and l_orderkey=o_orderkey
        and l_suppkey=s_suppkey and s_nationkey=n_nationkey and n_regionkey=r_regionkey and
        r_name in ('ASIA', 'EUROPE') group by n_name order by revenue desc
    """,
    6: """
        select sum(l_extendedprice*l_discount) revenue from lineitem where l_shipdate>=date
        '1994-01-01' and l_shipdate<date '1995-01-01' and l_discount between 0.05 and 0.07 and
        l_quantity<24
    """,
    7: """
        select supp_nation, cust_nation, l_year, sum(volume) revenue from (select n1.n_name
        supp_nation, n2.n_name cust_nation, extract(year from l_shipdate) l_year,
        l_extendedprice*(1-l_discount) volume from supplier, lineitem, orders, customer, nation
        n1, nation n2 where s_suppkey=l_suppkey and o_orderkey=l_orderkey and
        c_custkey=o_custkey and s_nationkey=n1.n_nationkey and c_nationkey=n2.n_nationkey)
        shipping group by supp_nation, cust_nation, l_year order by 1, 2, 3
    """,
    8: """
        select o_year, sum(case when nation='BRAZIL' then volume else 0 end)/sum(volume) share
        from (select extract(year from o_orderdate) o_year, l_extendedprice*(1-l_discount)
        volume, n2.n_name nation from part, supplier, lineitem, orders, customer, nation n1,
        nation n2, region where p_partkey=l_partkey and s_suppkey=l_suppkey and
        l_orderkey=o_orderkey and o_custkey=c_custkey and c_nationkey=n1.n_nationkey and
        n1.n_regionkey=r_regionkey and r_name='AMERICA' and s_nationkey=n2.n_nationkey) x group
        by o_year order by o_year
    """,
    9: """
        select nation, o_year, sum(amount) profit from (select n_name nation, extract(year from
        o_orderdate) o_year, l_extendedprice*(1-l_discount)-ps_supplycost*l_quantity amount from
        part, supplier, lineitem, partsupp, orders, nation where s_suppkey=l_suppkey and
        ps_suppkey=l_suppkey and ps_partkey=l_partkey and p_partkey=l_partkey and
        o_orderkey=l_orderkey and s_nationkey=n_nationkey and p_name like '%green%') p group by
        nation, o_year order by 1, 2 desc
    """,
    10: """
        select c_custkey, c_name, sum(l_extendedprice*(1-l_discount)) revenue, c_acctbal, n_name
        from customer, orders, lineitem, nation where c_custkey=o_custkey and
        l_orderkey=o_orderkey and l_returnflag='R' and c_nationkey=n_nationkey group by
        c_custkey, c_name, c_acctbal, n_name order by revenue desc limit 20
    """,
    11: """
        select ps_partkey, sum(ps_supplycost*ps_availqty) v from partsupp, supplier, nation
        where ps_suppkey=s_suppkey and s_nationkey=n_nationkey and n_regionkey=3 group by
        ps_partkey having sum(ps_supplycost*ps_availqty)>(select
        sum(ps_supplycost*ps_availqty)*0.01 from partsupp, supplier, nation where
        ps_suppkey=s_suppkey and s_nationkey=n_nationkey and n_regionkey=3) order by v desc
    """,
    12: """
        select l_shipmode, sum(case when o_orderpriority='1-URGENT' or o_orderpriority='2-HIGH'
        then 1 else 0 end) h, sum(case when o_orderpriority<>'1-URGENT' and
        o_orderpriority<>'2-HIGH' then 1 else 0 end) l from orders, lineitem where
        o_orderkey=l_orderkey and l_shipmode in ('MAIL', 'SHIP') and l_commitdate<l_receiptdate
        and l_shipdate<l_commitdate group by l_shipmode order by 1
    """,
    13: """
        select c_count, count(*) custdist from (select c_custkey, count(o_orderkey) c_count from
        customer left outer join orders on c_custkey=o_custkey and o_comment not like
        '%special%requests%' group by c_custkey) c_orders group by c_count order by custdist
        desc, c_count desc
    """,
    14: """
        select 100.00*sum(case when p_type like 'PROMO%' then l_extendedprice*(1-l_discount)
        else 0 end)/sum(l_extendedprice*(1-l_discount)) promo from lineitem, part where
        l_partkey=p_partkey
    """,
    15: """
        with revenue as (select l_suppkey supplier_no, sum(l_extendedprice*(1-l_discount))
        total_revenue from lineitem where l_shipdate>=date '1994-01-01' group by l_suppkey)
        select s_suppkey, s_name, total_revenue from supplier, revenue where
        s_suppkey=supplier_no and total_revenue=(select max(total_revenue) from revenue) order
        by s_suppkey
    """,
    16: """
        select p_brand, p_type, p_size, count(distinct ps_suppkey) n from partsupp, part where
        p_partkey=ps_partkey and p_brand<>'Brand#45' and p_type not like 'MEDIUM POLISHED%' and
        ps_suppkey not in (select s_suppkey from supplier where s_comment like
        '%Customer%Complaints%') group by p_brand, p_type, p_size order by n desc, 1, 2, 3
    """,
    17: """
        select sum(l_extendedprice)/7.0 avg_yearly from lineitem, part where p_partkey=l_partkey
        and p_brand='Brand#23' and l_quantity<(select 0.9*avg(l_quantity) from lineitem where
        l_partkey=p_partkey)
    """,
    18: """
        select c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) q from
        customer, orders, lineitem where o_orderkey in (select l_orderkey from lineitem group by
        l_orderkey having sum(l_quantity)>200) and c_custkey=o_custkey and o_orderkey=l_orderkey
        group by c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice order by o_totalprice
        desc, o_orderdate limit 100
    """,
    19: """
        select sum(l_extendedprice*(1-l_discount)) revenue from lineitem, part where
        (p_partkey=l_partkey and p_brand='Brand#12' and l_quantity between 1 and 31) or
        (p_partkey=l_partkey and p_brand='Brand#23' and p_size between 1 and 30)
    """,
    20: """
        select s_name, s_address from supplier, nation where s_suppkey in (select ps_suppkey
        from partsupp where ps_partkey in (select p_partkey from part where p_name like
        'forest%') and ps_availqty>(select 0.5*sum(l_quantity) from lineitem where
        l_partkey=ps_partkey and l_suppkey=ps_suppkey)) and s_nationkey=n_nationkey order by
        s_name
    """,
    21: """
        select s_name, count(*) numwait from supplier, lineitem l1, orders, nation where
        s_suppkey=l1.l_suppkey and o_orderkey=l1.l_orderkey and o_orderstatus='F' and
        l1.l_receiptdate>l1.l_commitdate and exists(select * from lineitem l2 where
        l2.l_orderkey=l1.l_orderkey and l2.l_suppkey<>l1.l_suppkey) and not exists(select * from
        lineitem l3 where l3.l_orderkey=l1.l_orderkey and l3.l_suppkey<>l1.l_suppkey and
        l3.l_receiptdate>l3.l_commitdate) and s_nationkey=n_nationkey group by s_name order by
        numwait desc, s_name limit 100
    """,
    22: """
        select cntrycode, count(*) numcust, sum(c_acctbal) totacctbal from (select
        substring(c_phone, 1, 2) cntrycode, c_acctbal from customer where substring(c_phone, 1,
        2) in ('13', '31', '23', '29', '30', '18', '17') and c_acctbal>(select avg(c_acctbal)
        from customer where c_acctbal>0.00 and substring(c_phone, 1, 2) in ('13', '31', '23',
        '29', '30', '18', '17')) and not exists(select * from orders where o_custkey=c_custkey))
        custsale group by cntrycode order by cntrycode
    """,
}
