"""What fits and predictions read, against fits and predictions with one cell changed."""

import numpy as np
import pytest
from estimator_oracles import check

pytest.importorskip("sklearn")
import sklearn
from sklearn import (
    cluster,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    impute,
    isotonic,
    kernel_approximation,
    linear_model,
    mixture,
    naive_bayes,
    neighbors,
    neural_network,
    preprocessing,
    random_projection,
    svm,
    tree,
)

from dslog.capture.foreign.estimator import watch_estimators


@pytest.fixture(autouse=True)
def _watched():
    undo = watch_estimators(sklearn)
    yield
    undo()


RANDOM = np.random.default_rng(7)
X = RANDOM.random((7, 3)) + 0.5
Z = RANDOM.random((4, 3)) + 0.5
Y = X @ [1.0, -2.0, 0.5] + RANDOM.random(7) / 5
Y2 = np.stack([Y, Y**2 + X[:, 0]], axis=1)
C = np.array([0, 1, 2, 0, 1, 2, 0])
C[np.argsort(X[:, 0])] = [0, 0, 0, 1, 1, 2, 2]
W = RANDOM.random(7) + 0.5
H = X.copy()
H[1, 0] = H[4, 2] = np.nan
CODES = np.array([[0.0, 2], [1, 2], [0, 3], [2, 3], [1, 2]])


def uses(make, *methods, attributes="", then=(), fit=()):
    """A program: fit, give attributes, and what methods give for other rows."""

    def program(x, *more):
        estimator = make().fit(x, *more[: len(more) - 1])
        found = [getattr(estimator, name) for name in attributes.split()]
        return found + [getattr(estimator, method)(more[-1]) for method in methods]

    return program


SCALERS = {
    "StandardScaler": (preprocessing.StandardScaler, "mean_ var_ scale_"),
    "MinMaxScaler": (preprocessing.MinMaxScaler, ""),
    "MaxAbsScaler": (preprocessing.MaxAbsScaler, ""),
    "RobustScaler": (preprocessing.RobustScaler, "center_ scale_"),
}


@pytest.mark.parametrize("name", SCALERS)
@pytest.mark.parametrize("x", [X, H], ids=["whole", "missing"])
def test_scalers_keep_to_columns(name, x):
    make, attributes = SCALERS[name]
    count = len(attributes.split()) + 2
    labels = check(
        uses(make, "transform", "inverse_transform", attributes=attributes), x, Z,
        equal=[name == "StandardScaler"] * count,
    )  # fmt: skip
    assert all(labels)


def test_weights_of_a_scaler():
    def program(x, w, z):
        scaler = preprocessing.StandardScaler().fit(x, sample_weight=w)
        return scaler.mean_, scaler.transform(z)

    assert check(program, X, W, Z, equal=[True, True]) == [True, True]


def test_a_scaler_without_a_mean_does_not_read_it():
    make = lambda: preprocessing.StandardScaler(with_mean=False)  # noqa: E731
    assert check(uses(make, "transform"), X, Z, equal=[True]) == [True]


def test_partial_fits_go_on():
    def program(x, z):
        scaler = preprocessing.StandardScaler().partial_fit(x[:3])
        first = scaler.mean_
        scaler.partial_fit(x[3:])
        return first, scaler.mean_, scaler.transform(z)

    assert check(program, X, Z, equal=[True, True, True]) == [True] * 3


def test_in_place_updates_of_a_partial_fit():
    def program(x, z):
        model = naive_bayes.GaussianNB().partial_fit(x[:4], C[:4], classes=[0, 1, 2])
        first = model.theta_
        model.partial_fit(x[4:], C[4:])
        return model.theta_, model.predict_proba(z), plain(first).copy()

    def plain(array):
        from dslog.capture.numpy.array import plain_values

        return plain_values(array)

    with np.errstate(all="ignore"):
        model = naive_bayes.GaussianNB().partial_fit(X[:4], C[:4], classes=[0, 1, 2])
        model.partial_fit(X[4:], C[4:])
    import dslog

    with dslog.open(":memory:") as store:
        x = store.track(X, "x")
        tracked = naive_bayes.GaussianNB().partial_fit(x[:4], C[:4], classes=[0, 1, 2])
        tracked.partial_fit(x[4:], C[4:])
        assert plain(tracked.theta_).tobytes() == model.theta_.tobytes()
        assert len(store.backward(tracked.theta_.name, [(0, 0)], to="x").indices()) > 1


def bins(encode):
    return preprocessing.KBinsDiscretizer(2, encode=encode, strategy="uniform")


CELLS = {
    "Normalizer": (preprocessing.Normalizer, Z),
    "Binarizer": (lambda: preprocessing.Binarizer(threshold=1.0), Z),
    "PolynomialFeatures": (preprocessing.PolynomialFeatures, Z),
    "PowerTransformer": (preprocessing.PowerTransformer, Z),
    "QuantileTransformer": (lambda: preprocessing.QuantileTransformer(n_quantiles=4), Z),
    "KBinsDiscretizer": (lambda: bins("onehot-dense"), Z),
    "KBinsDiscretizer of codes": (lambda: bins("ordinal"), Z),
    "SplineTransformer": (lambda: preprocessing.SplineTransformer(n_knots=3), Z),
    "PCA": (lambda: decomposition.PCA(2), Z),
    "PCA whitened": (lambda: decomposition.PCA(2, whiten=True), Z),
    "IncrementalPCA": (lambda: decomposition.IncrementalPCA(2), Z),
    "TruncatedSVD": (lambda: decomposition.TruncatedSVD(2, random_state=0), Z),
    "FastICA": (lambda: decomposition.FastICA(2, random_state=0, max_iter=20), Z),
    "FactorAnalysis": (lambda: decomposition.FactorAnalysis(1, random_state=0), Z),
    "NMF": (lambda: decomposition.NMF(2, random_state=0, max_iter=20), Z),
    "KernelPCA": (lambda: decomposition.KernelPCA(2, kernel="rbf"), Z),
    "GaussianRandomProjection": (
        lambda: random_projection.GaussianRandomProjection(2, random_state=0), Z,
    ),
    "RBFSampler": (lambda: kernel_approximation.RBFSampler(n_components=2, random_state=0), Z),
    "RBFSampler of a scale": (
        lambda: kernel_approximation.RBFSampler(gamma="scale", n_components=2, random_state=0), Z,
    ),
    "Nystroem": (lambda: kernel_approximation.Nystroem(n_components=3, random_state=0), Z),
    "AdditiveChi2Sampler": (kernel_approximation.AdditiveChi2Sampler, Z),
    "VarianceThreshold": (lambda: feature_selection.VarianceThreshold(0.01), Z),
    "SimpleImputer": (impute.SimpleImputer, H[:5]),
    "SimpleImputer of medians": (lambda: impute.SimpleImputer(strategy="median"), H[:5]),
    "KNNImputer": (lambda: impute.KNNImputer(n_neighbors=2), H[:5]),
    "KMeans": (lambda: cluster.KMeans(2, n_init=1, random_state=0), Z),
}  # fmt: skip


@pytest.mark.parametrize("name", CELLS)
def test_transformers(name):
    make, z = CELLS[name]
    check(uses(make, "transform"), X, z)


@pytest.mark.parametrize("name", ["PCA", "TruncatedSVD", "StandardScaler", "NMF", "KMeans"])
def test_fits_that_transform(name):
    make = CELLS[name][0] if name in CELLS else preprocessing.StandardScaler
    check(lambda x: make().fit_transform(x), X)


def test_what_is_exact():
    """Where a row or a column is read, and no other."""
    fitted = preprocessing.PolynomialFeatures(2).fit(X)
    assert check(fitted.transform, Z, equal=[True]) == [True]
    assert check(preprocessing.Normalizer().fit(X).transform, Z, equal=[True]) == [True]
    pca = decomposition.PCA(2).fit(X)
    assert check(pca.transform, Z, equal=[True]) == [True]
    kmeans = cluster.KMeans(2, n_init=1, random_state=0).fit(X)
    assert check(kmeans.transform, Z, equal=[True]) == [True]

    def centres(x, z):
        kmeans.cluster_centers_ = x
        return kmeans.transform(z)

    assert check(centres, X[:2], Z, equal=[True]) == [True]


def test_imputed_cells_are_from_the_statistics():
    labels = check(uses(impute.SimpleImputer, "transform"), H, H[:5], equal=[True])
    assert labels == [True]


def test_encoders():
    def one_hot(x, z):
        return preprocessing.OneHotEncoder(sparse_output=False).fit(x).transform(z)

    def ordinal(x, z):
        encoder = preprocessing.OrdinalEncoder().fit(x)
        return encoder.transform(z), encoder.categories_

    import dslog

    for program in (one_hot, ordinal):
        with dslog.open(":memory:") as store:
            result = program(store.track(CODES, "x"), store.track(CODES[:2], "z"))
            first = result if program is one_hot else result[0]
            last = first.shape[1] - 1
            found = store.backward(first.name, [(1, last)], to="z").indices()
            assert found.tolist() == [[1, 1]]
            columns = store.backward(first.name, [(1, last)], to="x").indices()[:, 1]
            assert set(columns.tolist()) == {1}
            if program is ordinal:
                assert result[1][0].name.startswith("x.OrdinalEncoder.categories_.0")


def test_labels_are_looked_up():
    import dslog

    with dslog.open(":memory:") as store:
        y = store.track(np.array([5, 3, 5, 9]), "y")
        encoder = preprocessing.LabelEncoder().fit(y)
        codes = encoder.transform(y)
        assert dslog.plain(codes).tolist() == [1, 0, 1, 2]
        labels = encoder.inverse_transform(codes)
        assert store.backward(labels.name, [2], to="y").indices().tolist() == [[0], [1], [2], [3]]
        assert store.backward(encoder.classes_.name, [1], to="y").indices().tolist() == [[0]]


def select(x, y, z):
    selector = feature_selection.SelectKBest(feature_selection.f_regression, k=2).fit(x, y)
    return selector.scores_, selector.transform(z)


def test_selectors_move_columns():
    check(select, X, Y, Z)
    fitted = feature_selection.SelectKBest(feature_selection.f_regression, k=2).fit(X, Y)
    assert check(fitted.transform, Z, equal=[True]) == [True]
    assert check(fitted.inverse_transform, Z[:, :2], equal=[True]) == [True]


REGRESSORS = {
    "LinearRegression": linear_model.LinearRegression,
    "no intercept": lambda: linear_model.LinearRegression(fit_intercept=False),
    "Ridge": linear_model.Ridge,
    "RidgeCV": linear_model.RidgeCV,
    "Lasso": lambda: linear_model.Lasso(alpha=0.001),
    "ElasticNet": lambda: linear_model.ElasticNet(alpha=0.001),
    "BayesianRidge": linear_model.BayesianRidge,
    "HuberRegressor": linear_model.HuberRegressor,
    "SGDRegressor": lambda: linear_model.SGDRegressor(random_state=0),
    "SVR": svm.SVR,
    "linear SVR": lambda: svm.SVR(kernel="linear"),
    "KNeighborsRegressor": lambda: neighbors.KNeighborsRegressor(2),
    "weighted neighbours": lambda: neighbors.KNeighborsRegressor(2, weights="distance"),
    "DecisionTreeRegressor": lambda: tree.DecisionTreeRegressor(random_state=0),
    "RandomForestRegressor": lambda: ensemble.RandomForestRegressor(3, random_state=0),
    "GradientBoostingRegressor": lambda: ensemble.GradientBoostingRegressor(
        n_estimators=2, random_state=0
    ),
    "MLPRegressor": lambda: neural_network.MLPRegressor(
        hidden_layer_sizes=(3,), max_iter=3, random_state=0
    ),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name):
    check(uses(REGRESSORS[name], "predict"), X, Y, Z)


@pytest.mark.parametrize("name", ["LinearRegression", "Ridge"])
def test_targets_are_fitted_apart(name):
    program = uses(REGRESSORS[name], "predict", attributes="coef_ intercept_")
    assert check(program, X, Y2, Z, equal=[True] * 3) == [True] * 3


def test_an_intercept_that_is_not_fitted_is_from_nothing():
    program = uses(REGRESSORS["no intercept"], "predict", attributes="coef_")
    assert check(program, X, Y, Z, equal=[True] * 2) == [True] * 2


CLASSIFIERS = {
    "LogisticRegression": (linear_model.LogisticRegression, "predict_proba decision_function"),
    "SGDClassifier": (lambda: linear_model.SGDClassifier(random_state=0), "decision_function"),
    "LinearSVC": (svm.LinearSVC, "decision_function"),
    "SVC": (svm.SVC, "decision_function"),
    "GaussianNB": (naive_bayes.GaussianNB, "predict_proba predict_joint_log_proba"),
    "LinearDiscriminantAnalysis": (
        discriminant_analysis.LinearDiscriminantAnalysis, "decision_function transform",
    ),
    "KNeighborsClassifier": (lambda: neighbors.KNeighborsClassifier(2), "predict_proba kneighbors"),
    "DecisionTreeClassifier": (
        lambda: tree.DecisionTreeClassifier(random_state=0), "predict_proba apply",
    ),
    "RandomForestClassifier": (
        lambda: ensemble.RandomForestClassifier(3, random_state=0), "predict_proba apply",
    ),
    "AdaBoostClassifier": (
        lambda: ensemble.AdaBoostClassifier(n_estimators=2, random_state=0), "predict_proba",
    ),
    "MLPClassifier": (
        lambda: neural_network.MLPClassifier((3,), max_iter=3, random_state=0), "predict_proba",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name):
    make, methods = CLASSIFIERS[name]

    def program(x, y, z):
        fitted = make().fit(x, y)
        scores = [getattr(fitted, method)(z) for method in methods.split()]
        return [*scores, fitted.predict(z), fitted.score(x, y)]

    check(program, X, C, Z)


def test_classes_of_naive_bayes_keep_to_their_rows():
    program = uses(naive_bayes.GaussianNB, attributes="theta_")
    assert check(program, X, C, Z, equal=[True]) == [True]


def test_neighbours_are_the_rows_that_were_found():
    fitted = neighbors.KNeighborsRegressor(2).fit(X, Y)
    index = fitted.kneighbors(Z, return_distance=False)
    import dslog

    with dslog.open(":memory:") as store:
        x, y, z = (store.track(v, n) for v, n in zip((X, Y, Z), "xyz", strict=True))
        result = neighbors.KNeighborsRegressor(2).fit(x, y).predict(z)
        for i in range(len(Z)):
            back = store.backward(result.name, [i], to="y")
            assert back.exact
            assert back.indices()[:, 0].tolist() == sorted(index[i].tolist())
            rows = store.backward(result.name, [i], to="x").indices()[:, 0]
            assert set(rows.tolist()) == set(index[i].tolist())


def test_targets_of_neighbours_stay_apart():
    fitted = neighbors.KNeighborsRegressor(2).fit(X, Y2)
    fitted._y = None

    def program(y):
        fitted._y = y
        return fitted.predict(Z)

    assert check(program, Y2, equal=[True]) == [True]


def test_features_that_a_tree_asks_for():
    fitted = tree.DecisionTreeRegressor(max_depth=1).fit(X, Y)
    feature = int(fitted.tree_.feature[0])
    import dslog

    with dslog.open(":memory:") as store:
        result = fitted.predict(store.track(Z, "z"))
        back = store.backward(result.name, [2], to="z")
        assert back.exact
        assert back.indices().tolist() == [[2, feature]]


OTHERS = {
    "GaussianMixture": (lambda: mixture.GaussianMixture(2, random_state=0), "predict_proba"),
    "KernelDensity": (neighbors.KernelDensity, "score_samples"),
    "IsolationForest": (
        lambda: ensemble.IsolationForest(n_estimators=3, random_state=0),
        "decision_function",
    ),
    "OneClassSVM": (svm.OneClassSVM, "decision_function"),
    "NearestNeighbors": (lambda: neighbors.NearestNeighbors(n_neighbors=2), "kneighbors"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_densities_and_distances(name):
    make, method = OTHERS[name]
    check(uses(make, method), X, Z)


def test_isotonic_regression():
    check(uses(isotonic.IsotonicRegression, "predict"), np.sort(X[:, 0]), Y, X[2:5, 0])
