"""What is known about methods and functions of array libraries.

An operation is *compressible* when its lineage has the paper's patterns whatever the values are:
contiguous input ranges, or a fixed distance between output and input. Value filters, sorting,
grouping and joining on values do not, though DSLog may still compress what they give.
"""

from __future__ import annotations

from dslog.capture.numpy import rules
from dslog.capture.numpy.registry import REGISTRY, function_named

__all__ = ["is_plot_module", "kind_of_function", "kind_of_method", "rules"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PLOT_MODULES = _words(
    "matplotlib seaborn plotly bokeh altair folium wordcloud missingno IPython cufflinks pywaffle "
    "pyecharts squarify mpl_toolkits geopandas ipywidgets"
)
ARRAY_MODULES = _words(
    "numpy pandas scipy sklearn xgboost lightgbm catboost tensorflow keras torch statsmodels cv2 "
    "skimage imblearn nltk prophet fbprophet numexpr bottleneck cupy jax polars dask"
)

# Methods of arrays and frames that give no array: looking at it, drawing it, writing it.
NO_ARRAY = _words(
    "plot hist boxplot show info to_csv to_parquet to_excel to_pickle to_sql to_json to_html "
    "to_string to_markdown style items iterrows itertuples keys memory_usage tofile savefig bar "
    "barh pie scatter line area kde density set_option"
)
METADATA = _words("shape dtype dtypes columns index ndim size name names axes empty plot style")
ACCESSORS = _words("loc iloc at iat str dt cat sparse")
VIEWS = _words("T values real imag flat array")
COPIES = _words("copy tolist to_numpy to_frame to_list tocsr toarray item")
GROUPERS = _words("groupby rolling expanding ewm resample")

# Methods whose lineage depends on the values.
VALUE_DEPENDENT = _words(
    "sort_values sort_index sort argsort value_counts unique nunique drop_duplicates duplicated "
    "dropna merge join query filter nlargest nsmallest sample pivot pivot_table crosstab explode "
    "mode median quantile idxmax idxmin argmax argmin rank searchsorted nonzero compress "
    "merge_asof align combine_first update cut qcut "
    "most_common train_test_split shuffle fit_resample "
    "get_group nth first last set_index"
)
# Methods that follow the rows, the columns or whole ranges.
STRUCTURED = _words(
    "head tail mean sum min max std var count prod cumsum cumprod cummax cummin diff shift abs "
    "round fillna ffill bfill interpolate replace map applymap apply transform astype isin isna "
    "isnull notna notnull between clip rename rename_axis reset_index drop assign insert pop "
    "describe corr cov add sub mul div truediv floordiv mod pow eq ne lt le gt ge dot agg "
    "aggregate reshape ravel flatten transpose squeeze repeat take stack unstack melt reindex "
    "any all fit_transform transform predict predict_proba decision_function inverse_transform "
    "pct_change to_datetime select_dtypes xs get swapaxes strip lower upper split len contains "
    "startswith endswith extract findall year month day hour minute dayofweek weekday cat "
    "get_dummies where mask append concat add_prefix add_suffix convert_dtypes infer_objects skew "
    "kurt sem mad score slice title capitalize zfill pad normalize tz_localize floor "
    "ceil strftime total_seconds month_name day_name todense"
)

# Functions by module; those of numpy come from the capture rules.
VALUE_FUNCTIONS = _words(
    "merge merge_asof merge_ordered crosstab pivot_table cut qcut unique value_counts "
    "train_test_split shuffle resample sorted Counter factorize"
)
STRUCTURED_FUNCTIONS = _words(
    "concat get_dummies to_datetime to_numeric isna isnull notna notnull melt Series DataFrame "
    "scale normalize minmax_scale cosine_similarity linear_kernel euclidean_distances "
    "mean_squared_error mean_absolute_error r2_score accuracy_score confusion_matrix f1_score "
    "classification_report sum min max abs round roc_auc_score precision_score recall_score "
    "zscore resize cvtColor to_categorical pad_sequences"
)
SOURCES = _words(
    "read_csv read_excel read_json read_parquet read_sql read_html read_table read_pickle load "
    "loadtxt genfromtxt fromfile imread array asarray arange linspace zeros ones full eye empty "
    "rand randn randint random normal uniform choice date_range load_iris load_digits load_wine "
    "load_diabetes load_breast_cancer fetch_california_housing make_blobs make_classification "
    "make_regression load_dataset data"
)


def is_plot_module(path: str) -> bool:
    """Whether a dotted name belongs to a library that draws."""
    return path.partition(".")[0] in PLOT_MODULES


def kind_of_method(name: str) -> str:
    """Say what a method is: "none", "copy", "group", "value", "structured" or "unknown"."""
    for kind, names in (
        ("none", NO_ARRAY),
        ("copy", COPIES),
        ("group", GROUPERS),
        ("value", VALUE_DEPENDENT),
        ("structured", STRUCTURED),
    ):
        if name in names:
            return kind
    return _numpy_kind(f"numpy.{name}") or "unknown"


def kind_of_function(path: str) -> str:
    """Say what a function is: "none", "source", "value", "structured" or "unknown"."""
    if is_plot_module(path):
        return "none"
    name = path.rsplit(".", 1)[-1]
    if path.startswith("numpy."):
        found = _numpy_kind(path)
        if found:
            return found
    for kind, names in (
        ("value", VALUE_FUNCTIONS),
        ("structured", STRUCTURED_FUNCTIONS),
        ("source", SOURCES),
    ):
        if name in names:
            return kind
    return "unknown"


def _numpy_kind(path: str) -> str | None:
    """Ask the capture rules: a rule over shapes is structured, one over values is not."""
    function = function_named(path)
    if function is None or not callable(function):
        return None
    kinds = [entry.kind for entry in REGISTRY.find(function)]
    if not kinds:
        return None
    return "structured" if kinds[0] in ("rule", "index-run") else "value"
