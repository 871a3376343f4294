"""TPC-H's 22 queries as DataFrame code: the same rows and columns as the SQL of ``tpch``.

Each is a function of the eight tables, plain or tracked. They use what programs use: names, columns
of frames, conditions as text, joins on conditions, semi and anti joins, groups joined again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import functions as F

Tables = Mapping[str, Any]
_REVENUE = "l_extendedprice * (1 - l_discount)"


def _revenue(name: str) -> Any:
    return F.sum(F.expr(_REVENUE)).alias(name)


def _q1(t: Tables) -> Any:
    lines = t["lineitem"]
    return (
        lines.where(lines.l_shipdate <= F.to_date(F.lit("1998-09-02")))
        .groupBy("l_returnflag", "l_linestatus")
        .agg(
            F.sum("l_quantity").alias("sum_qty"),
            F.sum("l_extendedprice").alias("sum_base"),
            F.sum(F.col("l_extendedprice") * (1 - F.col("l_discount"))).alias("sum_disc"),
            F.avg("l_quantity").alias("a"),
            F.count("*").alias("c"),
        )
        .orderBy("l_returnflag", "l_linestatus")
    )


def _european(t: Tables) -> Any:
    region = t["region"].where("r_name = 'EUROPE'")
    return (
        t["partsupp"]
        .join(t["supplier"], F.col("ps_suppkey") == F.col("s_suppkey"))
        .join(t["nation"], F.col("s_nationkey") == F.col("n_nationkey"))
        .join(region, F.col("n_regionkey") == F.col("r_regionkey"))
    )


def _q2(t: Tables) -> Any:
    least = (
        _european(t)
        .groupBy(F.col("ps_partkey").alias("of"))
        .agg(F.min("ps_supplycost").alias("least"))
    )
    part = t["part"].where((F.col("p_size") < 25) & F.col("p_type").like("%BRASS"))
    return (
        _european(t)
        .join(part, F.col("p_partkey") == F.col("ps_partkey"))
        .join(
            least, (F.col("of") == F.col("p_partkey")) & (F.col("least") == F.col("ps_supplycost"))
        )
        .select("s_acctbal", "s_name", "n_name", "p_partkey")
        .orderBy(F.desc("s_acctbal"), "n_name", "s_name", "p_partkey")
        .limit(100)
    )


def _q3(t: Tables) -> Any:
    day = F.lit("1995-03-15").cast("date")
    orders = t["orders"].filter(F.col("o_orderdate") < day)
    return (
        t["customer"]
        .filter(F.col("c_mktsegment") == "BUILDING")
        .join(orders, F.col("c_custkey") == F.col("o_custkey"))
        .join(t["lineitem"].filter(F.col("l_shipdate") > day), F.expr("l_orderkey = o_orderkey"))
        .groupBy("l_orderkey", "o_orderdate", "o_shippriority")
        .agg(_revenue("revenue"))
        .select("l_orderkey", "revenue", "o_orderdate", "o_shippriority")
        .orderBy(F.col("revenue").desc(), "o_orderdate")
        .limit(10)
    )


def _q4(t: Tables) -> Any:
    late = t["lineitem"].where("l_commitdate < l_receiptdate")
    return (
        t["orders"]
        .where("o_orderdate >= date '1993-07-01' and o_orderdate < date '1995-10-01'")
        .join(late, F.expr("l_orderkey = o_orderkey"), "left_semi")
        .groupBy("o_orderpriority")
        .agg(F.count("*").alias("n"))
        .sort("o_orderpriority")
    )


def _q5(t: Tables) -> Any:
    region = t["region"].where(F.col("r_name").isin("ASIA", "EUROPE"))
    return (
        t["customer"]
        .join(t["orders"], F.expr("c_custkey = o_custkey"))
        .join(t["lineitem"], F.expr("l_orderkey = o_orderkey"))
        .join(t["supplier"], F.expr("l_suppkey = s_suppkey"))
        .join(t["nation"], F.expr("s_nationkey = n_nationkey"))
        .join(region, F.expr("n_regionkey = r_regionkey"))
        .groupBy("n_name")
        .agg(_revenue("revenue"))
        .orderBy("revenue", ascending=False)
    )


def _q6(t: Tables) -> Any:
    return (
        t["lineitem"]
        .where("l_shipdate >= date '1994-01-01'")
        .where("l_shipdate < date '1995-01-01'")
        .where(F.col("l_discount").between(0.05, 0.07))
        .where(F.col("l_quantity") < 24)
        .agg(F.sum(F.col("l_extendedprice") * F.col("l_discount")).alias("revenue"))
    )


def _q7(t: Tables) -> Any:
    first = t["nation"].select(
        F.col("n_nationkey").alias("k1"), F.col("n_name").alias("supp_nation")
    )
    other = t["nation"].select(
        F.col("n_nationkey").alias("k2"), F.col("n_name").alias("cust_nation")
    )
    return (
        t["supplier"]
        .join(t["lineitem"], F.expr("s_suppkey = l_suppkey"))
        .join(t["orders"], F.expr("o_orderkey = l_orderkey"))
        .join(t["customer"], F.expr("c_custkey = o_custkey"))
        .join(first, F.expr("s_nationkey = k1"))
        .join(other, F.expr("c_nationkey = k2"))
        .withColumn("l_year", F.year("l_shipdate"))
        .withColumn("volume", F.expr(_REVENUE))
        .groupBy("supp_nation", "cust_nation", "l_year")
        .agg(F.sum("volume").alias("revenue"))
        .orderBy("supp_nation", "cust_nation", "l_year")
    )


def _q8(t: Tables) -> Any:
    home = t["nation"].select(
        F.col("n_nationkey").alias("k1"), F.col("n_regionkey").alias("region")
    )
    nation = t["nation"].withColumnRenamed("n_name", "nation").select("n_nationkey", "nation")
    america = t["region"].where("r_name = 'AMERICA'")
    brazil = F.when(F.col("nation") == "BRAZIL", F.col("volume")).otherwise(0)
    return (
        t["part"]
        .join(t["lineitem"], F.expr("p_partkey = l_partkey"))
        .join(t["supplier"], F.expr("s_suppkey = l_suppkey"))
        .join(t["orders"], F.expr("l_orderkey = o_orderkey"))
        .join(t["customer"], F.expr("o_custkey = c_custkey"))
        .join(home, F.expr("c_nationkey = k1"))
        .join(america, F.expr("region = r_regionkey"))
        .join(nation, F.expr("s_nationkey = n_nationkey"))
        .select(F.year("o_orderdate").alias("o_year"), F.expr(_REVENUE).alias("volume"), "nation")
        .groupBy("o_year")
        .agg((F.sum(brazil) / F.sum("volume")).alias("share"))
        .orderBy("o_year")
    )


def _q9(t: Tables) -> Any:
    amount = F.expr(f"{_REVENUE} - ps_supplycost * l_quantity")
    return (
        t["part"]
        .where(F.col("p_name").contains("green"))
        .join(t["lineitem"], F.expr("p_partkey = l_partkey"))
        .join(t["supplier"], F.expr("s_suppkey = l_suppkey"))
        .join(t["partsupp"], F.expr("ps_suppkey = l_suppkey and ps_partkey = l_partkey"))
        .join(t["orders"], F.expr("o_orderkey = l_orderkey"))
        .join(t["nation"], F.expr("s_nationkey = n_nationkey"))
        .groupBy(F.col("n_name").alias("nation"), F.year("o_orderdate").alias("o_year"))
        .agg(F.sum(amount).alias("profit"))
        .orderBy("nation", F.desc("o_year"))
    )


def _q10(t: Tables) -> Any:
    return (
        t["customer"]
        .join(t["orders"], F.expr("c_custkey = o_custkey"))
        .join(t["lineitem"].where("l_returnflag = 'R'"), F.expr("l_orderkey = o_orderkey"))
        .join(t["nation"], F.expr("c_nationkey = n_nationkey"))
        .groupBy("c_custkey", "c_name", "c_acctbal", "n_name")
        .agg(_revenue("revenue"))
        .select("c_custkey", "c_name", "revenue", "c_acctbal", "n_name")
        .orderBy(F.desc("revenue"))
        .limit(20)
    )


def _q11(t: Tables, share: float = 0.01) -> Any:
    some = (
        t["partsupp"]
        .join(t["supplier"], F.expr("ps_suppkey = s_suppkey"))
        .join(t["nation"].where("n_regionkey = 3"), F.expr("s_nationkey = n_nationkey"))
        .withColumn("worth", F.col("ps_supplycost") * F.col("ps_availqty"))
    )
    most = some.agg((F.sum("worth") * share).alias("least"))
    return (
        some.groupBy("ps_partkey")
        .agg(F.sum("worth").alias("v"))
        .crossJoin(most)
        .where("v > least")
        .drop("least")
        .orderBy(F.desc("v"))
    )


def _q12(t: Tables) -> Any:
    urgent = F.col("o_orderpriority").isin("1-URGENT", "2-HIGH")
    return (
        t["orders"]
        .join(t["lineitem"], F.expr("o_orderkey = l_orderkey"))
        .where(F.col("l_shipmode").isin("MAIL", "SHIP"))
        .where("l_commitdate < l_receiptdate and l_shipdate < l_commitdate")
        .groupBy("l_shipmode")
        .agg(
            F.sum(F.when(urgent, 1).otherwise(0)).alias("h"),
            F.sum(F.when(~urgent, 1).otherwise(0)).alias("l"),
        )
        .orderBy("l_shipmode")
    )


def _q13(t: Tables) -> Any:
    orders = t["orders"].where("o_comment not like '%special%requests%'")
    return (
        t["customer"]
        .join(orders, F.expr("c_custkey = o_custkey"), "left")
        .groupBy("c_custkey")
        .agg(F.count("o_orderkey").alias("c_count"))
        .groupBy("c_count")
        .agg(F.count("*").alias("custdist"))
        .orderBy(F.desc("custdist"), F.desc("c_count"))
    )


def _q14(t: Tables) -> Any:
    promo = F.when(F.col("p_type").startswith("PROMO"), F.expr(_REVENUE)).otherwise(0)
    return (
        t["lineitem"]
        .join(t["part"], F.expr("l_partkey = p_partkey"))
        .agg((F.lit(100.00) * F.sum(promo) / F.sum(F.expr(_REVENUE))).alias("promo"))
    )


def _q15(t: Tables) -> Any:
    totals = (
        t["lineitem"]
        .where("l_shipdate >= date '1994-01-01'")
        .groupBy(F.col("l_suppkey").alias("supplier_no"))
        .agg(_revenue("total_revenue"))
    )
    best = totals.agg(F.max("total_revenue").alias("best"))
    return (
        t["supplier"]
        .join(totals, F.expr("s_suppkey = supplier_no"))
        .join(best, F.expr("total_revenue = best"))
        .select("s_suppkey", "s_name", "total_revenue")
        .orderBy("s_suppkey")
    )


def _q16(t: Tables) -> Any:
    bad = t["supplier"].where(F.col("s_comment").rlike("Customer.*Complaints"))
    return (
        t["partsupp"]
        .join(t["part"], F.expr("p_partkey = ps_partkey"))
        .where("p_brand <> 'Brand#45' and p_type not like 'MEDIUM POLISHED%'")
        .join(bad, F.expr("ps_suppkey = s_suppkey"), "left_anti")
        .groupBy("p_brand", "p_type", "p_size")
        .agg(F.countDistinct("ps_suppkey").alias("n"))
        .orderBy(F.desc("n"), "p_brand", "p_type", "p_size")
    )


def _q17(t: Tables) -> Any:
    few = (
        t["lineitem"]
        .groupBy(F.col("l_partkey").alias("of"))
        .agg((F.avg("l_quantity") * 0.9).alias("few"))
    )
    return (
        t["lineitem"]
        .join(t["part"].where("p_brand = 'Brand#23'"), F.expr("p_partkey = l_partkey"))
        .join(few, F.expr("of = p_partkey and l_quantity < few"))
        .agg((F.sum("l_extendedprice") / 7.0).alias("avg_yearly"))
    )


def _q18(t: Tables) -> Any:
    large = (
        t["lineitem"]
        .groupBy(F.col("l_orderkey").alias("of"))
        .agg(F.sum("l_quantity").alias("sum"))
        .where("sum > 200")
    )
    return (
        t["customer"]
        .join(t["orders"], F.expr("c_custkey = o_custkey"))
        .join(large, F.expr("of = o_orderkey"), "left_semi")
        .join(t["lineitem"], F.expr("o_orderkey = l_orderkey"))
        .groupBy("c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice")
        .agg(F.sum("l_quantity").alias("q"))
        .orderBy(F.desc("o_totalprice"), "o_orderdate")
        .limit(100)
    )


def _q19(t: Tables) -> Any:
    first = F.expr("p_brand = 'Brand#12' and l_quantity between 1 and 31")
    other = F.expr("p_brand = 'Brand#23' and p_size between 1 and 30")
    return (
        t["lineitem"]
        .join(t["part"], F.expr("p_partkey = l_partkey"))
        .where(first | other)
        .agg(_revenue("revenue"))
    )


def _q20(t: Tables) -> Any:
    half = (
        t["lineitem"]
        .groupBy(F.col("l_partkey").alias("of"), F.col("l_suppkey").alias("by"))
        .agg((F.sum("l_quantity") * 0.5).alias("half"))
    )
    some = (
        t["partsupp"]
        .join(t["part"].where("p_name like 'forest%'"), F.expr("ps_partkey = p_partkey"), "semi")
        .join(half, F.expr("of = ps_partkey and by = ps_suppkey and ps_availqty > half"))
    )
    return (
        t["supplier"]
        .join(some, F.expr("s_suppkey = ps_suppkey"), "left_semi")
        .join(t["nation"], F.expr("s_nationkey = n_nationkey"))
        .select("s_name", "s_address")
        .orderBy("s_name")
    )


def _q21(t: Tables) -> Any:
    others = t["lineitem"].select(F.col("l_orderkey").alias("k2"), F.col("l_suppkey").alias("s2"))
    late = t["lineitem"].where("l_receiptdate > l_commitdate")
    late_others = late.select(F.col("l_orderkey").alias("k3"), F.col("l_suppkey").alias("s3"))
    return (
        t["supplier"]
        .join(late, F.expr("s_suppkey = l_suppkey"))
        .join(t["orders"].where("o_orderstatus = 'F'"), F.expr("o_orderkey = l_orderkey"))
        .join(others, F.expr("k2 = l_orderkey and s2 <> l_suppkey"), "left_semi")
        .join(late_others, F.expr("k3 = l_orderkey and s3 <> l_suppkey"), "left_anti")
        .join(t["nation"], F.expr("s_nationkey = n_nationkey"))
        .groupBy("s_name")
        .agg(F.count("*").alias("numwait"))
        .orderBy(F.desc("numwait"), "s_name")
        .limit(100)
    )


def _q22(t: Tables) -> Any:
    codes = ["13", "31", "23", "29", "30", "18", "17"]
    coded = (
        t["customer"]
        .withColumn("cntrycode", F.substring("c_phone", 1, 2))
        .where(F.col("cntrycode").isin(codes))
    )
    mean = coded.where("c_acctbal > 0.00").agg(F.avg("c_acctbal").alias("mean"))
    return (
        coded.crossJoin(mean)
        .where("c_acctbal > mean")
        .join(t["orders"], F.expr("o_custkey = c_custkey"), "left_anti")
        .groupBy("cntrycode")
        .agg(F.count("*").alias("numcust"), F.sum("c_acctbal").alias("totacctbal"))
        .orderBy("cntrycode")
    )


FRAMES: Mapping[int, Callable[[Tables], Any]] = dict(
    enumerate(
        (
            _q1, _q2, _q3, _q4, _q5, _q6, _q7, _q8, _q9, _q10, _q11,
            _q12, _q13, _q14, _q15, _q16, _q17, _q18, _q19, _q20, _q21, _q22,
        ),
        start=1,
    )
)  # fmt: skip
