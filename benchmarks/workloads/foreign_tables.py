"""Calls of libraries for tables and databases, one a line, and others that refuse what is no array.

They are like those of ``foreign_functions``, and take the same arrays.
"""

from __future__ import annotations

from collections.abc import Mapping

TABLES: Mapping[str, str] = {
    "pandas": """
pd.DataFrame(image, columns=list("abcdefg")).sum(axis=1).to_numpy()
pd.DataFrame([a, b]).to_numpy()
pd.DataFrame({"a": a, "m": a.mean()}).to_numpy()
pd.DataFrame({"a": iter(a)})["a"].to_numpy()
pd.DataFrame([{"p": v, "q": v * 2} for v in a[:3]]).to_numpy()
pd.DataFrame(list(zip(a, b)), columns=["p", "q"]).to_numpy()
pd.DataFrame(np.rec.fromarrays([a, b], names="p,q"))["p"].to_numpy()
pd.DataFrame.from_records([(v, w) for v, w in zip(a, b)]).to_numpy()
pd.DataFrame({"a": a})[a > a.mean()].to_numpy()
pd.DataFrame({"a": a}).loc[a > 0.5, "a"].to_numpy()
pd.DataFrame({"a": a}).iloc[words[0, 0]].to_numpy()
pd.DataFrame({"a": a}).assign(m=a.mean(), b=lambda d: d["a"] * b).to_numpy()
pd.DataFrame({"a": a}).set_index(words.ravel()[:10]).loc[1].to_numpy()
pd.DataFrame({"v": y}).groupby(c).mean().to_numpy()
(pd.DataFrame({"a": a}) * b[:, None]).to_numpy()
pd.Series(list(a)).sum()
pd.Series({"p": a[0], "q": a[1]}).to_numpy()
pd.Series(a[0], index=[0, 1]).to_numpy()
pd.Series(v * 2 for v in a).to_numpy()
pd.Series(a)[a > 0.5].to_numpy()
pd.Series(a).replace(a[0], 5.0).to_numpy()
pd.Series(a).clip(a.min() * 2, a.mean()).to_numpy()
pd.Series(a).fillna(a.mean()).sub(a.mean()).div(a.std()).to_numpy()
pd.Series(signal1).rolling(words[0, 0] + 1).mean().to_numpy()
pd.Series([0, 1, 2]).map(lambda i: a[i]).to_numpy()
pd.Series([0, 1, 2]).map(a.__getitem__).to_numpy()
pd.Series(c).map({c[0]: a[0], c[5]: a[1]}).to_numpy()
pd.Series(a).agg(["mean", lambda v: v.max() - a[0]]).to_numpy()
pd.Series([1.0, 2.0]).pipe(lambda _: a * 2)
pd.Categorical(list(c)).codes
pd.Index([a[0], a[1]]).to_numpy()
pd.date_range("2020", periods=words[0, 0] + 1).day.to_numpy()
pd.Timedelta(a[0], "D").total_seconds()
(a + pd.Series(b)).to_numpy()
np.where(pd.Series(a) > 0.5, a, 0)
""",
    "pyarrow": """
pa.array(a).to_numpy()
pa.array(list(a)).to_numpy()
pa.scalar(a[0]).as_py()
pa.table({"a": a, "b": b})["a"].to_numpy()
pa.Table.from_pydict({"a": a})["a"].to_pandas().to_numpy()
pa.record_batch([a], names=["a"]).column(0).to_numpy()
pa.py_buffer(a).to_pybytes()
""",
    "standard library": """
sqlite3.connect(":memory:").execute("select ?", (a[0],)).fetchone()
sqlite3.connect(":memory:").execute("select ? * 2", (a[0].item(),)).fetchone()
""",
    "scipy, others": """
sparse.linalg.splu(sparse.csc_matrix(spd)).solve(side)
sparse.linalg.factorized(sparse.csc_matrix(spd))(side)
stats.permutation_test((a, b), lambda p, q: p.mean() - q.mean(), n_resamples=9, rng=0).statistic
stats.cramervonmises_2samp(a, b).statistic
optimize.milp(side).x
""",
    "skimage.transform": """
transform.warp_polar(image, output_shape=(4, 4))
transform.rotate(image, 20, mode="wrap")
transform.pyramid_expand(image, upscale=2, order=1)
""",
    "sklearn, transformers": """
feature_extraction.DictVectorizer(sparse=False).fit_transform([{"p": a[0]}, {"p": a[1], "q": a[2]}])
preprocessing.TargetEncoder(cv=2, random_state=0, smooth=1.0).fit_transform(words, heights)
decomposition.SparsePCA(2, random_state=0, max_iter=3).fit_transform(X)
""",
    "sklearn, predictors": """
model_selection.GridSearchCV(neighbors.KNeighborsClassifier(), {"n_neighbors": [1, 2]}, cv=2).fit(X, c).best_params_
model_selection.GridSearchCV(linear_model.Ridge(), {"alpha": [0.1, 1]}, cv=2).fit(X, y).cv_results_["mean_test_score"]
""",
    "numpy": """
np.ma.array(image, dtype="f4").mean(axis=0)
np.ma.masked_where(image > 0.5, image, copy=False).sum(axis=1)
np.ma.array(image, mask=image > 0.5, keep_mask=False).filled(0)
""",
    "numba": """
neighbours(image)
""",
    "matplotlib": """
plt.Normalize()(a)
plt.get_cmap("viridis")(a)
""",
    "einops": """
einops.rearrange(colours, "h w c -> c (h w)")
einops.reduce(thick, "a (b p) c -> b c", "max", p=2)
einops.repeat(image, "h w -> h w c", c=2)
einops.einsum(square, side, "i j, j -> i")
einops.pack([square, spd], "* n")[0]
""",
    "cv2": """
cv2.GaussianBlur(image, (3, 3), 0)
cv2.resize(image, (4, 3))
cv2.threshold(pixels, 100, 255, cv2.THRESH_BINARY)
cv2.addWeighted(image, 0.5, picture, 0.5, 0)
cv2.rectangle(pixels, (0, 0), (2, 2), 255)
cv2.split(colours)
cv2.merge([image, picture])
cv2.calcHist([pixels], [0], None, [4], [0, 256])
""",
}
"""Expressions by library; einops and OpenCV are run where they are installed."""
