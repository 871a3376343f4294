"""What is behind the results of TPC-H's queries, written by hand: see ``oracle``."""

from oracle import Behind, Part

ALIASES = {
    "c": "customer", "l": "lineitem", "n": "nation", "o": "orders",
    "p": "part", "ps": "partsupp", "r": "region", "s": "supplier",
}  # fmt: skip
REVENUE = "l_extendedprice l_discount"
SOLD_BY = "l_orderkey o_orderkey o_custkey c_custkey"

BEHIND = {
    1: Behind(
        [
            Part(
                """select l_returnflag, l_linestatus, rowid l from lineitem
                where l_shipdate <= date '1998-09-02'""",
                {
                    "l_returnflag": "l_returnflag",
                    "l_linestatus": "l_linestatus",
                    "sum_qty": "l_quantity",
                    "sum_base": "l_extendedprice",
                    "sum_disc": REVENUE,
                    "a": "l_quantity",
                    "c": "l_returnflag l_linestatus",
                },
                "l_shipdate l_returnflag l_linestatus",
            )
        ]
    ),
    2: Behind(
        [
            Part(
                """select s_name, p_partkey, p.rowid p, s.rowid s, ps.rowid ps, n.rowid n, r.rowid r
                from part p join partsupp ps on p_partkey = ps_partkey
                join supplier s on s_suppkey = ps_suppkey
                join nation n on s_nationkey = n_nationkey
                join region r on n_regionkey = r_regionkey where r_name = 'EUROPE'""",
                {
                    "s_acctbal": "s_acctbal",
                    "s_name": "s_name",
                    "n_name": "n_name",
                    "p_partkey": "p_partkey",
                },
                """p_partkey ps_partkey s_suppkey ps_suppkey p_size p_type s_nationkey n_nationkey
                n_regionkey r_regionkey r_name ps_supplycost s_acctbal n_name s_name""",
            )
        ],
        """ps_partkey s_suppkey ps_suppkey s_nationkey n_nationkey n_regionkey r_regionkey r_name
        ps_supplycost""",
    ),
    3: Behind(
        [
            Part(
                """select l_orderkey, c.rowid c, o.rowid o, l.rowid l
                from customer c join orders o on c_custkey = o_custkey
                join lineitem l on l_orderkey = o_orderkey where c_mktsegment = 'BUILDING'
                and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15'""",
                {
                    "l_orderkey": "l_orderkey",
                    "revenue": REVENUE,
                    "o_orderdate": "o_orderdate",
                    "o_shippriority": "o_shippriority",
                },
                f"""c_mktsegment {SOLD_BY} o_orderdate l_shipdate o_shippriority {REVENUE}""",
            )
        ]
    ),
    4: Behind(
        [
            Part(
                """select o_orderpriority, o.rowid o, (select list(l.rowid) from lineitem l
                where l_orderkey = o_orderkey and l_commitdate < l_receiptdate) l from orders o
                where o_orderdate >= date '1993-07-01' and o_orderdate < date '1995-10-01'
                and l is not null""",
                {"o_orderpriority": "o_orderpriority", "n": "o_orderpriority"},
                "o_orderpriority o_orderdate o_orderkey l_orderkey l_commitdate l_receiptdate",
            )
        ]
    ),
    5: Behind(
        [
            Part(
                """select n_name, c.rowid c, o.rowid o, l.rowid l, s.rowid s, n.rowid n, r.rowid r
                from customer c join orders o on c_custkey = o_custkey
                join lineitem l on l_orderkey = o_orderkey join supplier s on l_suppkey = s_suppkey
                join nation n on s_nationkey = n_nationkey
                join region r on n_regionkey = r_regionkey where r_name in ('ASIA', 'EUROPE')""",
                {"n_name": "n_name", "revenue": REVENUE},
                f"""{SOLD_BY} l_suppkey s_suppkey s_nationkey n_nationkey n_regionkey r_regionkey
                r_name n_name""",
            )
        ],
        orders=REVENUE,
    ),
    6: Behind(
        [
            Part(
                """select rowid l from lineitem where l_shipdate >= date '1994-01-01'
                and l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07
                and l_quantity < 24""",
                {"revenue": REVENUE},
                "l_shipdate l_discount l_quantity",
            )
        ]
    ),
    7: Behind(
        [
            Part(
                """select n1.n_name supp_nation, n2.n_name cust_nation, year(l_shipdate) l_year,
                s.rowid s, l.rowid l, o.rowid o, c.rowid c, n1.rowid n1, n2.rowid n2
                from supplier s join lineitem l on s_suppkey = l_suppkey
                join orders o on o_orderkey = l_orderkey join customer c on c_custkey = o_custkey
                join nation n1 on s_nationkey = n1.n_nationkey
                join nation n2 on c_nationkey = n2.n_nationkey""",
                {
                    "supp_nation": "n1.n_name",
                    "cust_nation": "n2.n_name",
                    "l_year": "l_shipdate",
                    "revenue": REVENUE,
                },
                f"""{SOLD_BY} s_suppkey l_suppkey s_nationkey c_nationkey l_shipdate
                n1.n_nationkey n2.n_nationkey n1.n_name n2.n_name""",
            )
        ]
    ),
    8: Behind(
        [
            Part(
                """select year(o_orderdate) o_year, p.rowid p, s.rowid s, l.rowid l, o.rowid o,
                c.rowid c, n1.rowid n1, n2.rowid n2, r.rowid r
                from part p join lineitem l on p_partkey = l_partkey
                join supplier s on s_suppkey = l_suppkey join orders o on l_orderkey = o_orderkey
                join customer c on o_custkey = c_custkey
                join nation n1 on c_nationkey = n1.n_nationkey
                join region r on n1.n_regionkey = r_regionkey
                join nation n2 on s_nationkey = n2.n_nationkey where r_name = 'AMERICA'""",
                {"o_year": "o_orderdate", "share": f"n2.n_name {REVENUE}"},
                f"""{SOLD_BY} p_partkey l_partkey s_suppkey l_suppkey c_nationkey n1.n_nationkey
                n1.n_regionkey r_regionkey r_name s_nationkey n2.n_nationkey o_orderdate""",
            )
        ]
    ),
    9: Behind(
        [
            Part(
                """select n_name nation, year(o_orderdate) o_year, p.rowid p, s.rowid s, l.rowid l,
                ps.rowid ps, o.rowid o, n.rowid n
                from part p join lineitem l on p_partkey = l_partkey
                join supplier s on s_suppkey = l_suppkey
                join partsupp ps on ps_suppkey = l_suppkey and ps_partkey = l_partkey
                join orders o on o_orderkey = l_orderkey
                join nation n on s_nationkey = n_nationkey where p_name like '%green%'""",
                {
                    "nation": "n_name",
                    "o_year": "o_orderdate",
                    "profit": f"{REVENUE} ps_supplycost l_quantity",
                },
                """p_partkey l_partkey s_suppkey l_suppkey ps_suppkey ps_partkey o_orderkey
                l_orderkey s_nationkey n_nationkey p_name n_name o_orderdate""",
            )
        ]
    ),
    10: Behind(
        [
            Part(
                """select c_custkey, c.rowid c, o.rowid o, l.rowid l, n.rowid n
                from customer c join orders o on c_custkey = o_custkey
                join lineitem l on l_orderkey = o_orderkey
                join nation n on c_nationkey = n_nationkey where l_returnflag = 'R'""",
                {
                    "c_custkey": "c_custkey",
                    "c_name": "c_name",
                    "revenue": REVENUE,
                    "c_acctbal": "c_acctbal",
                    "n_name": "n_name",
                },
                f"""{SOLD_BY} l_returnflag c_nationkey n_nationkey c_name c_acctbal n_name
                {REVENUE}""",
            )
        ]
    ),
    11: Behind(
        [
            Part(
                """select ps_partkey, ps.rowid ps, s.rowid s, n.rowid n
                from partsupp ps join supplier s on ps_suppkey = s_suppkey
                join nation n on s_nationkey = n_nationkey where n_regionkey = 3""",
                {"ps_partkey": "ps_partkey", "v": "ps_supplycost ps_availqty"},
                """ps_suppkey s_suppkey s_nationkey n_nationkey n_regionkey ps_partkey
                ps_supplycost ps_availqty""",
            ),
            Part(
                """select ps.rowid ps, s.rowid s, n.rowid n
                from partsupp ps join supplier s on ps_suppkey = s_suppkey
                join nation n on s_nationkey = n_nationkey where n_regionkey = 3""",
                {},
                """ps_suppkey s_suppkey s_nationkey n_nationkey n_regionkey ps_supplycost
                ps_availqty""",
            ),
        ]
    ),
    12: Behind(
        [
            Part(
                """select l_shipmode, o.rowid o, l.rowid l1
                from orders o join lineitem l on o_orderkey = l_orderkey
                where l_shipmode in ('MAIL', 'SHIP') and l_commitdate < l_receiptdate
                and l_shipdate < l_commitdate""",
                {"l_shipmode": "l_shipmode", "h": "o_orderpriority", "l": "o_orderpriority"},
                """o_orderkey l_orderkey l_shipmode l_commitdate l_receiptdate l_shipdate""",
            )
        ]
    ),
    13: Behind(
        [
            Part(
                """select len(o) c_count, c, o from (select c.rowid c, (select
                coalesce(list(o.rowid), []) from orders o where c_custkey = o_custkey
                and o_comment not like '%special%requests%') o from customer c)""",
                {"c_count": "o_orderkey", "custdist": "o_orderkey"},
                "c_custkey o_custkey o_comment o_orderkey",
            )
        ],
        "o_custkey o_comment",
    ),
    14: Behind(
        [
            Part(
                """select l.rowid l, p.rowid p from lineitem l join part p
                on l_partkey = p_partkey""",
                {"promo": f"p_type {REVENUE}"},
                "l_partkey p_partkey",
            )
        ]
    ),
    15: Behind(
        [
            Part(
                """select s_suppkey, s.rowid s, l.rowid l from supplier s join lineitem l
                on s_suppkey = l_suppkey where l_shipdate >= date '1994-01-01'""",
                {"s_suppkey": "s_suppkey", "s_name": "s_name", "total_revenue": REVENUE},
                f"s_suppkey l_suppkey l_shipdate {REVENUE}",
            ),
            Part(
                "select rowid l from lineitem where l_shipdate >= date '1994-01-01'",
                {},
                f"l_suppkey l_shipdate {REVENUE}",
            ),
        ]
    ),
    16: Behind(
        [
            Part(
                """select p_brand, p_type, p_size, ps.rowid ps, p.rowid p
                from partsupp ps join part p on p_partkey = ps_partkey where ps_suppkey not in
                (select s_suppkey from supplier where s_comment like '%Customer%Complaints%')""",
                {"p_brand": "p_brand", "p_type": "p_type", "p_size": "p_size", "n": "ps_suppkey"},
                "p_partkey ps_partkey p_brand p_type p_size ps_suppkey",
            )
        ],
        "s_suppkey s_comment",
    ),
    17: Behind(
        [
            Part(
                """select l.rowid l, p.rowid p from lineitem l join part p on p_partkey = l_partkey
                where p_brand = 'Brand#23' and l_quantity < (select 0.9 * avg(l_quantity)
                from lineitem where l_partkey = p_partkey)""",
                {"avg_yearly": "l_extendedprice"},
                "p_partkey l_partkey p_brand l_quantity",
            ),
            Part(
                """select l.rowid l from lineitem l join part p on p_partkey = l_partkey
                where p_brand = 'Brand#23'""",
                {},
                "l_partkey l_quantity",
            ),
        ]
    ),
    18: Behind(
        [
            Part(
                """select o_orderkey, c.rowid c, o.rowid o, l.rowid l
                from customer c join orders o on c_custkey = o_custkey
                join lineitem l on o_orderkey = l_orderkey""",
                {
                    "c_name": "c_name",
                    "c_custkey": "c_custkey",
                    "o_orderkey": "o_orderkey",
                    "o_orderdate": "o_orderdate",
                    "o_totalprice": "o_totalprice",
                    "q": "l_quantity",
                },
                f"{SOLD_BY} c_name o_orderdate o_totalprice l_quantity",
            )
        ]
    ),
    19: Behind(
        [
            Part(
                """select l.rowid l, p.rowid p from lineitem l join part p on p_partkey = l_partkey
                where (p_brand = 'Brand#12' and l_quantity between 1 and 31) or
                (p_brand = 'Brand#23' and p_size between 1 and 30)""",
                {"revenue": REVENUE},
                "p_partkey l_partkey p_brand l_quantity p_size",
            )
        ]
    ),
    20: Behind(
        [
            Part(
                """select s_name, s.rowid s, n.rowid n
                from supplier s join nation n on s_nationkey = n_nationkey""",
                {"s_name": "s_name", "s_address": "s_address"},
                "s_suppkey s_nationkey n_nationkey",
            ),
            Part(
                """select s_name, ps.rowid ps, p.rowid p, l.rowid l from supplier s
                join partsupp ps on s_suppkey = ps_suppkey join part p on p_partkey = ps_partkey
                join lineitem l on l_partkey = ps_partkey and l_suppkey = ps_suppkey
                where p_name like 'forest%'""",
                {},
                """ps_suppkey ps_partkey p_partkey p_name ps_availqty l_partkey l_suppkey
                l_quantity""",
            ),
        ],
        """ps_suppkey ps_partkey p_partkey p_name ps_availqty l_partkey l_suppkey l_quantity""",
        orders="s_name",
    ),
    21: Behind(
        [
            Part(
                """select s_name, s.rowid s, l1.rowid l1, o.rowid o, n.rowid n,
                (select list(l2.rowid) from lineitem l2 where l2.l_orderkey = l1.l_orderkey
                and l2.l_suppkey <> l1.l_suppkey) l2
                from supplier s join lineitem l1 on s_suppkey = l1.l_suppkey
                join orders o on o_orderkey = l1.l_orderkey
                join nation n on s_nationkey = n_nationkey
                where o_orderstatus = 'F' and l1.l_receiptdate > l1.l_commitdate
                and l2 is not null and not exists (select * from lineitem l3 where
                l3.l_orderkey = l1.l_orderkey and l3.l_suppkey <> l1.l_suppkey and
                l3.l_receiptdate > l3.l_commitdate)""",
                {"s_name": "s_name", "numwait": "s_name"},
                """s_suppkey l1.l_suppkey o_orderkey l1.l_orderkey o_orderstatus l1.l_receiptdate
                l1.l_commitdate s_nationkey n_nationkey s_name l2.l_orderkey l2.l_suppkey""",
            )
        ],
        "l_orderkey l_suppkey l_receiptdate l_commitdate",
    ),
    22: Behind(
        [
            Part(
                """select c_phone[1:2] cntrycode, rowid c from customer
                where c_phone[1:2] in ('13', '31', '23', '29', '30', '18', '17')
                and c_acctbal > (select avg(c_acctbal) from customer where c_acctbal > 0.00
                and c_phone[1:2] in ('13', '31', '23', '29', '30', '18', '17'))
                and not exists (select * from orders where o_custkey = c_custkey)""",
                {"cntrycode": "c_phone", "numcust": "c_phone", "totacctbal": "c_acctbal"},
                "c_phone c_acctbal c_custkey",
            ),
            Part(
                """select rowid c from customer where c_acctbal > 0.00
                and c_phone[1:2] in ('13', '31', '23', '29', '30', '18', '17')""",
                {},
                "c_phone c_acctbal",
            ),
        ],
        "o_custkey",
    ),
}
"""The rows that a query leaves out by LIMIT, or by what it asks of groups, are in these too."""
