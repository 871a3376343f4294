"""Methods of pandas, each a small program: what it reads is known by trying."""

import numpy as np
import pandas as pd

METHODS = {
    "getcols": lambda d: d[["x", "y"]],
    "getcol": lambda d: d["x"],
    "mask": lambda d: d[d["y"] > 25],
    "slice": lambda d: d[1:4],
    "attr": lambda d: d.x,
    "loc_mask": lambda d: d.loc[d["y"] > 25, ["x", "z"]],
    "loc_col": lambda d: d.loc[:, "x"],
    "iloc": lambda d: d.iloc[[2, 0, 1]],
    "iloc2": lambda d: d.iloc[1:4, 1:3],
    "iloc_row": lambda d: d.iloc[1],
    "iloc_cell": lambda d: d.iloc[1, 2],
    "iat": lambda d: d.iat[3, 1],
    "query": lambda d: d.query("y > 25"),
    "filter": lambda d: d.filter(items=["x", "z"]),
    "head": lambda d: d.head(3),
    "tail": lambda d: d.tail(2),
    "sample": lambda d: d.sample(3, random_state=1),
    "dropna": lambda d: d.dropna(),
    "dropna_cols": lambda d: d.dropna(axis=1),
    "dropdup": lambda d: d.drop_duplicates("k"),
    "sort": lambda d: d.sort_values("x"),
    "sort2": lambda d: d.sort_values(["k", "y"], ascending=[False, True]),
    "sort_ign": lambda d: d.sort_values("y", ascending=False, ignore_index=True),
    "sort_index": lambda d: d.sort_index(ascending=False),
    "nlargest": lambda d: d.nlargest(2, "y"),
    "drop_cols": lambda d: d.drop(columns=["k"]),
    "rename": lambda d: d.rename(columns={"x": "q"}),
    "reset": lambda d: d.reset_index(),
    "reset_drop": lambda d: d.reset_index(drop=True),
    "set_index": lambda d: d.set_index("k"),
    "set_index2": lambda d: d.set_index(["k", "y"]),
    "setreset": lambda d: d.set_index("k").reset_index(),
    "reindex_cols": lambda d: d.reindex(columns=["z", "x", "new"]),
    "reindex": lambda d: d.reset_index(drop=True).reindex([3, 1, 9]),
    "add": lambda d: d[["x", "y"]] + 1,
    "add2": lambda d: d["x"] + d["y"],
    "addframe": lambda d: d[["x", "y"]] * d[["x", "y"]],
    "sub_mean": lambda d: d["x"] - d["x"].mean(),
    "frame_sub_mean": lambda d: d[["x", "y", "z"]] - d[["x", "y", "z"]].mean(),
    "cmp": lambda d: d["x"] > 2,
    "align": lambda d: (
        d["x"].reset_index(drop=True).iloc[1:] + d["y"].reset_index(drop=True).iloc[:4]
    ),
    "neg": lambda d: -d["x"],
    "abs": lambda d: d[["x"]].abs(),
    "round": lambda d: d["x"].round(),
    "astype": lambda d: d["y"].astype(float),
    "fillna": lambda d: d.fillna(0) if d["k"].dtype == object else d[["x"]].fillna(0),
    "fillna_s": lambda d: d["x"].fillna(d["y"]),
    "fillna_mean": lambda d: d["x"].fillna(d["x"].mean()),
    "ffill": lambda d: d[["x", "z"]].ffill(),
    "bfill": lambda d: d["x"].bfill(),
    "where": lambda d: d["x"].where(d["y"] > 25),
    "where_o": lambda d: d["x"].where(d["y"] > 25, d["z"]),
    "mask_m": lambda d: d["x"].mask(d["y"] > 25, -1),
    "clip": lambda d: d["x"].clip(1.5, 4),
    "replace": lambda d: d["y"].replace(20, 7),
    "isna": lambda d: d.isna(),
    "isin": lambda d: d["k"].isin(["a"]),
    "between": lambda d: d["y"].between(15, 45),
    "npsqrt": lambda d: np.sqrt(d["x"]),
    "npadd": lambda d: np.add(d["x"], d["y"]),
    "sum": lambda d: d[["x", "y"]].sum(),
    "ssum": lambda d: d["x"].sum(),
    "mean1": lambda d: d[["x", "y", "z"]].mean(axis=1),
    "max": lambda d: d[["x", "y"]].max(),
    "describe": lambda d: d[["x", "y"]].describe(),
    "quant": lambda d: d["x"].quantile(0.3),
    "quant2": lambda d: d[["x", "y"]].quantile([0.3, 0.5]),
    "corr": lambda d: d[["x", "y", "z"]].corr(),
    "agg": lambda d: d.agg({"x": "sum", "y": "mean"}),
    "agg2": lambda d: d[["x", "y"]].agg(["sum", "mean"]),
    "count": lambda d: d.count(),
    "nunique": lambda d: d.nunique(),
    "len": lambda d: d["k"].str.len(),
    "upper": lambda d: d["k"].str.upper(),
    "cumsum": lambda d: d[["x", "y"]].cumsum(),
    "diff": lambda d: d["y"].diff(),
    "shift": lambda d: d.shift(1),
    "shift-2": lambda d: d["x"].shift(-2),
    "pct": lambda d: d["y"].pct_change(),
    "rank": lambda d: d["y"].rank(),
    "rolling": lambda d: d[["x", "y"]].rolling(3, min_periods=1).sum(),
    "rollc": lambda d: d["y"].rolling(3, center=True).mean(),
    "expanding": lambda d: d["y"].expanding().mean(),
    "ewm": lambda d: d["y"].ewm(span=3).mean(),
    "vc": lambda d: d["k"].value_counts(),
    "dup": lambda d: d["k"].duplicated(),
    "unique": lambda d: d["y"].unique(),
    "gsum": lambda d: d.groupby("k").sum(),
    "gsum1": lambda d: d.groupby("k")["x"].sum(),
    "gattr": lambda d: d.groupby("k").x.mean(),
    "gas": lambda d: d.groupby("k", as_index=False)[["x", "y"]].mean(),
    "gagg": lambda d: d.groupby("k").agg(t=("x", "sum"), m=("y", "max")),
    "gaggd": lambda d: d.groupby("k").agg({"x": "sum", "y": ["min", "max"]}),
    "gaggl": lambda d: d.groupby("k")["x"].agg(["sum", "mean"]),
    "gsize": lambda d: d.groupby("k").size(),
    "gfirst": lambda d: d.groupby("k").first(),
    "gnth": lambda d: d.groupby("k").nth(1),
    "ghead": lambda d: d.groupby("k").head(1),
    "gtrans": lambda d: d.groupby("k")["x"].transform("mean"),
    "gcum": lambda d: d.groupby("k")["y"].cumsum(),
    "grank": lambda d: d.groupby("k")["y"].rank(),
    "gshift": lambda d: d.groupby("k")["y"].shift(),
    "gdiff": lambda d: d.groupby("k")["y"].diff(),
    "gfilter": lambda d: d.groupby("k").filter(lambda g: len(g) > 1),
    "gser": lambda d: d["x"].groupby(d["k"]).sum(),
    "glambda": lambda d: d.groupby("k")["x"].agg(lambda s: s.sum()),
    "gapply": lambda d: d.groupby("k")[["x", "y"]].apply(lambda g: g["y"].sum()),
    "gtwo": lambda d: d.groupby(["k", "y"])["x"].sum(),
    "gunstack": lambda d: d.groupby(["k", "y"])["x"].sum().unstack(),
    "gcount": lambda d: d.groupby("k").count(),
    "gsort": lambda d: d.groupby("k", sort=False)["x"].sum(),
    "merge": lambda d: d.merge(pd.DataFrame({"k": ["a", "c", "e"], "v": [1, 2, 3]}), on="k"),
    "merge_left": lambda d: d.merge(
        pd.DataFrame({"k": ["a", "c", "a"], "x": [1, 2, 3]}), on="k", how="left"
    ),
    "merge_self": lambda d: d.merge(d, on="k", suffixes=("", "_r")),
    "merge_outer": lambda d: d[["k", "x"]].merge(d[["k", "y"]].iloc[:2], how="outer"),
    "merge_idx": lambda d: d.reset_index(drop=True).merge(
        d[["y"]].reset_index(drop=True), left_index=True, right_index=True
    ),
    "join": lambda d: d.reset_index(drop=True)[["x"]].join(
        d.reset_index(drop=True)[["y"]].iloc[::2]
    ),
    "join_on": lambda d: d[["k", "x"]].join(d.groupby("k")[["y"]].sum(), on="k"),
    "concat": lambda d: pd.concat([d, d.iloc[:2]]),
    "concat_ign": lambda d: pd.concat([d, d], ignore_index=True),
    "concat1": lambda d: pd.concat([d[["x"]], d[["y"]]], axis=1),
    "concat_k": lambda d: pd.concat([d, d], keys=["p", "q"]),
    "melt": lambda d: d.melt(id_vars="k"),
    "pivot_table": lambda d: d.pivot_table(index="k", values="y", aggfunc="sum"),
    "pivot_table2": lambda d: d.pivot_table(index="k", columns="y", values="x"),
    "pivot": lambda d: d.pivot(index="y", columns="k", values="x"),
    "stack": lambda d: d[["y", "x"]].stack(),
    "T": lambda d: d[["x", "y"]].T,
    "dummies": lambda d: pd.get_dummies(d["k"]),
    "dummies2": lambda d: pd.get_dummies(d, columns=["k"]),
    "explode": lambda d: d.explode("k"),
    "crosstab": lambda d: pd.crosstab(d["k"], d["y"]),
    "cut": lambda d: pd.cut(d["y"], [0, 25, 100]),
    "assign": lambda d: d.assign(w=d["x"] * 2),
    "assign_f": lambda d: d.assign(w=lambda t: t["x"] * 2),
    "eval": lambda d: d.eval("w = x + y"),
    "apply1": lambda d: d.apply(lambda r: r["x"] + r["y"], axis=1),
    "apply0": lambda d: d[["x", "y"]].apply(lambda c: c.sum()),
    "map": lambda d: d["x"].map(lambda v: v * 2),
    "map_d": lambda d: d["k"].map({"a": 1}),
    "combine_first": lambda d: d[["x"]].combine_first(d[["z"]].rename(columns={"z": "x"})),
    "to_numpy": lambda d: d["x"].to_numpy(),
    "values": lambda d: d[["x", "z"]].values,
    "copy": lambda d: d.copy(),
    "interp": lambda d: d["x"].interpolate(),
    "df_np": lambda d: pd.DataFrame(d[["x", "z"]].to_numpy() * 2, columns=["p", "q"]),
    "df_dict": lambda d: pd.DataFrame({"p": d["x"], "q": d["y"]}),
    "ser_np": lambda d: pd.Series(d["x"].to_numpy()),
    "resample": lambda d: d.set_axis(pd.date_range("2024", periods=len(d))).y.resample("2D").sum(),
    "mode": lambda d: d["y"].mode(),
    "idxmax": lambda d: d[["x", "y"]].idxmax(),
    "squeeze": lambda d: d[["x"]].squeeze(),
    "select_dtypes": lambda d: d.select_dtypes("number"),
    "take": lambda d: d.take([2, 0]),
    "pop": lambda d: d.pop("x"),
    "pipe": lambda d: d.pipe(lambda t: t["x"] * 2),
    "compare": lambda d: d["x"].eq(d["y"]),
    "dropcol2": lambda d: d.drop([d.index[0]]),
    "np_where": lambda d: np.where(d["y"] > 25, d["x"], d["z"]),
    "cat": lambda d: d["k"].astype("category").cat.codes,
}


def method(name):
    def deco(f):
        METHODS[name] = f
        return f

    return deco


@method("set_new")
def _(d):
    d["w"] = d["x"] * 2
    return d


@method("set_old")
def _(d):
    d["x"] = d["x"] + d["y"]
    return d


@method("set_const")
def _(d):
    d["x"] = 1
    return d


@method("set_loc")
def _(d):
    d.loc[d["y"] > 25, "x"] = d["z"]
    return d


@method("set_loc0")
def _(d):
    d.loc[d["y"] > 25, "x"] = 0
    return d


@method("set_iloc")
def _(d):
    d.iloc[1:3, 1] = d["z"].iloc[3:5].to_numpy()
    return d


@method("set_iat")
def _(d):
    d.iat[1, 1] = d["y"].sum()
    return d


@method("set_at")
def _(d):
    d = d.reset_index(drop=True)
    d.at[1, "x"] = 9.0
    return d


@method("set_mask")
def _(d):
    d = d[["x", "z"]].copy()
    d[d["x"] > 2] = 0.0
    return d


@method("set_two")
def _(d):
    d[["x", "z"]] = d[["z", "x"]]
    return d


@method("insert")
def _(d):
    d.insert(0, "w", d["y"])
    return d


@method("del")
def _(d):
    del d["x"]
    return d


@method("inplace_fill")
def _(d):
    d["x"] = d["x"].fillna(1)
    d.dropna(inplace=True)
    return d


@method("inplace_sort")
def _(d):
    d.sort_values("y", ascending=False, inplace=True)
    d.reset_index(drop=True, inplace=True)
    return d


@method("iadd")
def _(d):
    d["x"] += 1
    return d


@method("series_iadd")
def _(d):
    s = d["x"].copy()
    s += 1
    return s


@method("update")
def _(d):
    d.update(d[["z"]].rename(columns={"z": "x"}))
    return d


@method("series_set")
def _(d):
    s = d["x"].copy()
    s.iloc[0] = 5
    return s


@method("alias")
def _(d):
    s = d["y"]
    d.iloc[0, 2] = 5
    return s


@method("alias2")
def _(d):
    s = d["y"]
    s.iloc[0] = 5
    return d


@method("columns")
def _(d):
    d = d[["x", "y"]]
    d.columns = ["p", "q"]
    return d * 2
