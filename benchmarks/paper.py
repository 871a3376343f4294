"""The paper's figures, to print beside ours (its section VII)."""

from __future__ import annotations

from typing import NamedTuple

# Table 'Comparison of Compression Ratio', MB. Two things are misprinted in the paper and corrected
# here: the Matrix*Matrix row is shifted by a column, and D-RISE with Parquet-GZip is 0.024 MB.
STORAGE_FORMATS = (
    "Raw",
    "Array",
    "Parquet",
    "Parquet-GZip",
    "Turbo-RC",
    "ProvRC",
    "ProvRC-GZip",
)
STORAGE_MB: dict[str, tuple[float, ...]] = {
    "Negative": (22.66, 32.00, 5.05, 4.33, 5.11, 0.00978, 0.0103),
    "Addition": (45.33, 64.00, 10.11, 8.66, 10.23, 0.0195, 0.0207),
    "Aggregate": (20.55, 32.00, 0.131, 0.0255, 3.73, 0.00978, 0.0103),
    "Repetition": (98.22, 128.0, 25.20, 14.52, 22.03, 0.00983, 0.0103),
    "Matrix*Vector": (39.22, 64.00, 0.254, 0.048, 6.77, 0.0195, 0.0207),
    "Matrix*Matrix": (40127, 64000, 254.8, 48.06, 6770, 0.0198, 0.0210),
    "Sort": (22.66, 32.00, 3.38, 2.76, 6.10, 3.43, 2.79),
    "ImgFilter": (4.288, 5.632, 1.96, 1.06, 1.05, 0.00999, 0.0104),
    "Lime": (24.09, 29.63, 0.529, 0.123, 5.97, 0.0123, 0.0121),
    "DRISE": (8.82, 11.07, 0.0898, 0.024, 2.19, 0.0106, 0.0108),
    "Group By": (183.43, 251.00, 32.62, 13.56, 35.97, 29.45, 13.62),
    "Inner Join": (2330, 2612.13, 195.44, 53.44, 584.98, 14.13, 6.36),
}
TWELVE = tuple(STORAGE_MB)

# Table 'numpy API Operations Covered': total, ProvRC, dim_sig, gen_sig, errors.
COVERAGE: dict[str, tuple[int, int, int, int, int]] = {
    "element": (75, 75, 75, 75, 0),
    "complex": (61, 55, 51, 24, 1),
    "total": (136, 130, 126, 99, 1),
}

# Table 'Kaggle Workflows': mean and deviation of operations, compressible ones, longest chain.
WORKFLOWS: dict[str, tuple[tuple[float, float], tuple[float, float], tuple[float, float]]] = {
    "Flight": ((54.9, 38.8), (40.5, 27.6), (16.4, 13.3)),
    "Netflix": ((58.3, 36.3), (40.0, 27.2), (14.2, 9.0)),
    "Total": ((56.6, 36.6), (40.25, 26.7), (15.3, 11.12)),
}

# What the text says about query latency; its figures carry no numbers.
QUERY_CLAIMS = {
    "image": "up to 1500x faster than the next best, slower on the most selective queries",
    "relational": "faster than every baseline",
    "ResNet block": "lowest latency, by structure of the operations",
    "numpy, 5 operations": "up to 20x faster than the next best",
    "numpy, 10 operations": "4x the latency of 5 operations, faster than the baselines",
}
LATENCY_CLAIM = "ProvRC-GZip up to 10x slower than Parquet on large elementwise relations"


class HandCount(NamedTuple):
    """One of 20 Kaggle notebooks, counted by hand by the authors of the paper.

    Array operations, those whose lineage compresses, the longest chain; on flight delays of 2015
    and on titles on Netflix.
    """

    dataset: str
    notebook: str
    operations: int
    compressible: int
    longest_chain: int


KAGGLE: tuple[HandCount, ...] = (
    HandCount("Flight", "chitwanmanchanda/flight-delay-eda", 118, 76, 8),
    HandCount(
        "Flight", "abhishek211119/2015-flight-delays-and-cancellation-prediction", 34, 20, 14
    ),
    HandCount("Flight", "vaishnavidixit12/flight-delay-prediction-0-9983-accuracy", 25, 22, 8),
    HandCount(
        "Flight", "baravindkumar/beginners-guide-to-2015-flight-delay-prediction", 23, 20, 11
    ),
    HandCount("Flight", "hrishikeshmalkar/flight-delay-prediction", 39, 33, 11),
    HandCount("Flight", "gcdatkin/flight-cancellation-prediction", 32, 27, 19),
    HandCount("Flight", "dongxu027/airline-delays-eda-deep-dive-lessons-learned", 81, 57, 8),
    HandCount("Flight", "utkarshagrawal/insights-and-ranking-module-of-airlines", 124, 99, 52),
    HandCount("Flight", "vivekhn/flight-delays-and-cancellations-eda", 49, 31, 21),
    HandCount("Flight", "saurabhg004/flightdelayprediction-ml-classification", 24, 20, 12),
    HandCount("Netflix", "shivanshuman/arima-time-series-forecasting", 107, 79, 10),
    HandCount("Netflix", "girishvutukuri/exercise-netflix-shows", 19, 15, 8),
    HandCount("Netflix", "mohamedkhaledelsafty/netflix-time-series", 51, 36, 7),
    HandCount("Netflix", "sainischala/netflix-shows-sentiment-analysis-using-python", 33, 17, 9),
    HandCount("Netflix", "srikarthadaka/recommendation-system-netflix", 117, 88, 31),
    HandCount("Netflix", "amirataha/eda-visualization", 91, 55, 22),
    HandCount("Netflix", "karen1116/netflix-recommendation-system", 23, 14, 13),
    HandCount("Netflix", "heemalichaudhari/netflix-visualization", 23, 13, 6),
    HandCount("Netflix", "harbaldeepsidhu/netflix-analysis", 71, 47, 9),
    HandCount("Netflix", "jpchyd/netflix-movies-and-tv-shows-eda-recommender", 48, 36, 27),
)


def means() -> dict[str, tuple[float, float, float]]:
    """Return the mean operations, compressible operations and longest chain per data set."""
    found = {}
    for dataset in ("Flight", "Netflix"):
        rows = [one for one in KAGGLE if one.dataset == dataset]
        found[dataset] = (
            sum(one.operations for one in rows) / len(rows),
            sum(one.compressible for one in rows) / len(rows),
            sum(one.longest_chain for one in rows) / len(rows),
        )
    return found
