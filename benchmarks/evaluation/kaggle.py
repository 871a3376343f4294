"""Operations in 20 Kaggle notebooks, counted by hand by the authors of the paper.

Two data sets: flight delays of 2015, and titles on Netflix.
"""

from __future__ import annotations

from typing import NamedTuple


class HandCount(NamedTuple):
    """One notebook: array operations, those whose lineage compresses, the longest chain."""

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
