"""A small retail schema, and queries of TPC-DS's kinds, with what is behind their results.

``sales`` of ``items`` in ``shops``, some of which come back (``returns``), and ``targets`` in
columns; with nulls in keys and measures, equal rows, nested columns. Queries are Spark's SQL;
``duck`` is the same for DuckDB where it has other words for it, and empty where it has none or
chance decides.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from oracle import Behind, Part

ALIASES = {"s": "sales", "i": "items", "h": "shops", "r": "returns", "t": "targets"}


def tables(seed=3, sales=48):
    rng = np.random.default_rng(seed)

    def holes(values, share=0.1):
        return pa.array(list(values), mask=rng.random(len(values)) < share)

    kinds = ["toy", "book", "game"]
    items = [f"item{n}" for n in range(8)]
    return {
        "sales": pa.table(
            {
                "sid": np.arange(100, 100 + sales),
                "sday": rng.integers(1, 15, sales),
                "sshop": holes(rng.integers(1, 6, sales).tolist()),
                "sitem": holes(rng.integers(1, 9, sales).tolist()),
                "sqty": rng.integers(1, 10, sales),
                "sprice": holes((rng.integers(4, 400, sales) / 4).tolist()),
            }
        ),
        "items": pa.table(
            {
                "iid": np.arange(1, 9),
                "iname": items,
                "ikind": holes([kinds[n % 3] for n in range(8)], 0.15),
                "itags": [[f"t{k}" for k in range(n % 4)] for n in range(8)],
                "isizes": [[int(k) for k in rng.integers(1, 9, n % 3)] for n in range(8)],
                "ispec": [
                    {"w": n / 2, "h": n * 2.0, "by": {"name": f"m{n % 3}"}} for n in range(8)
                ],
            }
        ),
        "shops": pa.table(
            {
                "hid": np.arange(1, 6),
                "hcity": ["Rome", "Bern", None, "Rome", "Oslo"],
                "hregion": ["south", "mid", "mid", "south", "north"],
            }
        ),
        "returns": pa.table(
            {
                "rsid": holes((100 + rng.integers(0, sales + 4, 14)).tolist()),
                "rday": rng.integers(5, 25, 14),
                "rqty": rng.integers(1, 4, 14),
            }
        ),
        "targets": pa.table(
            {
                "treg": ["south", "mid", "north", "none"],
                "tq1": [40, 50, None, 5],
                "tq2": [60, 20, 30, None],
            }
        ),
    }


@dataclass(frozen=True)
class Case:
    sql: str
    behind: Behind | None = None
    duck: str | None = None

    @property
    def other(self):
        return self.sql if self.duck is None else self.duck


def one(rows, reads, decides="", anywhere="", orders="", loose=""):
    return Behind([Part(rows, reads, decides)], anywhere, orders, loose)


JOINED = "sales s join shops h on sshop = hid"
ON = "sshop hid"
ALL_SALES = "s.sid s.sday s.sshop s.sitem s.sqty s.sprice"
ALL_SHOPS = "h.hid h.hcity h.hregion"

CASES = {
    "rollup": Case(
        f"""select hregion, hcity, grouping_id(hregion, hcity) g, sum(sqty) q, count(*) n
        from {JOINED} group by rollup(hregion, hcity)""",
        Behind(
            [
                Part(
                    f"""select hregion, hcity, 0 g, s.rowid s, h.rowid h from {JOINED}""",
                    {"hregion": "hregion", "hcity": "hcity", "q": "sqty", "n": "hregion hcity"},
                    f"{ON} hregion hcity",
                ),
                Part(
                    f"""select hregion, null hcity, 1 g, s.rowid s, h.rowid h from {JOINED}""",
                    {"hregion": "hregion", "q": "sqty", "n": "hregion"},
                    f"{ON} hregion",
                ),
                Part(
                    f"""select null hregion, null hcity, 3 g, s.rowid s, h.rowid h from {JOINED}""",
                    {"q": "sqty", "n": f"{ALL_SALES} {ALL_SHOPS}"},
                    ON,
                ),
            ]
        ),
    ),
    "cube": Case(
        f"""select hregion, sday % 3 d, grouping_id(hregion, sday % 3) g, max(sprice) m
        from {JOINED} group by cube(hregion, sday % 3)""",
        Behind(
            [
                Part(
                    f"""select {keys}, {g} g, s.rowid s, h.rowid h from {JOINED}""",
                    {"m": "sprice", **reads},
                    f"{ON} {' '.join(reads.values())}",
                )
                for g, keys, reads in (
                    (0, "hregion, sday % 3 d", {"hregion": "hregion", "d": "sday"}),
                    (1, "hregion, null d", {"hregion": "hregion"}),
                    (2, "null hregion, sday % 3 d", {"d": "sday"}),
                    (3, "null hregion, null d", {}),
                )
            ]
        ),
    ),
    "grouping sets": Case(
        """select ikind, hregion, grouping(ikind) g, sum(sprice * sqty) v from sales
        join shops on sshop = hid join items on sitem = iid
        group by grouping sets ((ikind), (hregion)) having sum(sqty) > 10""",
        Behind(
            [
                Part(
                    f"""select {keys} g, s.rowid s, h.rowid h, i.rowid i
                    from {JOINED} join items i on sitem = iid""",
                    {key: key, "v": "sprice sqty"},
                    f"{ON} sitem iid {key} sqty",
                )
                for keys, key in (
                    ("ikind, null hregion, 0", "ikind"),
                    ("null ikind, hregion, 1", "hregion"),
                )
            ]
        ),
    ),
    "frames of rows": Case(
        """select sid, sum(sqty) over (partition by sshop order by sday, sid
        rows between 1 preceding and 2 following) a,
        min(sprice) over (order by sid rows between unbounded preceding and 1 preceding) b,
        count(sitem) over (partition by sshop order by sid
        rows between current row and unbounded following) c from sales where sqty > 2""",
        one(
            """select sid, rowid own, list(rowid) over (partition by sshop order by sday, sid
            rows between 1 preceding and 2 following) s1,
            list(rowid) over (order by sid rows between unbounded preceding and 1 preceding) s2,
            list(rowid) over (partition by sshop order by sid
            rows between current row and unbounded following) s3, [rowid] s
            from sales where sqty > 2""",
            {"sid": "s.sid", "a": "s1.sqty", "b": "s2.sprice", "c": "s3.sitem"},
            "s.sqty s.sshop s.sday s.sid",
        ),
    ),
    "frames of values": Case(
        """select sid, sum(sqty) over (order by sday range between 2 preceding and current row) a,
        avg(sprice) over (partition by sqty % 2 order by sday desc
        range between 1 preceding and 3 following) b, count(*) over (partition by sitem) n
        from sales""",
        one(
            """select sid, [rowid] s,
            list(rowid) over (order by sday range between 2 preceding and current row) s1,
            list(rowid) over (partition by sqty % 2 order by sday desc
            range between 1 preceding and 3 following) s2,
            list(rowid) over (partition by sitem) s3 from sales""",
            {"sid": "s.sid", "a": "s1.sqty", "b": "s2.sprice", "n": "s3.sitem"},
            "s.sday s.sqty s.sitem",
        ),
    ),
    "ranks": Case(
        """select sid, rank() over (partition by sshop order by sday) a,
        dense_rank() over (order by sqty desc) b, ntile(3) over (order by sid) c,
        percent_rank() over (partition by sitem order by sday) d,
        cume_dist() over (order by sday) e from sales"""
    ),
    "row numbers": Case(
        """select sid, row_number() over (partition by sshop order by sday, sid) a,
        lag(sprice) over (order by sid) b, lead(sqty, 2, -1) over (partition by sitem order by sid)
        c, first_value(sprice) over (partition by sshop order by sid) d,
        nth_value(sqty, 2) over (partition by sshop order by sid
        rows between unbounded preceding and unbounded following) e from sales""",
        one(
            """select sid, [rowid] s, list(rowid) over (partition by sshop order by sday, sid
            rows between unbounded preceding and current row) s1,
            list(rowid) over (order by sid rows between 1 preceding and 1 preceding) s2,
            list(rowid) over (partition by sitem order by sid
            rows between 2 following and 2 following) s3,
            list(rowid) over (partition by sshop order by sid) s4,
            list(rowid) over (partition by sshop) s5 from sales""",
            {
                "sid": "s.sid",
                "a": "s1.sday s1.sid",
                "b": "s2.sprice",
                "c": "s3.sqty",
                "d": "s4.sprice",
                "e": "s5.sqty",
            },
            "s.sshop s.sday s.sid s.sitem",
        ),
    ),
    "a window over groups": Case(
        """select hregion, ikind, sum(sprice) v,
        sum(sprice) * 100 / sum(sum(sprice)) over (partition by hregion) share
        from sales join shops on sshop = hid join items on sitem = iid group by hregion, ikind""",
        Behind(
            [
                Part(
                    f"""select hregion, ikind, s.rowid s, h.rowid h, i.rowid i
                    from {JOINED} join items i on sitem = iid""",
                    {"hregion": "hregion", "ikind": "ikind", "v": "sprice", "share": "sprice"},
                    f"{ON} sitem iid hregion ikind",
                ),
                Part(
                    f"""select hregion, s.rowid s from {JOINED} join items i on sitem = iid""",
                    {"share": "sprice"},
                ),
            ]
        ),
    ),
    "union all": Case(
        """select sid id, sqty q, 'sold' what from sales where sqty > 5
        union all select rsid, rqty, 'back' from returns where rday > 9""",
        Behind(
            [
                Part(
                    "select sid id, 'sold' what, rowid s from sales where sqty > 5",
                    {"id": "sid", "q": "sqty"},
                    "sqty",
                ),
                Part(
                    """select rsid id, rqty q, 'back' what, rowid r from returns
                    where rday > 9""",
                    {"id": "rsid", "q": "rqty"},
                    "rday",
                ),
            ]
        ),
    ),
    "intersect all": Case(
        """select sshop a, sqty % 2 b from sales intersect all
        select hid, hid % 2 from shops order by 1""",
        Behind(
            [
                Part(
                    "select sshop a, sqty % 2 b, rowid s from sales",
                    {"a": "sshop", "b": "sqty"},
                    "sshop sqty",
                ),
                Part(
                    "select hid a, hid % 2 b, rowid h from shops", {"a": "hid", "b": "hid"}, "hid"
                ),
            ]
        ),
    ),
    "except all": Case(
        "select sitem from sales except all select iid from items",
        one("select sitem, rowid s from sales", {"sitem": "sitem"}, "sitem", "items.iid"),
    ),
    "except and union": Case(
        """(select sitem x from sales where sqty < 5 except select iid from items where iid > 5)
        union select sshop from sales where sqty > 7""",
        Behind(
            [
                Part(
                    """select sitem x, rowid s from sales where sqty < 5 and (sitem is null or
                    sitem not in (select iid from items where iid > 5))""",
                    {"x": "sitem"},
                    "sitem sqty",
                ),
                Part(
                    "select sshop x, rowid s from sales where sqty > 7",
                    {"x": "sshop"},
                    "sshop sqty",
                ),
            ],
            "items.iid",
        ),
    ),
    "a table used twice": Case(
        """with totals as (select sshop, sday % 2 half, sum(sprice) v from sales group by 1, 2)
        select a.sshop, a.v one, b.v two from totals a join totals b
        on a.sshop = b.sshop and a.half = 0 and b.half = 1 where b.v > a.v * 0.5""",
        Behind(
            [
                Part(
                    "select sshop, rowid s from sales where sday % 2 = 0",
                    {"sshop": "sshop", "one": "sprice"},
                    "sshop sday sprice",
                ),
                Part(
                    "select sshop, rowid s from sales where sday % 2 = 1",
                    {"two": "sprice"},
                    "sshop sday sprice",
                ),
            ]
        ),
    ),
    "a correlated mean": Case(
        """select sid, sprice from sales s where sprice > (select avg(sprice) * 1.2 from sales o
        where o.sitem = s.sitem)""",
        one(
            """select s.sid, s.rowid s, list(o.rowid) s2 from sales s join sales o
            on o.sitem = s.sitem group by s.sid, s.rowid""",
            {"sid": "s.sid", "sprice": "s.sprice"},
            "s.sprice s.sitem s2.sprice s2.sitem",
        ),
    ),
    "exists": Case(
        """select sid, sqty from sales where exists (select 1 from returns where rsid = sid and
        rqty < sqty) and not exists (select 1 from items where iid = sitem and ikind = 'toy')""",
        one(
            """select sid, s.rowid s, list(r.rowid) r from sales s join returns r on rsid = sid
            and rqty < sqty group by sid, s.rowid""",
            {"sid": "sid", "sqty": "sqty"},
            "sid sqty sitem rsid rqty",
            "items.iid items.ikind returns.rsid returns.rqty",
        ),
    ),
    "exists or": Case(
        """select sid, sqty from sales where sqty > 8 or exists
        (select 1 from returns where rsid = sid and rday > 9)""",
        one(
            "select sid, rowid s from sales",
            {"sid": "sid", "sqty": "sqty"},
            "sid sqty",
            "returns.rsid returns.rday",
        ),
    ),
    "not in without nulls": Case(
        """select sid from sales where sid not in (select rsid from returns where rsid is not
        null and rqty > 1)""",
        one("select sid, rowid s from sales", {"sid": "sid"}, "sid", "returns.rsid returns.rqty"),
    ),
    "not in with nulls": Case("select sid from sales where sid not in (select rsid from returns)"),
    "pairs in": Case(
        """select sid from sales where (sshop, sday) in (select hid, rday from shops join returns
        on rqty < hid)""",
        one(
            "select sid, rowid s from sales",
            {"sid": "sid"},
            "sshop sday",
            "shops.hid returns.rday returns.rqty",
        ),
    ),
    "scalar in a list": Case(
        """select hid, (select max(sprice) from sales where sshop = hid) m,
        case when hid > (select min(iid) + 1 from items) then hcity else 'none' end c from shops""",
        one(
            """select hid, h.rowid h, (select list(s.rowid) from sales s where sshop = hid) s,
            (select list(rowid) from items) i from shops h""",
            {"hid": "hid", "m": "sprice", "c": "hid hcity iid"},
            "hid",
            "sales.sshop",
        ),
    ),
    "having above a mean": Case(
        """select sshop, count(*) n from sales group by sshop
        having sum(sqty) > (select avg(rqty) * 20 from returns)""",
        one(
            """select sshop, rowid s, (select list(rowid) from returns) r from sales""",
            {"sshop": "sshop", "n": "sshop"},
            "sshop sqty rqty",
        ),
    ),
    "pivot": Case(
        """select * from (select sshop, sday % 3 d, sprice from sales)
        pivot (max(sprice) as m for d in (0, 1, 2)) order by sshop""",
        Behind(
            [
                Part("select sshop, rowid s from sales", {"sshop": "sshop"}, "sshop sday"),
                *(
                    Part(
                        f"select sshop, rowid s from sales where sday % 3 = {d}",
                        {f"_{d + 1}": "sprice sday"},
                    )
                    for d in range(3)
                ),
            ]
        ),
        """select sshop, max(sprice) filter (sday % 3 = 0), max(sprice) filter (sday % 3 = 1),
        max(sprice) filter (sday % 3 = 2) from sales group by sshop""",
    ),
    "unpivot": Case(
        "select treg, q, v from targets unpivot include nulls (v for q in (tq1, tq2))",
        Behind(
            [
                Part(
                    f"select treg, '{q}' q, rowid t from targets",
                    {"treg": "treg", "v": q},
                )
                for q in ("tq1", "tq2")
            ]
        ),
    ),
    "lateral view": Case(
        """select iid, tag, place from items lateral view posexplode(itags) v as place, tag""",
        one(
            "select iid, unnest(itags) tag, i.rowid i from items i",
            {"iid": "iid", "tag": "itags", "place": "itags"},
            "itags",
        ),
        """select iid, itags[k + 1], k from (select iid, itags, unnest(range(len(itags))) k
        from items)""",
    ),
    "lateral view outer": Case(
        "select iid, size from items lateral view outer explode(isizes) v as size where iid < 7",
        one(
            "select iid, i.rowid i from items i",
            {"iid": "iid", "size": "isizes"},
            "isizes iid",
        ),
        """select iid, unnest(case when len(isizes) = 0 then [null] else isizes end) from items
        where iid < 7""",
    ),
    "lateral join": Case(
        """select hid, q, back from shops, lateral (select sum(sqty) q, max(rqty) back from sales
        left join returns on rsid = sid where sshop = hid)""",
        one(
            """select hid, h.rowid h, (select list(s.rowid) from sales s where sshop = hid) s,
            (select list(r.rowid) from sales join returns r on rsid = sid where sshop = hid) r
            from shops h""",
            {"hid": "hid", "q": "sqty", "back": "rqty"},
            "",
            "sales.sshop shops.hid sales.sid returns.rsid",
        ),
    ),
    "qualify": Case(
        """select sshop, sid, sprice from sales qualify
        row_number() over (partition by sshop order by sprice desc nulls last, sid) = 1""",
        one(
            "select sid, rowid s from sales",
            {"sshop": "sshop", "sid": "sid", "sprice": "sprice"},
            "sshop sprice sid",
        ),
    ),
    "the first of each": Case(
        """select sshop, sid, sprice from (select *, row_number() over (partition by sshop
        order by sprice desc nulls last, sid) n from sales) where n <= 2""",
        one(
            "select sid, rowid s from sales",
            {"sshop": "sshop", "sid": "sid", "sprice": "sprice"},
            "sshop sprice sid",
        ),
    ),
    "nested fields": Case(
        """select iid, ispec.w + ispec.h wide, s.p p, s.n.q q from (select iid, ispec,
        named_struct('p', iname, 'n', named_struct('q', ikind, 'k', iid)) s from items)""",
        one(
            "select iid, rowid i from items",
            {"iid": "iid", "wide": "ispec", "p": "iname", "q": "ikind"},
        ),
        "select iid, ispec.w + ispec.h, iname, ikind from items",
    ),
    "fields through joins": Case(
        """select f.a, g.s.b.c, sid, g.s.b from (select sid, struct(sqty a, sday d) f from sales
        where sqty > 5) join (select rsid, struct(rqty a, struct(rday c, rqty d) b) s from returns)
        g on sid = rsid where f.d < 14 and g.s.a > 1""",
        one(
            """select sid, s.rowid s, r.rowid r, rday c from sales s join returns r
            on sid = rsid where sqty > 5""",
            {"a": "sqty", "c": "rday", "sid": "sid", "_3": "rday rqty"},
            "sqty sid rsid sday rqty",
        ),
        """select sqty, rday, sid, [rday, rqty] from sales join returns
        on sid = rsid where sqty > 5 and sday < 14 and rqty > 1""",
    ),
    "functions of arrays": Case(
        """select iid, transform(isizes, x -> x * iid) a, filter(itags, t -> t <> 't0') b,
        aggregate(isizes, 0L, (acc, x) -> acc + x, acc -> acc * 2) c,
        map_filter(map('a', iid, 'b', size(itags)), (k, v) -> v > 1) d,
        exists(isizes, x -> x > 4) e from items""",
        one(
            "select iid, rowid i from items",
            {
                "iid": "iid",
                "a": "isizes iid",
                "b": "itags",
                "c": "isizes",
                "d": "iid itags",
                "e": "isizes",
            },
        ),
        "",
    ),
    "values": Case(
        """select sid, w, sqty * w z from sales join (values (1, 10), (2, 20), (7, 70)) v(k, w)
        on sitem = k""",
        one(
            "select sid, rowid s from sales",
            {"sid": "sid", "z": "sqty"},
            "sitem",
        ),
    ),
    "names": Case(
        """select sid, sid, sqty as `a b`, sprice as `x.y`, sqty + 1 as `sid`, sshop as `select`
        from (select sid, sqty, sprice, sshop from sales where sqty < 4)""",
        one(
            "select sid _0, rowid s from sales",
            {
                "_0": "sid",
                "_1": "sid",
                "_2": "sqty",
                "_3": "sprice",
                "_4": "sqty",
                "_5": "sshop",
            },
            "sqty",
        ),
        """select sid, sid, sqty, sprice, sqty + 1, sshop from sales where sqty < 4""",
    ),
    "self-joins": Case(
        """select a.sid x, b.sid y, c.sqty z from sales a join sales b on a.sitem = b.sitem and
        a.sid < b.sid left join sales c on c.sid = b.sid + 1 where a.sshop = b.sshop""",
        one(
            """select a.sid x, b.sid y, a.rowid s1, b.rowid s2, c.rowid s3 from sales a join sales b
            on a.sitem = b.sitem and a.sid < b.sid left join sales c on c.sid = b.sid + 1
            where a.sshop = b.sshop""",
            {"x": "s1.sid", "y": "s2.sid", "z": "s3.sqty"},
            "s1.sitem s2.sitem s1.sid s2.sid s3.sid s1.sshop s2.sshop",
            "sales.sid",
        ),
    ),
    "outer joins": Case(
        """select sid, hid, treg, tq1 from (select * from sales where sqty > 6) full join shops
        on sshop = hid right join targets on hregion = treg""",
        one(
            """select sid, hid, treg, s.rowid s, h.rowid h, t.rowid t from
            (select *, rowid from sales where sqty > 6) s full join shops h on sshop = hid
            right join targets t on hregion = treg""",
            {"sid": "sid", "hid": "hid", "treg": "treg", "tq1": "tq1"},
            "sqty sshop hid hregion treg",
            "sales.sqty sales.sshop shops.hid shops.hregion",
        ),
    ),
    "null-safe": Case(
        """select a.sid, b.sid other from sales a join sales b on a.sshop <=> b.sshop and
        a.sitem <=> b.sitem and a.sid > b.sid""",
        one(
            """select a.sid, b.sid other, a.rowid s1, b.rowid s2 from sales a, sales b""",
            {"_0": "s1.sid", "other": "s2.sid"},
            "s1.sshop s2.sshop s1.sitem s2.sitem s1.sid s2.sid",
        ),
        """select a.sid, b.sid from sales a join sales b on a.sshop is not distinct from b.sshop
        and a.sitem is not distinct from b.sitem and a.sid > b.sid""",
    ),
    "limit and offset": Case(
        "select sid, sprice from sales order by sprice desc nulls last, sid limit 5 offset 2",
        one(
            "select sid, rowid s from sales",
            {"sid": "sid", "sprice": "sprice"},
            "sid sprice",
            "sales.sid sales.sprice",
        ),
    ),
    "a sample": Case(
        "select sid, sqty from sales tablesample (50 percent) repeatable (5) where sqty > 1",
        one("select sid, rowid s from sales", {"sid": "sid", "sqty": "sqty"}, "sqty"),
        "",
    ),
    "aggregates of all kinds": Case(
        """select hregion, count(distinct sitem) a, sum(sprice) filter (where sqty > 4) b,
        max_by(sid, sday * 1000 + sid) c, count(sprice) d, count(distinct sshop, sday) e,
        bool_or(sqty > 8) f from sales join shops on sshop = hid group by hregion""",
        one(
            f"select hregion, s.rowid s, h.rowid h from {JOINED}",
            {
                "hregion": "hregion",
                "a": "sitem",
                "b": "sprice sqty",
                "c": "sid sday",
                "d": "sprice",
                "e": "sshop sday",
                "f": "sqty",
            },
            f"{ON} hregion",
        ),
        """select hregion, count(distinct sitem) a, sum(sprice) filter (where sqty > 4) b,
        max_by(sid, sday * 1000 + sid) c, count(sprice) d, count(distinct (sshop, sday)) e,
        bool_or(sqty > 8) f from sales join shops on sshop = hid group by hregion""",
    ),
    "distinct": Case(
        "select distinct sshop, sitem from sales where sday < 9",
        one(
            "select sshop, sitem, rowid s from sales where sday < 9",
            {"sshop": "sshop", "sitem": "sitem"},
            "sshop sitem sday",
        ),
    ),
    "groups of expressions": Case(
        """select coalesce(sshop, 0) + 1 shop, if(sqty > 5, 'many', 'few') size, sum(sprice) v
        from sales group by all order by 1, 2""",
        one(
            """select coalesce(sshop, 0) + 1 shop, case when sqty > 5 then 'many' else 'few' end
            size, rowid s from sales""",
            {"shop": "sshop", "size": "sqty", "v": "sprice"},
            "sshop sqty",
        ),
        """select coalesce(sshop, 0) + 1 shop, case when sqty > 5 then 'many' else 'few' end size,
        sum(sprice) v from sales group by all""",
    ),
    "all rows": Case(
        """select count(*) n, sum(sqty) q, max(sid) - min(sid) span from sales where sday > 3""",
        one(
            "select rowid s from sales where sday > 3",
            {"n": ALL_SALES, "q": "sqty", "span": "sid"},
            "sday",
        ),
    ),
    "names in sets": Case(
        """select hid, hid from shops intersect select sshop, sitem from sales""",
        one(
            """select hid _0, hid _1, h.rowid h, s.rowid s from shops h join sales s on hid = sshop
            and hid = sitem""",
            {"_0": "hid sshop sitem", "_1": "hid sshop sitem"},
            "hid sshop sitem",
        ),
    ),
    "predicates in a list": Case(
        """select sid, exists (select 1 from returns where rsid = sid) back,
        case when sitem in (select iid from items where ikind = 'toy') then sqty else 0 end toys
        from sales where sqty > 4""",
        one(
            """select sid, rowid s, (select list(r.rowid) from returns r where rsid = sid) r,
            (select list(i.rowid) from items i where iid = sitem) i from sales""",
            {"sid": "sid", "back": "sid rsid", "toys": "sitem sqty iid ikind"},
            "sqty",
            loose="back toys",
        ),
    ),
    "in groups": Case(
        """select sshop, max(sitem) m from sales group by sshop
        having max(sitem) in (select iid from items where ikind <> 'book')""",
        one(
            "select sshop, rowid s from sales",
            {"sshop": "sshop", "m": "sitem"},
            "sshop sitem",
            "items.iid items.ikind",
        ),
    ),
    "scalar in a join": Case(
        """select sid, hcity from sales join shops on sshop = hid
        and sday > (select min(rday) from returns where rqty > 1)""",
        one(
            """select sid, s.rowid s, h.rowid h, (select list(rowid) from returns where rqty > 1) r
            from sales s join shops h on sshop = hid""",
            {"sid": "sid", "hcity": "hcity"},
            "sshop hid sday rday",
            "returns.rqty",
        ),
    ),
    "nothing": Case(
        "select sid, sum(sqty) q from sales where sday > 99 group by sid",
        one("select sid, rowid s from sales where sday > 99", {"sid": "sid", "q": "sqty"}),
    ),
    "stack": Case(
        "select treg, q, v from targets lateral view stack(2, 'one', tq1, 'two', tq2) x as q, v",
        one(
            "select treg, rowid t from targets",
            {"treg": "treg", "q": "tq1 tq2", "v": "tq1 tq2"},
            orders="tq1 tq2",
        ),
        "select treg, 'one', tq1 from targets union all select treg, 'two', tq2 from targets",
    ),
    "subqueries in subqueries": Case(
        """select iname from items where iid in (select sitem from sales where sprice >
        (select avg(sprice) from sales where sshop in (select hid from shops where
        hregion = 'south')))""",
        one(
            "select iname, rowid i from items",
            {"iname": "iname"},
            "iid",
            "sales.sitem sales.sprice sales.sshop shops.hid shops.hregion",
        ),
    ),
}
