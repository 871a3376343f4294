"""Estimators on tracked arrays: what a program sees of them, and what the store knows."""

import copy
import pickle
import threading
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")
import sklearn
from sklearn import (
    base,
    cluster,
    compose,
    decomposition,
    ensemble,
    exceptions,
    feature_extraction,
    feature_selection,
    frozen,
    linear_model,
    model_selection,
    multiclass,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)

import dslog
from dslog.capture.foreign.estimator import watch_class, watch_estimators
from dslog.capture.numpy.array import TrackedArray, plain_values
from dslog.capture.numpy.memory import TrackedScalar

RANDOM = np.random.default_rng(5)
X = RANDOM.random((8, 3))
Y = np.array([0, 1, 0, 1, 1, 0, 0, 1])


pytestmark = pytest.mark.filterwarnings("ignore::dslog.capture.leaks.LeakWarning")


@pytest.fixture(autouse=True)
def _watched():
    undo = watch_estimators(sklearn)
    yield
    undo()


@pytest.fixture
def x(store):
    return store.track(X.copy(), "x")


@pytest.fixture
def y(store):
    return store.track(Y.copy(), "y")


def is_tracked(value):
    return isinstance(value, (TrackedArray, TrackedScalar))


def operations(store):
    return [one.name for one in store.operations()]


def back(store, result, to="x", cell=None):
    cell = (0,) * len(result.shape) if cell is None else cell
    return store.backward(result.name, [cell] if cell else np.ones((), bool), to=to)


def test_what_is_fitted_is_arrays_with_names(store, x):
    scaler = preprocessing.StandardScaler()
    assert scaler.fit(x) is scaler
    assert is_tracked(scaler.mean_)
    assert scaler.mean_.name == "x.StandardScaler.mean_"
    assert scaler.scale_.name == "x.StandardScaler.scale_"
    (fit,) = store.operations()
    assert fit.name == "StandardScaler.fit"
    assert fit.inputs == ("x",)
    assert {"x.StandardScaler.mean_", "x.StandardScaler.var_"} <= set(fit.outputs)
    assert fit.args == {"estimator": "StandardScaler()"}
    assert np.array_equal(plain_values(scaler.mean_), X.mean(axis=0))
    assert scaler.n_features_in_ == 3
    assert not is_tracked(scaler.n_features_in_)


def test_predictions_lead_back_to_what_was_fitted_on(store, x, y):
    model = linear_model.LogisticRegression(C=2.0).fit(x, y)
    new = store.track(X[:2] + 1, "new")
    guess = model.predict(new)
    assert back(store, guess, "new").indices().tolist() == [[0, 0], [0, 1], [0, 2]]
    assert len(back(store, guess, "x").indices()) == X.size
    assert len(back(store, guess, "y").indices()) == Y.size
    assert back(store, guess, "x").exact
    assert store.operations()[0].args == {"estimator": "LogisticRegression(C=2.0)"}


def test_only_the_outermost_call_is_recorded(store, x, y):
    model = linear_model.LogisticRegression().fit(x, y)
    model.predict_log_proba(x)
    model.score(x, y)
    names = ["fit", "predict_log_proba", "score"]
    assert operations(store) == [f"LogisticRegression.{name}" for name in names]


def test_a_fit_that_transforms_is_two_operations(store, x):
    scaled = preprocessing.StandardScaler().fit_transform(x)
    assert operations(store) == ["StandardScaler.fit", "StandardScaler.fit_transform"]
    assert {tuple(cell) for cell in back(store, scaled).indices()} == {(i, 0) for i in range(8)}


def test_a_fit_that_predicts_gives_its_attribute(x):
    model = cluster.KMeans(2, n_init=1, random_state=0)
    assert model.fit_predict(x) is model.labels_
    assert is_tracked(model.inertia_)
    assert isinstance(model.inertia_, float)


def test_scores_are_of_the_class_that_they_were(x, y):
    model = linear_model.LogisticRegression().fit(x, y)
    plain = linear_model.LogisticRegression().fit(X, Y).score(X, Y)
    score = model.score(x, y)
    assert is_tracked(score)
    assert isinstance(score, type(plain))
    assert score == plain


def test_plain_values_record_nothing(store):
    scaler = preprocessing.StandardScaler()
    assert type(scaler.fit_transform(X)) is np.ndarray
    assert type(scaler.mean_) is np.ndarray
    assert operations(store) == []


def test_a_fit_on_plain_values_forgets(x, y):
    forest = ensemble.RandomForestClassifier(3, random_state=0).fit(x, y)
    assert "_dslog_state" in vars(forest)
    forest.fit(X, Y)
    assert not any(map(is_tracked, vars(forest).values()))
    assert type(forest.predict(X)) is np.ndarray


def test_the_same_values_as_without(x, y):
    def all_of(x, y):
        forest = ensemble.RandomForestClassifier(3, random_state=0).fit(x, y)
        pca = decomposition.PCA(2, random_state=0).fit(x)
        search = model_selection.GridSearchCV(svm.SVC(), {"C": [0.5, 2]}, cv=2).fit(x, y)
        return [
            forest.predict_proba(x), forest.feature_importances_, pca.transform(x),
            pca.components_, pca.noise_variance_, search.predict(x), search.best_score_,
            search.best_estimator_.dual_coef_, search.cv_results_["mean_test_score"],
        ]  # fmt: skip

    for mine, theirs in zip(all_of(x, y), all_of(X, Y), strict=True):
        assert is_tracked(mine)
        assert isinstance(mine, type(theirs))
        assert np.asarray(plain_values(mine)).tobytes() == np.asarray(theirs).tobytes()


ERRORS = {
    "not fitted": lambda x, y: preprocessing.StandardScaler().transform(x),
    "a wrong shape": lambda x, y: preprocessing.StandardScaler().fit(x).transform(x[:, :2]),
    "no such argument": lambda x, y: preprocessing.StandardScaler().fit(x, colour=1),
    "too few arguments": lambda x, y: linear_model.LinearRegression().fit(x),
    "lengths differ": lambda x, y: linear_model.LinearRegression().fit(x, y[:3]),
    "a bad parameter": lambda x, y: linear_model.Ridge(alpha=-1).fit(x, y),
    "no probabilities": lambda x, y: svm.LinearSVC().fit(x, y).predict_proba(x),
    "a line": lambda x, y: preprocessing.StandardScaler().fit(x[0]),
    "no coefficients": lambda x, y: svm.SVC().fit(x, y).coef_,
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_the_same(name, x, y):
    with pytest.raises(Exception) as plain:  # noqa: PT011
        ERRORS[name](X, Y)
    with pytest.raises(Exception) as tracked:  # noqa: PT011
        ERRORS[name](x, y)
    assert (type(tracked.value), str(tracked.value)) == (type(plain.value), str(plain.value))


def test_a_fit_that_fails_leaves_what_was_there(x):
    scaler = preprocessing.StandardScaler().fit(x)
    mean = scaler.mean_
    with pytest.raises(ValueError, match="1D"):
        scaler.fit(x[0])
    assert is_tracked(mean)
    with pytest.raises(ValueError, match="1D"):
        scaler.partial_fit(x[0])
    assert not hasattr(scaler, "mean_") or is_tracked(scaler.mean_)


def test_no_method_is_inside_after_an_error(store, x):
    with pytest.raises(exceptions.NotFittedError):
        preprocessing.StandardScaler().transform(x)
    assert is_tracked(preprocessing.StandardScaler().fit(x).mean_)


# --- what others do with an estimator ------------------------------------------------------------


def test_copies_are_tracked_too(store, x, y):
    forest = ensemble.RandomForestClassifier(3, random_state=0).fit(x, y)
    for other in (copy.deepcopy(forest), copy.copy(forest)):
        guess = other.predict(X)
        assert is_tracked(guess)
        found = back(store, guess)
        assert len(found.indices()) == X.size
        assert not found.exact
    scaler = copy.deepcopy(preprocessing.StandardScaler().fit(x))
    assert back(store, scaler.transform(X)).exact


def test_what_is_read_of_a_tree_has_no_lineage(store, x, y):
    model = tree.DecisionTreeRegressor(random_state=0).fit(x, y)
    alone = tree.DecisionTreeRegressor(random_state=0).fit(X, Y)
    model.predict(x)
    assert not any(leak.loses for leak in store.leaks())
    assert model.tree_.threshold.tolist() == alone.tree_.threshold.tolist()
    assert "DecisionTreeRegressor.tree_" in {leak.way for leak in store.leaks() if leak.loses}
    assert not hasattr(tree.DecisionTreeRegressor(), "tree_")
    forest = ensemble.RandomForestRegressor(2, random_state=0).fit(x, y)
    del forest.estimators_[0].tree_
    with pytest.raises(AttributeError, match="tree_"):
        forest.estimators_[0].tree_  # noqa: B018 (reading is what is tested)


def test_pickles_hold_values(x, y):
    scaler = preprocessing.StandardScaler().fit(x)
    other = pickle.loads(pickle.dumps(scaler))
    assert type(other.mean_) is np.ndarray
    assert other.transform(X).tobytes() == plain_values(scaler.transform(x)).tobytes()
    forest = ensemble.RandomForestClassifier(3, random_state=0).fit(x, y)
    again = pickle.loads(pickle.dumps(forest)).predict(X)
    assert again.tolist() == plain_values(forest.predict(X)).tolist()


def test_clones_and_pictures(x):
    scaler = preprocessing.StandardScaler(with_std=False).fit(x)
    assert vars(base.clone(scaler)) == {"copy": True, "with_mean": True, "with_std": False}
    assert repr(scaler) == "StandardScaler(with_std=False)"
    assert scaler.get_params() == {"copy": True, "with_mean": True, "with_std": False}
    assert "StandardScaler" in scaler._repr_html_()


def test_parameters_may_be_tracked(store, x):
    start = store.track(X[:2].copy(), "start")
    model = cluster.KMeans(2, init=start, n_init=1, max_iter=1).fit(X)
    assert len(back(store, model.cluster_centers_, "start").indices()) == 6
    other = base.clone(cluster.KMeans(2, init=start, n_init=1)).fit(X)
    assert len(back(store, other.cluster_centers_, "start").indices()) == 6


def test_attributes_may_be_replaced(store, x):
    scaler = preprocessing.StandardScaler().fit(X)
    scaler.mean_ = store.track(scaler.mean_, "mean")
    assert back(store, scaler.transform(X), "mean").indices().tolist() == [[0]]


def test_writing_methods_get_copies(store, x):
    scaled = preprocessing.StandardScaler(copy=False).fit_transform(x)
    assert plain_values(x).tobytes() == X.tobytes()
    assert {tuple(cell) for cell in back(store, scaled).indices()} == {(i, 0) for i in range(8)}


def test_a_later_write_does_not_change_what_was_fitted(store, x):
    model = neighbors.KNeighborsRegressor(1).fit(x, X[:, 0])
    x[0] = 5.0
    distance, _ = model.kneighbors(X[:1])
    assert len(back(store, distance).indices()) <= 3


def test_a_graph_that_is_sparse_is_a_leak(store, x):
    found = preprocessing.OneHotEncoder().fit(x > 0.5).transform(x > 0.5)
    assert found.format == "csr"
    assert any(leak.way.startswith("OneHotEncoder") for leak in store.leaks())


def test_threads(store, x, y):
    model = linear_model.LogisticRegression().fit(x, y)
    results = []

    def predict():
        results.extend(model.predict_proba(x) for _ in range(5))

    threads = [threading.Thread(target=predict) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 20
    assert all(map(is_tracked, results))
    assert is_tracked(model.coef_)


@pytest.mark.parametrize("first", [False, True], ids=["plain first", "tracked first"])
def test_fits_that_go_on_write_into_what_they_find(first, store, x, y):
    """Naive Bayes writes into its arrays, a network into those of its lists."""
    for make, attribute in (
        (naive_bayes.GaussianNB, "theta_"),
        (lambda: neural_network.MLPClassifier((2,), random_state=0), "coefs_"),
    ):
        model, plain = make(), make()
        start = (x, y) if first else (X, Y)
        model.partial_fit(*start, classes=[0, 1]).partial_fit(x, y)
        plain.partial_fit(X, Y, classes=[0, 1]).partial_fit(X, Y)
        mine, theirs = getattr(model, attribute), getattr(plain, attribute)
        mine, theirs = (mine[0], theirs[0]) if attribute == "coefs_" else (mine, theirs)
        assert is_tracked(mine)
        assert plain_values(mine).tobytes() == theirs.tobytes()
        assert len(back(store, model.predict_proba(X)).indices()) == X.size


def test_a_warm_start_goes_on(store, x, y):
    model = linear_model.SGDRegressor(warm_start=True, random_state=0, max_iter=2, tol=None)
    other = store.track(X + 1, "other")
    model.fit(x, X[:, 0]).fit(other, X[:, 0])
    assert len(back(store, model.coef_).indices()) == X.size
    model.set_params(warm_start=False).fit(other, X[:, 0])
    assert not len(back(store, model.coef_).indices())


def test_a_forest_that_fails_to_fit_stays_what_it_was(store, x, y):
    forest = ensemble.RandomForestClassifier(2, random_state=0).fit(x, y)
    with pytest.raises(ValueError, match="inconsistent"):
        forest.fit(x, Y[:3])
    assert len(back(store, forest.predict(X)).indices()) == X.size


# --- state that is no array ----------------------------------------------------------------------


OPAQUE = {
    "forest": lambda: ensemble.RandomForestClassifier(3, random_state=0),
    "jobs": lambda: ensemble.RandomForestClassifier(3, random_state=0, n_jobs=2),
    "boosted": lambda: ensemble.GradientBoostingClassifier(n_estimators=2, random_state=0),
    "histograms": lambda: ensemble.HistGradientBoostingClassifier(max_iter=2),
    "tree": lambda: tree.DecisionTreeClassifier(random_state=0),
    "search": lambda: model_selection.GridSearchCV(svm.SVC(), {"C": [0.5, 2]}, cv=2),
    "vote": lambda: ensemble.VotingClassifier(
        [
            ("a", tree.DecisionTreeClassifier(random_state=0)),
            ("b", linear_model.LogisticRegression()),
        ]
    ),
    "stack": lambda: ensemble.StackingClassifier(
        [
            ("a", tree.DecisionTreeClassifier(random_state=0)),
            ("b", linear_model.LogisticRegression()),
        ],
        cv=2,
    ),
    "bagging": lambda: ensemble.BaggingClassifier(n_estimators=2, random_state=0, n_jobs=2),
    "one against all": lambda: multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
    "radius": lambda: neighbors.RadiusNeighborsClassifier(5.0),
}


@pytest.mark.parametrize("name", OPAQUE)
def test_nothing_is_lost_where_state_is_no_array(name, store, x, y):
    model = OPAQUE[name]().fit(x, y)
    guess = model.predict(X)
    assert is_tracked(guess)
    for source, size in (("x", X.size), ("y", Y.size)):
        found = back(store, guess, source)
        assert len(found.indices()) == size
        assert not found.exact
    assert plain_values(guess).tolist() == OPAQUE[name]().fit(X, Y).predict(X).tolist()
    assert len(back(store, model.predict(x)).indices()) == X.size


def test_what_is_computed_from_state_is_tracked(store, x, y):
    forest = ensemble.RandomForestClassifier(3, random_state=0).fit(x, y)
    assert len(back(store, forest.feature_importances_).indices()) == X.size
    machine = svm.SVC(kernel="linear").fit(x, y)
    assert back(store, machine.coef_, cell=(0, 1)).exact
    assert not hasattr(svm.SVC().fit(x, y), "coef_")


def test_estimators_inside_of_others(store, x, y):
    search = model_selection.GridSearchCV(linear_model.Ridge(), {"alpha": [1.0]}, cv=2).fit(x, y)
    assert search.best_estimator_.coef_.name == "x.GridSearchCV.best_estimator_.coef_"
    assert len(back(store, search.best_estimator_.predict(X)).indices()) == X.size
    vote = OPAQUE["vote"]().fit(x, y)
    assert vote.named_estimators_["b"] is vote.estimators_[1]
    assert is_tracked(vote.estimators_[1].coef_)
    forest = ensemble.RandomForestClassifier(3, random_state=0).fit(x, y)
    assert len(back(store, forest.estimators_[0].predict(X)).indices()) == X.size


def test_estimators_that_were_fitted_before(store, x, y):
    inner = linear_model.Lasso(0.001).fit(x, y)
    chosen = feature_selection.SelectFromModel(inner, prefit=True).transform(X)
    assert len(back(store, chosen).indices()) == X.size
    still = frozen.FrozenEstimator(linear_model.LogisticRegression().fit(x, y))
    assert is_tracked(still.predict(X))
    fitted = operations(store)
    still.fit(x, y)
    assert operations(store) == fitted
    outer = ensemble.VotingClassifier([("a", still)]).fit(X, Y)
    assert len(back(store, outer.predict(X)).indices()) == X.size


def test_a_fitted_estimator_as_an_argument(store, x):
    known = neighbors.NearestNeighbors(n_neighbors=2).fit(x)
    again = neighbors.NearestNeighbors(n_neighbors=2).fit(known)
    distances, _ = again.kneighbors(X)
    expected, _ = known.kneighbors(X)
    assert np.array_equal(plain_values(distances), plain_values(expected))
    for cell in np.ndindex(distances.shape):
        needed = back(store, expected, cell=cell).indices().tolist()
        assert back(store, distances, cell=cell).indices().tolist() == needed


def test_items_come_one_by_one(store, x, y):
    model = ensemble.GradientBoostingRegressor(n_estimators=3, random_state=0).fit(x, y)
    plain = ensemble.GradientBoostingRegressor(n_estimators=3, random_state=0).fit(X, Y)
    steps = model.staged_predict(x)
    assert iter(steps) is steps
    for mine, theirs in zip(steps, plain.staged_predict(X), strict=True):
        assert plain_values(mine).tobytes() == theirs.tobytes()
        assert len(back(store, mine).indices()) == X.size


# --- estimators that pass arrays on --------------------------------------------------------------


def test_pipelines_are_their_steps(store, x, y):
    line = pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LinearRegression())
    guess = line.fit(x, Y.astype(float)).predict(store.track(X[:2].copy(), "new"))
    assert back(store, guess, "new").indices().tolist() == [[0, 0], [0, 1], [0, 2]]
    assert back(store, guess).exact
    assert is_tracked(line[0].mean_)
    assert operations(store)[-2:] == ["StandardScaler.transform", "LinearRegression.predict"]
    assert isinstance(line.score(x, y), float)


def test_columns_and_unions(store, x):
    scaled = compose.make_column_transformer(
        (preprocessing.StandardScaler(), [0]), (preprocessing.MinMaxScaler(), [1, 2])
    ).fit_transform(x)
    assert {tuple(cell) for cell in back(store, scaled, cell=(0, 2)).indices()} == {
        (i, 2) for i in range(8)
    }
    both = pipeline.make_union(preprocessing.StandardScaler(), preprocessing.MinMaxScaler())
    joined = both.fit_transform(x)
    assert {tuple(cell) for cell in back(store, joined, cell=(1, 4)).indices()} == {
        (i, 1) for i in range(8)
    }
    with_jobs = pipeline.make_union(preprocessing.StandardScaler(), n_jobs=2).fit(x)
    assert len(back(store, with_jobs.transform(x)).indices()) == X.size


def test_functions_are_followed(store, x):
    result = preprocessing.FunctionTransformer(np.log1p).fit_transform(x)
    assert back(store, result, cell=(1, 2)).indices().tolist() == [[1, 2]]


class Mine(base.TransformerMixin, base.BaseEstimator):
    def fit(self, x, y=None):
        self.low_ = x.min(axis=0)
        return self

    def transform(self, x):
        return x - self.low_


class Changed(preprocessing.StandardScaler):
    pass


def test_estimators_from_elsewhere(store, x):
    result = Mine().fit_transform(x)
    assert {tuple(cell) for cell in back(store, result).indices()} == {(i, 0) for i in range(8)}
    scaled = Changed().fit(x).transform(x)
    assert not back(store, scaled).exact
    assert len(back(store, scaled).indices()) == X.size


class Noted(preprocessing.StandardScaler):
    def fit(self, x, y=None):
        self.seen_ = x.max()
        return super().fit(x, y)


def test_methods_that_call_those_of_their_base(store, x):
    scaler = Noted().fit(x)
    assert is_tracked(scaler.seen_)
    assert is_tracked(scaler.mean_)
    assert back(store, scaler.transform(x)[0, 0], "x", cell=()).indices().size


def test_after_a_store_is_closed_values_are_plain():
    with dslog.open(":memory:") as store:
        x = store.track(X.copy(), "x")
        scaler = preprocessing.StandardScaler().fit(x)
        forest = ensemble.RandomForestRegressor(2, random_state=0).fit(x, X[:, 0])
    assert np.asarray(scaler.transform(X)).tolist() == np.asarray(scaler.transform(x)).tolist()
    assert not is_tracked(forest.fit(x, X[:, 0]).predict(x))


def test_inside_of_an_operation(store, x):
    with dslog.operation("prepare", store):
        scaled = preprocessing.StandardScaler().fit_transform(x).named("scaled")
    assert operations(store) == ["prepare"]
    assert {tuple(cell) for cell in back(store, scaled).indices()} == {(i, 0) for i in range(8)}


# --- watching ------------------------------------------------------------------------------------


def fields(*classes):
    return [dict(vars(owner)) for cls in classes for owner in cls.__mro__]


def test_afterwards_classes_are_as_before():
    classes = (
        preprocessing.StandardScaler,
        svm.SVC,
        pipeline.Pipeline,
        ensemble.AdaBoostClassifier,
    )
    watched = fields(*classes)
    undo = watch_estimators(sklearn)
    assert fields(*classes) == watched
    undo()
    assert fields(*classes) == watched


def test_watching_one_class():
    before = fields(decomposition.PCA, linear_model.Lasso)
    one, two = watch_class(decomposition.PCA), watch_class(linear_model.Lasso)
    one()
    one()
    two()
    assert fields(decomposition.PCA, linear_model.Lasso) == before


def test_warnings_are_none(x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ensemble.RandomForestClassifier(3).fit(x, y).predict(x)
        preprocessing.StandardScaler().fit_transform(x)


def test_numbers_in_dicts_are_read(store):
    x = store.track(np.array([1.0, 2.0, 3.0]), "x")
    rows = [{"p": x[0]}, {"p": x[1], "q": x[2]}]
    made = feature_extraction.DictVectorizer(sparse=False).fit_transform(rows)
    assert plain_values(made).tolist() == [[1, 0], [2, 3]]
    found = store.backward(store.name_of(made), (1, 1), to="x")
    assert (found.count, found.exact, found.complete) == (3, False, True)


def test_what_a_fit_chooses_is_a_decision(store):
    x, y = store.track(X, "x"), store.track(Y, "y")
    grid = {"n_neighbors": [1, 2]}
    search = model_selection.GridSearchCV(neighbors.KNeighborsClassifier(), grid, cv=2).fit(x, y)
    assert search.best_params_["n_neighbors"] in (1, 2)
    noted = {(leak.array, leak.way, leak.loses) for leak in store.leaks()}
    assert noted == {(name, "GridSearchCV.fit", False) for name in "xy"}
