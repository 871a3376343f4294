"""TPC-H: its tables, drawn at random at any scale, and its 22 queries, as SQL and as code.

Constants of the queries are chosen so that small tables give rows too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from dslog.types import I64

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


def tables(scale: float = 0.0005, seed: int = 0) -> dict[str, pa.Table]:
    """Return the eight tables; ``scale`` is that of the benchmark, with a few rows at least."""
    return {name: pa.table(columns) for name, columns in _columns(scale, seed)}


def _columns(scale: float, seed: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    rng = np.random.default_rng(seed)
    suppliers, parts, customers, orders = (
        max(int(rows * scale), 5) for rows in (10_000, 200_000, 150_000, 1_500_000)
    )

    def picked(values: list[Any], count: int) -> Any:
        return np.array(values)[rng.integers(0, len(values), count)]

    def money(low: float, high: float, count: int) -> Any:
        return rng.uniform(low, high, count).round(2)

    def days(low: int, high: int, count: int) -> Any:
        return rng.integers(low, high, count).astype("timedelta64[D]")

    yield "region", {"r_regionkey": np.arange(5), "r_name": REGIONS}
    nations = {"n_nationkey": np.arange(25), "n_name": list(REGION_OF)}
    yield "nation", {**nations, "n_regionkey": list(REGION_OF.values())}
    yield (
        "supplier",
        {
            "s_suppkey": np.arange(1, suppliers + 1),
            "s_name": _numbered("Supplier#", np.arange(suppliers)),
            "s_address": _numbered("a", np.arange(suppliers)),
            "s_nationkey": rng.integers(0, 25, suppliers),
            "s_acctbal": money(-999, 9999, suppliers),
            "s_comment": picked(["fine", "Customer bad Complaints"], suppliers),
        },
    )
    words = [picked(["green ", "forest ", "blue ", "red "], parts) for _ in range(3)]
    yield (
        "part",
        {
            "p_partkey": np.arange(1, parts + 1),
            "p_name": np.strings.strip(np.strings.add(np.strings.add(*words[:2]), words[2])),
            "p_brand": picked(["Brand#12", "Brand#23", "Brand#45"], parts),
            "p_type": picked(TYPES, parts),
            "p_size": rng.integers(1, 51, parts),
        },
    )
    ps_part = np.repeat(np.arange(1, parts + 1), 4)
    ps_supp = (ps_part + np.tile(np.arange(4), parts)) % suppliers + 1
    yield (
        "partsupp",
        {
            "ps_partkey": ps_part,
            "ps_suppkey": ps_supp,
            "ps_availqty": rng.integers(1, 400, len(ps_part)),
            "ps_supplycost": money(1, 1000, len(ps_part)),
        },
    )
    phones = np.strings.add(
        picked(["13-", "31-", "11-"], customers), np.arange(customers).astype(str)
    )
    yield (
        "customer",
        {
            "c_custkey": np.arange(1, customers + 1),
            "c_name": _numbered("Customer#", np.arange(customers)),
            "c_nationkey": rng.integers(0, 25, customers),
            "c_phone": phones,
            "c_acctbal": money(-999, 9999, customers),
            "c_mktsegment": picked(["BUILDING", "AUTOMOBILE"], customers),
        },
    )
    ordered = np.datetime64("1992-01-01") + days(0, 2400, orders)
    yield (
        "orders",
        {
            "o_orderkey": np.arange(1, orders + 1),
            "o_custkey": 1 + 3 * rng.integers(0, customers, orders) // 4,
            "o_orderstatus": picked(["F", "O"], orders),
            "o_totalprice": money(1000, 500000, orders),
            "o_orderdate": ordered,
            "o_orderpriority": picked(["1-URGENT", "2-HIGH", "3-MEDIUM"], orders),
            "o_comment": picked(["fine", "special happy requests"], orders),
            "o_shippriority": np.zeros(orders, np.int64),
        },
    )
    counts = rng.integers(1, 8, orders)
    lines = int(counts.sum())
    supplied = rng.integers(0, len(ps_part), lines)
    line_ordered = np.repeat(ordered, counts)
    shipped = line_ordered + days(1, 122, lines)
    yield (
        "lineitem",
        {
            "l_orderkey": np.repeat(np.arange(1, orders + 1), counts),
            "l_partkey": ps_part[supplied],
            "l_suppkey": ps_supp[supplied],
            "l_quantity": rng.integers(1, 51, lines).astype(float),
            "l_extendedprice": money(900, 100000, lines),
            "l_discount": rng.integers(0, 11, lines) / 100,
            "l_returnflag": picked(["R", "A", "N"], lines),
            "l_linestatus": picked(["O", "F"], lines),
            "l_shipdate": shipped,
            "l_commitdate": line_ordered + days(30, 91, lines),
            "l_receiptdate": shipped + days(1, 31, lines),
            "l_shipmode": picked(["AIR", "MAIL", "SHIP"], lines),
        },
    )


def _numbered(word: str, numbers: I64) -> Any:
    return np.strings.add(word, numbers.astype(str))


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


def query(number: int, scale: float) -> str:
    """Return a query, for tables of a scale: what is much at one is little at another."""
    text = QUERIES[number]
    return text.replace("*0.01 ", f"*{5e-6 / scale:.8f} ") if number == 11 else text
