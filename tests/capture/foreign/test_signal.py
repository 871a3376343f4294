"""Rules for scipy.signal."""

import numpy as np
import pytest
from rule_examples import Plain, check, equal, image, loose, whole, within

signal = pytest.importorskip("scipy.signal")
from dslog.capture.foreign.rules import scipy_signal as rules  # noqa: E402, F401

X, A = image(12), image(6, 5)
K = Plain(np.array([[1.0, 0, 2], [0, 3, 0]]))
LINE = Plain(np.array([1.0, 0.0, 2.0, 0.5]))
MODES = ("full", "same", "valid")
BOUNDS = ("fill", "symm", "wrap")
IIR = (Plain(np.array([0.2, 0.3])), Plain(np.array([1.0, -0.5, 0.1])))
FIR = (Plain(np.array([0.0, 0.3, 0, 0.5])), Plain(np.array([1.0])))
SOS = Plain(signal.butter(3, 0.3, output="sos"))
NOISY = {"noise": 1e-11, "steps": (1.0,)}


def noisy(examples):
    """Transforms have rounding everywhere."""
    return [one.but(**NOISY) for one in examples]


CONVOLUTIONS = noisy(
    [
        *(equal(f, a, v, mode=mode)
          for f in (signal.convolve, signal.correlate, signal.fftconvolve, signal.oaconvolve)
          for mode in MODES
          for a, v in [(X, LINE), (LINE, X), (X, image(3)), (image(3), image(4)), (A, image(2, 3)),
                       (A, K), (image(2, 2), A)]
          if not (f is signal.correlate and isinstance(a, Plain))),
        *(equal(f, A, K, mode=mode, boundary=bound)
          for f in (signal.convolve2d, signal.correlate2d) for mode in MODES for bound in BOUNDS),
        *(equal(f, A, image(2, 3), mode=mode, boundary=bound)
          for f in (signal.convolve2d, signal.correlate2d) for mode in MODES for bound in BOUNDS),
        equal(signal.convolve2d, A, image(2, 3), fillvalue=2),
        loose(signal.correlate, LINE, X),
    ]
)  # fmt: skip
CASES = [
    equal(signal.lfilter, *IIR, X),
    equal(signal.lfilter, *IIR, A, axis=0),
    equal(signal.lfilter, *FIR, X),
    equal(signal.lfilter, Plain(np.zeros(2)), IIR[1], X),
    equal(signal.lfilter, Plain(np.array([1.0, 1, 2])), 2.0, A, axis=0),
    equal(signal.lfilter, Plain(np.array([0.0, 1])), IIR[1], X),
    loose(signal.lfilter, image(2), IIR[1], X),
    loose(signal.lfilter, *IIR, X, zi=image(2)),
    equal(signal.sosfilt, SOS, A),
    *noisy([within(signal.filtfilt, *IIR, image(14), padlen=4),
            equal(signal.sosfiltfilt, SOS, image(3, 14), padlen=4)]),
    loose(signal.filtfilt, Plain(np.ones(2)), 1.0, image(14)),
    *noisy(equal(signal.savgol_filter, X, 5, 2, mode=mode, deriv=d)
           for mode in ("interp", "mirror", "wrap", "nearest", "constant") for d in (0, 1)),
    equal(signal.savgol_filter, image(30, 2), 3, 1, axis=0),
    equal(signal.savgol_filter, X, 3, 0, deriv=1, mode="mirror"),
    *noisy([equal(signal.detrend, A, axis=0), equal(signal.detrend, A, type="constant")]),
    loose(signal.detrend, X, bp=6),
    *noisy([within(signal.resample, image(7), 5), within(signal.resample, A, 12)]),
    within(signal.czt, X, 5),
    within(signal.zoom_fft, X, [0.1, 0.3], m=4),
    *noisy([within(signal.hilbert, A, axis=0), within(signal.hilbert, X, N=7),
            within(signal.hilbert2, A)]),
    equal(signal.resample_poly, image(30), 2, 3, window=LINE).but(noise=1e-13),
    equal(signal.resample_poly, image(9, 2), 3, 2).but(noise=1e-12),
    loose(signal.resample_poly, X, 2, 3, padtype="mean"),
    equal(signal.upfirdn, LINE, image(25), 3, 2),
    equal(signal.upfirdn, LINE, image(2, 9), 1, 2, mode="symmetric"),
    loose(signal.upfirdn, image(3), X, 2),
    within(signal.decimate, image(40), 2),
    loose(signal.decimate, image(40), 2, zero_phase=False),
    equal(signal.decimate, image(14), 2, n=4, ftype="fir"),
    equal(signal.medfilt, whole(9) - 4.5, 3),
    equal(signal.medfilt, whole(4, 5) + 1, (1, 3)),
    equal(signal.medfilt2d, whole(4, 5) - 9.5, 3),
    equal(signal.order_filter, whole(4, 5) + 1, Plain(np.eye(3)), 1),
    equal(signal.wiener, A, noise=0.05),
    equal(signal.wiener, A, (3, 2), noise=0.05),
    within(signal.wiener, A),
    *noisy([
        within(signal.periodogram, X),
        within(signal.welch, image(25, 2), nperseg=8, axis=0),
        within(signal.csd, image(25), image(2, 25)[0], nperseg=10),
        loose(signal.csd, image(25), image(2, 25)[0], nperseg=10, detrend=False),
        within(signal.coherence, image(25), image(2, 25)[0], nperseg=8),
        loose(signal.periodogram, X, nfft=7),
        equal(signal.stft, image(20), nperseg=8),
        within(signal.stft, image(20, 2), nperseg=6, noverlap=1, axis=0),
        equal(signal.stft, image(2, 20), nperseg=6, noverlap=1, boundary=None, padded=False),
        loose(signal.stft, image(20), nperseg=8, boundary="even"),
        loose(signal.stft, image(20), nperseg=8, boundary="odd"),
        equal(signal.spectrogram, image(20), nperseg=8),
        within(signal.spectrogram, image(20), nperseg=8, mode="magnitude"),
    ]),
    within(signal.lombscargle, image(5), image(2, 5)[0], image(3)),
    equal(signal.cspline1d, X),
    equal(signal.qspline1d, X),
    within(signal.find_peaks, whole(12)).but(steps=(0.1,)),
    within(signal.argrelmax, whole(4, 5)).but(steps=(0.1,)),
    within(signal.argrelmin, whole(4, 5), axis=1).but(steps=(0.1,)),
    within(signal.argrelextrema, whole(12), np.greater).but(steps=(0.1,)),
]  # fmt: skip


@pytest.mark.parametrize("example", [*CONVOLUTIONS, *CASES], ids=str)
def test_rule(example):
    check(example)
