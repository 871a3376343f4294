"""More calls of other libraries, one a line: other functions, arguments, shapes and types.

They are like those of ``foreign_functions``, and take the same arrays.
"""

from __future__ import annotations

from collections.abc import Mapping

MORE: Mapping[str, str] = {
    "numpy": """
np.fft.irfft2(np.fft.rfft2(image) * np.fft.rfft2(window, image.shape))
np.convolve(signal1.astype("f4"), kernel.astype("f4"), "same")
np.gradient(image, 0.5, axis=1, edge_order=2)
np.trapezoid(heights, times)
np.lib.stride_tricks.sliding_window_view(image, (2, 2))[::2, ::2].max(axis=(2, 3))
np.linalg.matrix_power(square, 3)
np.linalg.pinv(image[:, :3])
np.linalg.eig(square)[0]
np.linalg.cond(square)
np.linalg.multi_dot([square, spd, square])
np.unique(words, axis=0, return_counts=True)
np.digitize(a, np.sort(b))
np.histogram2d(a, b, bins=3)[0]
np.histogramdd(matrix, bins=2)[0]
np.bincount(c, weights=y, minlength=5)
np.choose(c % 2, [y, y * 2])
np.select([a > 0.7, a > 0.3], [a * 10, b], -1)
np.put_along_axis(image, image.argmin(1)[:, None], 9.0, 1)
np.lexsort((a, words[:, 0].repeat(2)[:10]))
np.tensordot(thick, square, ([2], [0]))
np.kron(window, side[:2])
np.nanpercentile(gaps, 30, axis=0)
np.average(image, axis=1, weights=picture)
np.corrcoef(a, b)
np.ma.average(np.ma.masked_invalid(gaps), axis=0)
np.ma.masked_array(image, mask=image > 0.5).filled(-1)
np.ma.median(np.ma.masked_greater(image, 0.8), axis=1)
np.save(io.BytesIO(), a)
np.savetxt(io.StringIO(), image)
np.nan_to_num(gaps).astype("f2") * 2
np.char.add(a.astype("U4"), "!")
np.packbits(blobs, axis=1)
np.unpackbits(pixels[0])
np.bitwise_xor.reduce(pixels, axis=1)
np.add.reduceat(a, [0, 3, 7])
np.subtract.outer(side, kernel)
np.datetime64("2020-01-01") + (counts[0] * 3).astype("m8[D]")
np.array(list(map(tuple, words)), dtype=[("p", int), ("q", float)])["q"] * 2
np.block([[square, spd], [spd, square]])[2:6, 2:6]
np.polynomial.chebyshev.chebfit(times, heights, 2)
np.polyval(np.polyfit(times, heights, 1), places)
np.apply_over_axes(np.sum, thick, [0, 2])
np.array([[v, w] for v in side for w in kernel]).reshape(4, 4, 2)
np.stack([np.diag(image[:, i]) for i in range(2)])
np.copyto(a, b, where=b > 0.5)
np.place(a, a > 0.5, b[:2])
np.ndarray((3,), buffer=a, offset=8, strides=(16,)) * 2
np.random.default_rng(0).permuted(image, axis=1)
np.random.default_rng(0).choice(image, 3, axis=1, replace=False)
np.random.default_rng(0).poisson(counts)
np.random.default_rng(0).dirichlet(side, 2)
np.fromstring(" ".join(map(str, a)), sep=" ")
np.genfromtxt([",".join(map(repr, row)) for row in image.tolist()], delimiter=",")
np.testing.assert_allclose(a, a + 1e-9)
np.array_equal(a, a.copy())
np.asarray(image, order="F").T.ravel("K")
np.require(image, "f4", "C") * 2
np.array(image.tolist()) + 1
np.einsum("ij,kj->ik", X, Z, optimize=True)
np.ma.corrcoef(X.T)
np.asarray(memoryview(a))[1:3] * 2
""",
    "scipy.ndimage": """
ndimage.gaussian_filter(image.astype("f4"), (0, 0.7), mode="wrap")
ndimage.gaussian_filter(thick, 0.4, axes=(1, 2))
ndimage.uniform_filter(image, (2, 3), origin=(0, 1), mode="constant")
ndimage.median_filter(pixels, footprint=np.eye(3))
ndimage.convolve(pixels, np.ones((2, 2)), origin=-1)
ndimage.correlate(image, np.array([[0, 1, 0], [0, 0, 2.0]]), mode="mirror")
ndimage.generic_filter1d(image, lambda p, q: np.copyto(q, p[:-2] + p[2:]), 3)
ndimage.generic_gradient_magnitude(image, ndimage.sobel)
ndimage.vectorized_filter(image, np.median, size=3)
ndimage.shift(image, (0.5, 1), order=3, prefilter=False)
ndimage.shift(image, 1.5, order=3, mode="nearest")
ndimage.zoom(image, (1, 0.5), order=3)
ndimage.zoom(thick, (1, 2, 2), order=1, grid_mode=True, mode="grid-wrap")
ndimage.zoom(image, 2, order=2)
ndimage.zoom(pixels, 2, order=0)
ndimage.rotate(image, 90)
ndimage.rotate(image, 15, reshape=False, order=3)
ndimage.rotate(thick, 30, axes=(0, 2), order=1, mode="nearest")
ndimage.affine_transform(image, [[0.9, 0.1], [0.0, 1.1]], offset=(0.3, -0.2))
ndimage.map_coordinates(image, [places * 5, places * 6])
ndimage.map_coordinates(image, np.indices((3, 3)) * 1.3, order=0)
ndimage.map_coordinates(image, np.indices((2, 3)) * 1.3, order=2, mode="reflect")
ndimage.spline_filter1d(image, 3, axis=1)
ndimage.binary_dilation(blobs, np.ones((1, 3)), iterations=2)
ndimage.binary_erosion(blobs, iterations=1, border_value=1, mask=regions > 0)
ndimage.binary_closing(blobs, np.ones((3, 3)))
ndimage.binary_propagation(blobs, mask=blobs | blobs[::-1])
ndimage.binary_hit_or_miss(blobs, np.ones((2, 2)))
ndimage.grey_opening(image, footprint=np.ones((2, 2)))
ndimage.grey_closing(image, (1, 3))
ndimage.grey_dilation(image, structure=window)
ndimage.black_tophat(image, 3)
ndimage.distance_transform_cdt(blobs)
ndimage.distance_transform_edt(blobs, return_indices=True)
ndimage.distance_transform_bf(blobs)
ndimage.variance(image, regions[:6, :7], [1, 2])
ndimage.median(image, regions[:6, :7], 1)
ndimage.labeled_comprehension(image, regions[:6, :7], [1, 2], np.max, float, 0)
ndimage.value_indices(regions)
ndimage.watershed_ift(pixels, np.eye(6, 7, dtype="i2"))
ndimage.minimum(image, blobs[:6, :7])
ndimage.fourier_shift(np.fft.fft2(image), (1, 2))
ndimage.gaussian_filter(image, 0.6, output=np.zeros((6, 7)))
ndimage.sobel(image, 0, output="f4")
""",
    "scipy.signal": """
signal.lfilter([0.2, 0.3], [1.0], image, axis=0)
signal.lfilter([1.0], [1, -0.5], signal1, zi=[0.1])
signal.lfilter(signal.firwin(5, 0.4), 1, signal1)
signal.lfiltic([1, 0.2], [1, -0.5], side[:1])
signal.lfilter_zi([1, 0.5], [1, -0.3]) * signal1[0]
signal.sosfiltfilt(signal.butter(2, 0.3, output="sos"), image, padlen=3)
signal.filtfilt([0.5, 0.5], 1, image, axis=0, padlen=2)
signal.savgol_filter(image, 3, 1, axis=0, mode="wrap")
signal.savgol_filter(signal1, 7, 3, deriv=1, mode="nearest")
signal.convolve(image, window, mode="valid")
signal.choose_conv_method(signal1, kernel)
signal.correlate2d(image, window, boundary="wrap")
signal.convolve2d(image, window, mode="full", boundary="symm")
signal.correlation_lags(16, 4) * signal1[0]
signal.find_peaks(signal1, distance=2, prominence=0.1)
signal.find_peaks_cwt(signal1, np.arange(1, 3))
signal.peak_widths(signal1, signal.find_peaks(signal1)[0])
signal.argrelextrema(image, np.greater, axis=1)
signal.stft(image, nperseg=4, axis=0)
signal.istft(signal.stft(signal1, nperseg=8)[2], nperseg=8)
signal.ShortTimeFFT(np.hanning(4), 2, 1.0).stft(signal1)
signal.welch(image, nperseg=4, axis=1)
signal.periodogram(image, axis=0, window="hann", detrend="linear")
signal.spectrogram(signal1, nperseg=4, mode="magnitude")
signal.detrend(image, axis=0, type="constant")
signal.detrend(signal1, bp=[5])
signal.resample(image, 4, axis=1)
signal.resample_poly(image, 1, 2, axis=1, window=np.array([0.2, 0.6, 0.2]))
signal.decimate(np.tile(signal1, 2), 2)
signal.medfilt(image, (1, 3))
signal.hilbert2(image)
signal.envelope(signal1)
signal.symiirorder1(signal1, 0.5, 0.1)
signal.cspline1d(signal1)
signal.gauss_spline(signal1, 2)
signal.czt(signal1, 8)
signal.zoom_fft(signal1, [0, 0.5], 6)
signal.freqz(kernel, 1, 5)
signal.vectorstrength(times, 0.3)
signal.max_len_seq(4)[0] * signal1[:15]
signal.tf2zpk(side, [1.0, 0.2])
signal.residue(side, [1.0, 0.5, 0.1])
signal.bilinear(side, [1.0, 0.4, 0.2, 0.1])
signal.dlsim((square, matrix[:4, :1], window[:1, :1].repeat(4, 1), [[0.0]]), signal1[:5, None])
signal.unique_roots(side, 0.2)
signal.square(signal1, 0.3)
signal.sawtooth(times)
signal.chirp(times, 1, 2, 5)
signal.gausspulse(signal1)
""",
    "scipy.linalg": """
linalg.solve(spd, image[:4, :2], assume_a="pos")
linalg.solve_banded((1, 1), image[:3, :4], side)
linalg.solveh_banded(np.array([[0, 0.1, 0.1, 0.1], [4.0, 4, 4, 4]]), side)
linalg.solve_toeplitz(side + np.array([4, 0, 0, 0]), kernel)
linalg.solve_circulant(side, kernel)
linalg.solve_sylvester(square, spd, square)
linalg.solve_continuous_lyapunov(square, spd)
linalg.eig(square, right=False)
linalg.eigh(spd, subset_by_index=[0, 1])
linalg.eig_banded(np.array([[4.0, 4, 4, 4], [0.1, 0.2, 0.3, 0]]) * side, lower=True)
linalg.schur(square)
linalg.hessenberg(square)
linalg.ldl(spd)
linalg.polar(square)
linalg.qr(matrix, mode="economic", pivoting=True)
linalg.rq(square)
linalg.logm(spd)
linalg.funm(spd, np.sqrt)
linalg.cosm(square)
linalg.fractional_matrix_power(spd, 0.5)
linalg.subspace_angles(matrix[:, :1], matrix[:, 1:])
linalg.companion(side)
linalg.leslie(side, kernel[:3])
linalg.fiedler(side)
linalg.convolution_matrix(kernel, 4)
linalg.toeplitz(side, kernel)
linalg.matrix_balance(square)
linalg.orthogonal_procrustes(X, X[::-1])
linalg.bandwidth(np.tril(square))
linalg.issymmetric(spd)
linalg.blas.ddot(a, b)
linalg.blas.dgemm(1.0, square, spd)
linalg.lapack.dgesv(square, side)[2]
linalg.lu(square.astype("f4"), permute_l=True)
linalg.expm(thick[0] * 1j)
linalg.inv(np.stack([square, spd]))
linalg.cholesky_banded(np.array([[0, 0.1, 0.1, 0.1], [4.0, 4, 4, 4]]) + side * 0.1)
""",
    "scipy.fft": """
fft.fft(image, 10, axis=0, norm="ortho")
fft.ifft2(fft.fft2(image)).real
fft.rfftn(thick, axes=(1, 2))
fft.irfftn(fft.rfftn(image), image.shape)
fft.dct(image.astype("f4"), type=1, axis=1)
fft.dst(signal1, type=4)
fft.idstn(image)
fft.fht(signal1, 0.1, 0.5)
fft.ifftshift(signal1)
fft.fft(signal1[:5], 12)
""",
    "scipy.stats": """
stats.zscore(gaps, nan_policy="omit")
stats.zmap(side, a)
stats.gzscore(a)
stats.gstd(image)
stats.tmean(a, (0.2, 0.8))
stats.trimboth(a, 0.1)
stats.sigmaclip(a, 1.2, 1.2)[0]
stats.scoreatpercentile(a, 25)
stats.percentileofscore(a, places)
stats.rankdata(pixels, "dense")
stats.mode(pixels, axis=None)
stats.moment(image, [1, 2], axis=1)
stats.pearsonr(image, picture, axis=1)
stats.pointbiserialr(binary, y)
stats.weightedtau(a, b)
stats.somersd(a, b).statistic
stats.siegelslopes(a, b)
stats.ttest_ind(image, picture, axis=1, equal_var=False)
stats.levene(a, b)
stats.bartlett(a, b)
stats.anderson_ksamp([a, b], method=stats.PermutationMethod(n_resamples=9, rng=0)).statistic
stats.friedmanchisquare(a, b, a * b)
stats.normaltest(np.tile(a, 2) + np.arange(20) * 0.01)
stats.jarque_bera(a)
stats.skewtest(signal1)
stats.cramervonmises(a, "norm")
stats.kstest(a, "norm")
stats.energy_distance(a, b)
stats.wasserstein_distance(a, b)
stats.fisher_exact(table[:2, :2])
stats.chisquare(table[0])
stats.power_divergence(table, axis=1)
stats.binomtest(counts[0, 0], 400).pvalue
stats.obrientransform(a, b)[0]
stats.yeojohnson(signal1)
stats.boxcox_normmax(a)
stats.boxcox_llf(1, a)
stats.entropy(a / a.sum(), b / b.sum())
stats.differential_entropy(a)
stats.binned_statistic_2d(a, b, a * b, "max", 2).statistic
stats.binned_statistic_dd(X, y, bins=2).statistic
stats.relfreq(a, 3)
stats.ecdf(a).cdf.probabilities
stats.gaussian_kde(X.T).evaluate(Z.T)
stats.multivariate_normal(side, spd).pdf(kernel)
stats.multivariate_normal.logpdf(X, X.mean(axis=0), np.cov(X.T))
stats.expon.fit(a)
stats.gamma.pdf(image, 2.0, scale=picture)
stats.beta(a, b).mean()
stats.t.ppf(a, 5)
stats.norm(a, b).cdf(0.3)
stats.poisson.pmf(counts, 20)
stats.norm.rvs(a, b, random_state=0)
stats.rv_histogram(np.histogram(a, 3)).pdf(places)
stats.circmean(image, axis=0)
stats.directional_stats(X).mean_direction
stats.bayes_mvs(a)[0]
stats.permutation_test((a, b), lambda p, q: p.mean() - q.mean(), n_resamples=9, rng=0).pvalue
stats.monte_carlo_test(a, lambda size: np.ones(size), np.mean, n_resamples=9).statistic
stats.tukey_hsd(a, b, heights).statistic
stats.page_trend_test(image).statistic
stats.quantile_test(a, q=0.4).pvalue
stats.theilslopes(a)
stats.combine_pvalues(a)
stats.false_discovery_control(a)
stats.kurtosis(gaps, axis=None, nan_policy="omit", bias=False)
stats.expectile(a, 0.3)
""",
    "scipy.interpolate": """
interpolate.interp1d(times, heights, kind="previous", fill_value="extrapolate")(places)
interpolate.interp1d(times, image[:, :1].repeat(8, 1), axis=1)(places)
interpolate.interp1d(times, heights, kind="quadratic")(np.sort(places))
interpolate.interp1d(np.arange(6), image, axis=0)(2.5)
interpolate.CubicSpline(times, np.stack([heights, heights * 2], 1), bc_type="natural")(places, 1)
interpolate.CubicSpline(times, heights).integrate(0.2, 0.6)
interpolate.CubicSpline(times, heights).c
interpolate.CubicHermiteSpline(times, heights, heights / 2)(places)
interpolate.PchipInterpolator(times, heights).derivative()(places)
interpolate.Akima1DInterpolator(times, heights, method="makima")(places)
interpolate.BSpline(np.arange(8.0), side, 3)(places + 3)
interpolate.BSpline.design_matrix(places + 3, np.arange(8.0), 3)
interpolate.make_interp_spline(times, heights, k=1)(places)
interpolate.make_smoothing_spline(times, heights, lam=0.1)(places)
interpolate.make_lsq_spline(times, heights, np.r_[(times[0],) * 4, (times[-1],) * 4])(places)
interpolate.UnivariateSpline(times, heights, s=0, k=2)(places)
interpolate.InterpolatedUnivariateSpline(times, heights).derivative()(places)
interpolate.LSQUnivariateSpline(times, heights, [0.5], k=2)(places)
interpolate.RectBivariateSpline(np.arange(6), np.arange(7), image)([1.5, 2], [2.5, 3])
interpolate.RectBivariateSpline(np.arange(6), np.arange(7), image, kx=1, ky=1).ev([1.5], [2.5])
interpolate.SmoothBivariateSpline(a, b, a * b, kx=1, ky=1)(0.5, 0.5)
interpolate.RegularGridInterpolator((np.arange(6), np.arange(7)), image, "nearest")(words[:5])
interpolate.RegularGridInterpolator((np.arange(6), np.arange(7)), image, "cubic")([[1.5, 2.5]])
interpolate.RegularGridInterpolator((times, np.arange(4)), square.repeat(2, 0))(X[:2, :2] * 0 + 0.5)
interpolate.LinearNDInterpolator(X[:, :2], y)(Z[:, :2] * 0.3 + 0.3)
interpolate.NearestNDInterpolator(X, y)(Z)
interpolate.CloughTocher2DInterpolator(X[:, :2], y)([[0.4, 0.5]])
interpolate.RBFInterpolator(X, y, neighbors=5, kernel="linear")(Z)
interpolate.Rbf(a, b, a * b)(0.4, 0.5)
interpolate.griddata(X[:, :2], y, (Z[:, 0], Z[:, 1]), method="nearest")
interpolate.griddata(times, heights, places, method="cubic")
interpolate.interpn((np.arange(6), np.arange(7)), image, [[1.5, 2.5], [3, 4]])
interpolate.krogh_interpolate(times[:4], heights[:4], places)
interpolate.BarycentricInterpolator(times, heights, rng=0)(places)
interpolate.KroghInterpolator(times[:4], heights[:4]).derivative(places)
interpolate.PPoly(square, np.arange(5.0))(places * 4)
interpolate.lagrange(times[:3], heights[:3])(places)
interpolate.pade(side, 1)[0](0.5)
interpolate.approximate_taylor_polynomial(lambda t: t * a[0], 0, 1, 1)(0.3)
interpolate.splprep([times, heights], s=0)[0][1]
interpolate.splint(0.2, 0.7, interpolate.splrep(times, heights))
interpolate.sproot(interpolate.splrep(times, heights - 0.5))
interpolate.bisplev(0.5, 0.5, interpolate.bisplrep(a, b, a * b, kx=1, ky=1))
interpolate.make_splrep(times, heights, s=0)(places)
interpolate.AAA(times, heights)(places)
""",
    "scipy.integrate": """
integrate.trapezoid(image, dx=0.5, axis=0)
integrate.simpson(image, axis=1)
integrate.cumulative_trapezoid(image, axis=0, initial=0)
integrate.quad_vec(lambda t: side * t, 0, 1)[0]
integrate.dblquad(lambda q, p: p * q * a[0], 0, 1, 0, 1)[0]
integrate.fixed_quad(lambda t: t * a[0], 0, 1)[0]
integrate.solve_ivp(lambda t, v: square @ v, (0, 0.5), side, t_eval=[0.2, 0.5]).y
integrate.newton_cotes(3)[0] * side
integrate.nquad(lambda p: a[2] * p, [[0, a[1]]])[0]
""",
    "scipy.spatial.distance": """
distance.cdist(X, Z, "minkowski", p=3)
distance.cdist(X, Z, "seuclidean")
distance.cdist(X, Z, "mahalanobis", VI=np.eye(3))
distance.cdist(X, X)
distance.cdist(X, Z, lambda p, q: abs(p - q).max())
distance.cdist(blobs, blobs[::-1], "jaccard")
distance.pdist(words, "hamming")
distance.pdist(X, "correlation")
distance.squareform(np.arange(6.0) * side[0])
distance.minkowski(a, b, 3, w=np.arange(10.0))
distance.jensenshannon(image, picture, axis=0)
distance.num_obs_y(distance.pdist(X))
spatial.cKDTree(X).query(Z, k=2)
spatial.cKDTree(X).query_ball_point(Z, 1.0)
spatial.KDTree(X).sparse_distance_matrix(spatial.KDTree(Z), 2.0).toarray()
spatial.Delaunay(X[:, :2]).simplices
spatial.Voronoi(X[:, :2]).vertices
spatial.ConvexHull(X).vertices
spatial.minkowski_distance(X[:5], Z)
spatial.transform.Rotation.from_euler("xyz", a[:3]).apply(Z)
spatial.transform.Rotation.from_quat(side).as_matrix()
spatial.geometric_slerp(np.array([1.0, 0]), np.array([0, 1.0]), a[:3])
spatial.tsearch(spatial.Delaunay(X[:, :2]), Z[:, :2])
""",
    "scipy.cluster.vq": """
hierarchy.linkage(X)
hierarchy.linkage(distance.pdist(X), "average")
hierarchy.fcluster(hierarchy.linkage(X, "ward"), 3, "maxclust")
hierarchy.cophenet(hierarchy.linkage(X))
hierarchy.leaves_list(hierarchy.linkage(X))
hierarchy.fclusterdata(X, 1.0)
hierarchy.cut_tree(hierarchy.linkage(X), 3)
hierarchy.dendrogram(hierarchy.linkage(X), no_plot=True)["leaves"]
vq.kmeans2(X, X[:2], minit="matrix")
""",
    "scipy.special": """
special.jv(1, image)
special.gammaln(a)
special.binom(counts, 3)
special.legendre(3)(a)
special.eval_hermite(2, a)
special.ellipk(image)
special.softmax(signal1)
special.logit(a)
special.diric(a, 5)
special.sph_harm_y(1, 1, a, b)
special.zeta(a + 2)
special.factorial(counts % 7)
special.erfinv(a.astype("f4"))
special.logsumexp(image, b=picture, axis=1)
special.xlog1py(a, b)
special.airy(a)
special.roots_legendre(3)[0] * a[:3]
special.kl_div(a, b).sum()
""",
    "scipy, others": """
optimize.minimize(lambda v: ((v - side) ** 2).sum(), np.zeros(4), method="Nelder-Mead").fun
optimize.minimize_scalar(lambda v: (v - a[0]) ** 2).x
optimize.brentq(lambda v: v - a[0], 0, 1)
optimize.fsolve(lambda v: v**2 - side, np.ones(4))
optimize.root(lambda v: v**3 - side, np.ones(4)).x
optimize.newton(lambda v: v**2 - a[0], 0.5)
optimize.least_squares(lambda v: v - side, np.zeros(4)).x
optimize.leastsq(lambda v: v * times - heights[:8], [1.0])[0]
optimize.linprog(-side, A_ub=np.eye(4), b_ub=kernel).x
optimize.lsq_linear(matrix, np.arange(5.0)).x
optimize.differential_evolution(lambda v: (v[0] - a[0]) ** 2, [(0, 1)], rng=0, maxiter=3).x
optimize.approx_fprime(side, lambda v: (v**2).sum())
optimize.rosen(side)
optimize.rosen_der(side)
optimize.bisect(lambda v: v - a[3], 0, 1)
sparse.coo_matrix((side, ([0, 1, 2, 3], [3, 2, 1, 0]))).toarray()
sparse.diags(side).toarray()
sparse.csr_array(square).multiply(spd).toarray()
sparse.csr_matrix(square) @ sparse.csr_matrix(spd)
sparse.csr_matrix(square).T.tocoo().data
sparse.csr_matrix((a[:3], [0, 2, 1], [0, 1, 3]), shape=(2, 3)).todense()
sparse.vstack([sparse.csr_matrix(square), sparse.csr_matrix(spd)]).toarray()
sparse.kron(square, spd).toarray()[:3]
sparse.eye(4) @ square
sparse.random(4, 4, 0.5, rng=0).tocsr() * side
sparse.linalg.cg(spd, side)[0]
sparse.linalg.gmres(spd, side)[0]
sparse.linalg.eigsh(spd, 2, v0=np.ones(4))[0]
sparse.linalg.svds(image, 2, v0=np.ones(6))[1]
sparse.linalg.norm(sparse.csr_matrix(square))
sparse.linalg.expm_multiply(square, side)
csgraph.shortest_path(np.abs(square))
csgraph.dijkstra(np.abs(square), indices=0)
csgraph.connected_components(blobs[:7, :7])
csgraph.minimum_spanning_tree(np.abs(square)).toarray()
csgraph.laplacian(spd)
csgraph.breadth_first_order(spd, 0)[0]
sparse_io.mmwrite(io.BytesIO(), square)
""",
    "skimage.filters": """
filters.gaussian(colours, 0.5, channel_axis=-1)
filters.gaussian(pixels, 0.6, preserve_range=True)
filters.sobel(image, axis=0)
filters.sobel(image, mask=image > 0.2)
filters.median(pixels, np.ones((3, 3)))
filters.median(image, behavior="rank")
filters.unsharp_mask(colours, 0.5, 2, channel_axis=2)
filters.threshold_isodata(image, 8)
filters.threshold_yen(image, 8)
filters.threshold_triangle(image, 8)
filters.threshold_minimum(np.array([0, 1] * 21).reshape(6, 7) * 200 + pixels // 9)
filters.threshold_local(image, 3, "mean")
filters.threshold_otsu(pixels)
filters.meijering(image, [1])
filters.hessian(image, [1], mode="nearest")
filters.window("hann", (6, 7)) * image
filters.gabor_kernel(0.3)[:3, :3].real * window
filters.prewitt_v(image)
filters.roberts_pos_diag(image)
filters.wiener(image, lambda p, q: 1 / (1 + p * p + q * q))
filters.filter_forward(image, lambda p, q: 1 / (1 + p + q))
filters_rank.maximum(pixels, np.ones((3, 3)))
filters_rank.entropy(pixels, np.ones((3, 3)))
filters_rank.equalize(pixels, np.ones((3, 3)))
filters_rank.gradient(pixels, np.ones((3, 3)))
filters_rank.otsu(pixels, np.ones((3, 3)))
filters_rank.mean_bilateral(pixels, np.ones((3, 3)), s0=10, s1=10)
filters_rank.autolevel(pixels, np.ones((3, 3)))
filters_rank.windowed_histogram(pixels // 64, np.ones((3, 3)))
""",
    "skimage.transform": """
transform.resize(colours, (2, 3), anti_aliasing=False)
transform.resize(pixels, (3, 4), preserve_range=True, order=1)
transform.resize(blobs, (4, 4), order=0)
transform.resize(image, (12, 14), order=3)
transform.rescale(colours, 0.5, channel_axis=2)
transform.rotate(pixels, 45, resize=True)
transform.rotate(image, 90, order=0)
transform.warp(image, np.array([[1, 0.1, 0.3], [0, 1, 0.2], [0, 0, 1.0]]), order=0)
transform.warp(image, lambda p: p * 0.7)
transform.warp(colours, transform.SimilarityTransform(scale=1.3, rotation=0.2))
transform.warp(image, np.indices((3, 3)) * 1.2)
transform.warp(image, transform.ProjectiveTransform([[1, 0, 0], [0, 1, 0], [0.01, 0, 1]]))
transform.warp_coords(lambda p: p * 0.7, (3, 4))[0] * a[0]
transform.resize_local_mean(image, (3, 3))
transform.downscale_local_mean(pixels, (4, 3))
transform.radon(image, [30.0])
transform.iradon_sart(picture[:6, :4], np.array([0.0, 45, 90, 135]))
transform.hough_circle(blobs, [2])
transform.hough_line_peaks(*transform.hough_line(blobs))
transform.probabilistic_hough_line(blobs, 1, 2, rng=0)
list(transform.pyramid_laplacian(image, max_layer=1))
transform.frt2(pixels[:5, :5].astype(int))
transform.AffineTransform(scale=side[:2])(X[:, :2])
transform.PolynomialTransform.from_estimate(X[:6, :2], X[6:, :2], order=1).params
transform.SimilarityTransform.from_estimate(X[:4, :2], Z[:4, :2]).inverse(Z[:, :2])
transform.ThinPlateSplineTransform.from_estimate(X[:4, :2], Z[:4, :2])(X[5:, :2])
transform.estimate_transform("similarity", X[:4, :2], Z[:4, :2])(Z[:, :2])
transform.rescale(image, (0.5, 1), order=0)
""",
    "skimage.morphology": """
morphology.erosion(image, morphology.disk(1), mode="min")
morphology.dilation(pixels, np.array([[0, 1], [1, 1]], "u1"))
morphology.opening(colours[..., 0], np.ones((1, 3)))
morphology.binary_closing(blobs)
morphology.isotropic_dilation(blobs, 1)
morphology.isotropic_opening(blobs, 1)
morphology.closing(blobs, np.ones((2, 2)))
morphology.area_closing(pixels, 4)
morphology.diameter_opening(pixels, 2)
morphology.remove_objects_by_distance(regions, 2)
morphology.convex_hull_object(blobs)
morphology.skeletonize(blobs, method="lee")
morphology.h_minima(image, 0.05)
morphology.local_minima(pixels, indices=True)
morphology.flood(image, (2, 2), tolerance=0.3)
morphology.flood_fill(pixels, (0, 0), 7, connectivity=1, tolerance=40)
morphology.max_tree_local_maxima(pixels)
morphology.reconstruction(pixels // 2, pixels)
morphology.reconstruction(image + 0.1, image, method="erosion")
morphology.footprint_from_sequence([(np.ones((3, 1)), 1), (np.ones((1, 3)), 1)]) * pixels[:3, :3]
morphology.white_tophat(pixels, morphology.disk(1))
morphology.thin(blobs, max_num_iter=1)
morphology.octagon(1, 1) * window
""",
    "skimage.exposure": """
exposure.equalize_hist(pixels, mask=pixels > 50)
exposure.equalize_adapthist(pixels, clip_limit=0.05)
exposure.rescale_intensity(pixels, out_range=(0, 1.0))
exposure.rescale_intensity(image, "image", "uint8")
exposure.adjust_gamma(pixels, 0.5)
exposure.adjust_log(pixels, inv=True)
exposure.adjust_sigmoid(pixels, 0.4)
exposure.histogram(pixels)
exposure.histogram(colours, 4, channel_axis=-1)
exposure.match_histograms(pixels, pixels[::-1] // 2)
exposure.match_histograms(colours, colours[::-1] * 0.5, channel_axis=2)
""",
    "skimage.color": """
color.rgb2gray(np.dstack([colours, colours[..., 0]])[..., :3].astype("f4"))
color.rgba2rgb(np.dstack([colours, colours[..., 0]]))
color.rgb2hsv((colours * 255).astype("u1"))
color.rgb2luv(colours)
color.luv2rgb(color.rgb2luv(colours))
color.lab2lch(color.rgb2lab(colours))
color.rgb2rgbcie(colours)
color.xyz2rgb(colours)
color.xyz2lab(colours)
color.hed2rgb(colours)
color.separate_stains(colours, color.hdx_from_rgb)
color.combine_stains(colours, color.rgb_from_hdx)
color.ycbcr2rgb(colours * 100)
color.yiq2rgb(colours)
color.rgb2ypbpr(colours)
color.convert_colorspace(colours, "RGB", "HSV")
color.label2rgb(regions[:6, :7], image, bg_label=0)
color.label2rgb(regions[:4, :5], colours, kind="avg")
color.gray2rgba(image, 0.5)
color.deltaE_ciede2000(colours, colours[::-1])
color.deltaE_ciede94(colours, colours[::-1])
""",
    "skimage.measure": """
measure.regionprops_table(regions[:6, :7], image, properties=("label", "intensity_max", "bbox"))
[region.centroid for region in measure.regionprops(regions)]
[region.eccentricity for region in measure.regionprops(regions)]
[region.weighted_centroid for region in measure.regionprops(regions[:6, :7], image)]
[region.image for region in measure.regionprops(regions)]
measure.label(pixels // 64, connectivity=1, return_num=True)
measure.moments(pixels, 1)
measure.moments_coords(words, 1)
measure.moments_normalized(measure.moments_central(image), 3)
measure.inertia_tensor(image)
measure.inertia_tensor_eigvals(image)
measure.find_contours(blobs.astype(float), 0.5)
measure.profile_line(image, (0, 0), (4, 5), linewidth=2, order=0)
measure.profile_line(colours, (0, 0), (3, 3))
measure.block_reduce(pixels, (4, 3), np.mean)
measure.block_reduce(colours, (2, 2, 1), np.median)
measure.perimeter_crofton(blobs, 2)
measure.mesh_surface_area(X, np.array([[0, 1, 2], [3, 4, 5]]))
measure.grid_points_in_poly((4, 4), X[:4, :2] * 2)
measure.points_in_poly(Z[:, :2], X[:5, :2])
measure.subdivide_polygon(X[:6, :2])
measure.CircleModel.from_estimate(X[:6, :2]).params
measure.EllipseModel.from_estimate(X[:8, :2]).params
measure.LineModelND.from_estimate(X).residuals(Z)
measure.ransac((X[:, :2], X[::-1, :2]), transform.AffineTransform, 3, 1.0, rng=0)[1]
measure.manders_coloc_coeff(image, blobs[:6, :7])
measure.manders_overlap_coeff(image, picture)
measure.intersection_coeff(blobs, blobs[::-1])
measure.pearson_corr_coeff(image, picture, blobs[:6, :7])
measure.marching_cubes(thick, 0.5, step_size=2)[1]
measure.blur_effect(colours, 3, channel_axis=2)
measure.points_in_poly([[0.5, 0.5]], X[:4, :2])
""",
    "skimage.feature": """
feature.canny(image, 0.4, 0.05, 0.1, mask=image > 0.2)
feature.corner_kitchen_rosenfeld(image)
feature.corner_shi_tomasi(image)
feature.corner_foerstner(image)
feature.corner_fast(image, 5)
feature.corner_moravec(image)
feature.corner_subpix(image, words[:2] + 2, 3)
feature.corner_orientations(image, words[:2] + 2, np.ones((3, 3)))
feature.peak_local_max(pixels, min_distance=1, labels=regions[:6, :7])
feature.hog(image, 4, (3, 3), (1, 1), visualize=True)
feature.local_binary_pattern(image, 8, 1, "uniform")
feature.multiblock_lbp(transform.integral_image(pixels.astype(int)), 0, 0, 1, 1)
feature.match_template(image, window, pad_input=True)
feature.structure_tensor_eigenvalues(feature.structure_tensor(image))
feature.hessian_matrix_det(image)
feature.hessian_matrix_eigvals(feature.hessian_matrix(image, use_gaussian_derivatives=False))
feature.shape_index(image)
feature.daisy(np.tile(image, (3, 3)), step=8, radius=5, rings=1, histograms=2, orientations=2)
feature.blob_dog(image, max_sigma=2, threshold=0.05)
feature.blob_doh(image, max_sigma=2, num_sigma=2, threshold=0.001)
feature.graycomatrix(pixels // 64, [1, 2], [0, 0.8], 4, symmetric=True, normed=True)
feature.haar_like_feature_coord(3, 3, "type-2-x")[0][0][0][0][0] * image[0, 0]
feature.draw_multiblock_lbp(image, 0, 0, 2, 2)
""",
    "skimage.metrics": """
skimage_metrics.structural_similarity(pixels, pixels[::-1], win_size=3)
skimage_metrics.structural_similarity(image, picture, win_size=3, data_range=1, full=True)
skimage_metrics.structural_similarity(colours, colours[::-1], win_size=3, data_range=1, channel_axis=2)
skimage_metrics.peak_signal_noise_ratio(pixels, pixels[::-1])
skimage_metrics.normalized_root_mse(image, picture, normalization="min-max")
skimage_metrics.contingency_table(regions, regions[::-1]).toarray()
skimage_metrics.hausdorff_pair(blobs, blobs[::-1])
""",
    "skimage.restoration": """
restoration.denoise_tv_bregman(image, max_num_iter=3)
restoration.denoise_bilateral(colours, sigma_spatial=1, channel_axis=-1)
restoration.unsupervised_wiener(image, window, rng=0)[0]
restoration.unwrap_phase(image * 9)
restoration.inpaint_biharmonic(colours, np.eye(4, 5) > 0, channel_axis=-1)
restoration.ball_kernel(2, 2)[1:4, 1:4] * window
restoration.rolling_ball(pixels, radius=2)
restoration.denoise_nl_means(image, 3, 2, fast_mode=False)
""",
    "skimage.segmentation": """
segmentation.watershed(pixels, np.eye(6, 7, dtype=int))
segmentation.watershed(-image, mask=image > 0.3)
segmentation.slic(colours, 4)
segmentation.quickshift(colours, 1, 2)
segmentation.felzenszwalb(colours, 10)
segmentation.find_boundaries(regions, mode="inner")
segmentation.mark_boundaries(colours, regions[:4, :5])
segmentation.clear_border(blobs, 1)
segmentation.expand_labels(regions, 2)
segmentation.flood_fill(image, (2, 2), 9.0, tolerance=0.1)
segmentation.checkerboard_level_set((6, 7), 2) * image
segmentation.morphological_chan_vese(image, 2)
segmentation.morphological_geodesic_active_contour(image, 2, "checkerboard")
segmentation.inverse_gaussian_gradient(image, sigma=0.5)
segmentation.active_contour(image, X[:6, :2] + 2, max_num_iter=2)
segmentation.relabel_sequential(words, 3)
segmentation.disk_level_set((6, 7)) * image
""",
    "skimage.util": """
util.invert(pixels)
util.img_as_float32(pixels)
util.img_as_uint(image)
util.img_as_int(image * 2 - 1)
util.img_as_bool(image)
util.crop(colours, ((1, 0), (0, 2), (0, 0)))
util.montage(thick, padding_width=1, grid_shape=(1, 3))
util.view_as_windows(colours, (2, 2, 3), 2)
util.random_noise(image, "s&p", rng=1)
util.random_noise(image, "poisson", rng=1)
util.compare_images(image, picture, method="checkerboard", n_tiles=(2, 2))
util.regular_grid((6, 7), 4)[0].start * image[0, 0]
util.slice_along_axes(image, [(1, 3)], [0])
util.dtype_limits(pixels)
util.label_points(Z[:, :2] * 0 + 1, (4, 4))
""",
    "sklearn, transformers": """
preprocessing.StandardScaler(with_mean=False).fit(X.astype("f4")).transform(Z.astype("f4"))
preprocessing.StandardScaler().partial_fit(X[:6]).partial_fit(X[6:]).var_
preprocessing.MinMaxScaler((-1, 1), clip=True).fit_transform(gaps)
preprocessing.RobustScaler(quantile_range=(10, 90)).fit_transform(X)
preprocessing.PolynomialFeatures(2, interaction_only=True, include_bias=False).fit_transform(X)
preprocessing.KBinsDiscretizer(3, strategy="uniform").fit_transform(X)
preprocessing.KBinsDiscretizer(3, encode="onehot-dense", strategy="kmeans").fit_transform(X)
preprocessing.TargetEncoder(cv=2, random_state=0).fit_transform(words, a[:8])
preprocessing.OneHotEncoder(drop="first").fit(words).transform(words[::-1])
preprocessing.MultiLabelBinarizer().fit_transform([[0, 1], [2]]) * side[0]
preprocessing.QuantileTransformer(n_quantiles=5, output_distribution="normal").fit_transform(X)
impute.SimpleImputer(strategy="constant", fill_value=0).fit_transform(gaps)
impute.SimpleImputer(strategy="most_frequent", add_indicator=True).fit_transform(gaps)
decomposition.PCA(0.9, whiten=True).fit(X).transform(Z)
decomposition.PCA(2).fit(X).inverse_transform(Z[:, :2])
decomposition.PCA(2, svd_solver="randomized", random_state=0).fit_transform(X)
decomposition.IncrementalPCA(2, batch_size=6).fit_transform(X)
decomposition.SparsePCA(2, random_state=0, max_iter=10).fit_transform(X)
decomposition.DictionaryLearning(2, max_iter=3, random_state=0).fit_transform(X)
decomposition.LatentDirichletAllocation(2, max_iter=2, random_state=0).fit_transform(counts)
feature_selection.SelectPercentile(feature_selection.f_regression, percentile=50).fit_transform(X, y)
feature_selection.RFE(linear_model.LinearRegression(), n_features_to_select=2).fit_transform(X, y)
feature_selection.SelectFromModel(linear_model.Lasso(0.05)).fit(X, y).transform(Z)
feature_selection.SequentialFeatureSelector(linear_model.Ridge(), cv=2).fit_transform(X, y)
feature_selection.SelectKBest(k=1).fit(X, c).scores_
cross_decomposition.PLSRegression(1).fit(X, y).predict(Z)
cross_decomposition.CCA(1).fit(X, X[:, :2] * 2).transform(Z)
manifold.LocallyLinearEmbedding(n_neighbors=4, random_state=0).fit_transform(X)
manifold.SpectralEmbedding(2, random_state=0).fit_transform(X)
manifold.TSNE(perplexity=3, random_state=0, max_iter=250).fit_transform(X)
compose.make_column_transformer((preprocessing.StandardScaler(), [0]), remainder="passthrough").fit_transform(X)
pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge()).fit(X, y).predict(Z)
pipeline.make_union(preprocessing.StandardScaler(), decomposition.PCA(1)).fit_transform(X)
covariance.LedoitWolf().fit(X).covariance_
covariance.MinCovDet(random_state=0).fit(X).mahalanobis(Z)
random_projection.SparseRandomProjection(2, random_state=0, dense_output=True).fit_transform(X)
kernel_approximation.Nystroem(n_components=3, random_state=0).fit(X).transform(Z)
kernel_approximation.RBFSampler(n_components=4, random_state=0).fit_transform(X)
feature_extraction.image.extract_patches_2d(image, (2, 2))
feature_extraction.image.img_to_graph(image).data
feature_extraction.image.reconstruct_from_patches_2d(thick, (4, 6))
neighbors.NeighborhoodComponentsAnalysis(2, random_state=0, max_iter=5).fit(X, c).transform(Z)
neighbors.KNeighborsTransformer(n_neighbors=2).fit_transform(X)
""",
    "sklearn, predictors": """
linear_model.LinearRegression(fit_intercept=False).fit(X, np.stack([y, y * 2], 1)).predict(Z)
linear_model.Ridge(np.array([0.1])).fit(X, y, sample_weight=scores).predict(Z)
linear_model.RidgeCV([0.1, 1.0]).fit(X, y).alpha_
linear_model.LassoCV(cv=3, alphas=5, random_state=0).fit(X, y).predict(Z)
linear_model.OrthogonalMatchingPursuit(n_nonzero_coefs=1).fit(X, y).coef_
linear_model.Lars().fit(X, y).predict(Z)
linear_model.LogisticRegression(C=0.5).fit(X, binary).decision_function(Z)
linear_model.PoissonRegressor().fit(X, scores).predict(Z)
linear_model.TheilSenRegressor(random_state=0, max_subpopulation=20).fit(X, y).predict(Z)
linear_model.RANSACRegressor(random_state=0).fit(X, y).predict(Z)
linear_model.QuantileRegressor().fit(X, y).predict(Z)
linear_model.PassiveAggressiveClassifier(random_state=0).fit(X, c).predict(Z)
linear_model.SGDClassifier(loss="log_loss", random_state=0).partial_fit(X, c, [0, 1, 2]).predict_proba(Z)
neighbors.RadiusNeighborsRegressor(3.0).fit(X, y).predict(Z)
neighbors.KNeighborsRegressor(2, weights="distance").fit(X, y).predict(X)
neighbors.NearestNeighbors(radius=1.5).fit(X).radius_neighbors(Z, return_distance=False)
neighbors.NearestNeighbors(n_neighbors=3).fit(X).kneighbors_graph(Z).toarray()
neighbors.KDTree(X).query(Z, k=2)
neighbors.BallTree(X).query_radius(Z, 1.0, count_only=True)
neighbors.kneighbors_graph(X, 2).toarray()
tree.DecisionTreeClassifier(random_state=0).fit(X, c).feature_importances_
tree.DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, y).apply(Z)
tree.DecisionTreeClassifier(random_state=0).fit(X, c).tree_.threshold
tree.export_text(tree.DecisionTreeClassifier(random_state=0).fit(X, c))
ensemble.ExtraTreesRegressor(4, random_state=0).fit(X, y).predict(Z)
ensemble.HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=2).fit(X, y).predict(Z)
ensemble.GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, c).predict_proba(Z)
ensemble.BaggingRegressor(n_estimators=3, random_state=0).fit(X, y).predict(Z)
ensemble.VotingRegressor([("a", linear_model.Ridge()), ("b", tree.DecisionTreeRegressor(random_state=0))]).fit(X, y).predict(Z)
ensemble.StackingRegressor([("a", linear_model.Ridge())], cv=3).fit(X, y).predict(Z)
ensemble.RandomForestClassifier(3, random_state=0).fit(X, c).feature_importances_
ensemble.RandomTreesEmbedding(2, random_state=0, max_depth=2).fit_transform(X).toarray()
svm.SVC(kernel="poly", probability=False).fit(X, c).support_vectors_
svm.NuSVC(nu=0.3).fit(X, c).predict(Z)
svm.OneClassSVM(nu=0.2).fit(X).decision_function(Z)
svm.LinearSVR(random_state=0).fit(X, y).predict(Z)
naive_bayes.BernoulliNB().fit(X > 0, c).predict(Z > 0)
naive_bayes.ComplementNB().fit(counts, [0, 1, 0, 1, 0, 1]).predict(counts)
naive_bayes.GaussianNB().partial_fit(X, c, [0, 1, 2]).theta_
discriminant_analysis.LinearDiscriminantAnalysis(solver="lsqr").fit(X, c).predict(Z)
gaussian_process.GaussianProcessRegressor(optimizer=None).fit(X, y).predict(Z, return_std=True)
gaussian_process.GaussianProcessClassifier(optimizer=None).fit(X, binary).predict_proba(Z)
gaussian_process.kernels.RBF(0.5)(X, Z)
neural_network.MLPClassifier(3, max_iter=3, random_state=0).fit(X, c).predict_proba(Z)
cluster.KMeans(2, n_init=1, random_state=0, init=X[:2]).fit(X).predict(Z)
cluster.KMeans(2, n_init=1, random_state=0).fit(X, sample_weight=scores).inertia_
cluster.AffinityPropagation(random_state=0).fit_predict(X)
cluster.Birch(n_clusters=2).fit(X).predict(Z)
cluster.OPTICS(min_samples=3).fit(X).reachability_
cluster.HDBSCAN(3, copy=True).fit_predict(X)
cluster.BisectingKMeans(2, random_state=0).fit(X).labels_
cluster.estimate_bandwidth(X)
cluster.FeatureAgglomeration(2).fit_transform(X)
mixture.GaussianMixture(2, random_state=0).fit(X).score_samples(Z)
mixture.BayesianGaussianMixture(n_components=2, random_state=0, max_iter=5).fit(X).means_
semi_supervised.LabelPropagation().fit(X, np.where(np.arange(12) % 4, c, -1)).predict(Z)
multiclass.OneVsRestClassifier(linear_model.RidgeClassifier()).fit(X, c).predict(Z)
multioutput.MultiOutputRegressor(linear_model.Ridge()).fit(X, np.stack([y, scores], 1)).predict(Z)
calibration.CalibratedClassifierCV(naive_bayes.GaussianNB(), cv=2).fit(X, c).predict_proba(Z)
compose.TransformedTargetRegressor(linear_model.Ridge(), func=np.log, inverse_func=np.exp).fit(X, scores).predict(Z)
isotonic.isotonic_regression(heights)
dummy.DummyClassifier(strategy="most_frequent").fit(X, c).predict(Z)
ensemble.IsolationForest(n_estimators=3, random_state=0).fit_predict(X)
inspection.permutation_importance(linear_model.Ridge().fit(X, y), X, y, n_repeats=2, random_state=0).importances
model_selection.RandomizedSearchCV(linear_model.Ridge(), {"alpha": [0.1, 1, 5]}, n_iter=2, cv=2, random_state=0).fit(X, y).best_score_
model_selection.cross_validate(linear_model.Ridge(), X, y, cv=2)["test_score"]
model_selection.learning_curve(linear_model.Ridge(), X, y, cv=2, train_sizes=[0.5, 1.0])[2]
model_selection.validation_curve(linear_model.Ridge(), X, y, param_name="alpha", param_range=[0.1, 1], cv=2)[1]
""",
    "sklearn, metrics": """
metrics.accuracy_score(truth, c, sample_weight=scores)
metrics.confusion_matrix(truth, c, normalize="true")
metrics.precision_score(truth, c, average=None, zero_division=0)
metrics.jaccard_score(truth, c, average="weighted")
metrics.hamming_loss(truth, c)
metrics.zero_one_loss(truth, c)
metrics.roc_auc_score(binary, scores, max_fpr=0.5)
metrics.det_curve(binary, scores)
metrics.top_k_accuracy_score(c, X, k=2)
metrics.hinge_loss(binary, scores)
metrics.d2_absolute_error_score(y, scores)
metrics.mean_squared_log_error(scores, scores[::-1])
metrics.root_mean_squared_error(np.stack([y, scores], 1), X[:, :2], multioutput="raw_values")
metrics.mean_pinball_loss(y, scores, alpha=0.3)
metrics.mean_tweedie_deviance(scores, scores[::-1], power=1)
metrics.ndcg_score(image, picture, k=3)
metrics.label_ranking_loss(blobs[:5, :3], X[:5])
metrics.coverage_error(blobs[1:5, :3], X[:4])
metrics.homogeneity_completeness_v_measure(truth, c)
metrics.fowlkes_mallows_score(truth, c)
metrics.rand_score(truth, c)
metrics.mutual_info_score(truth, c)
metrics.silhouette_samples(X, c)
metrics.multilabel_confusion_matrix(truth, c)
metrics.class_likelihood_ratios(binary, truth % 2)
metrics.consensus_score(([blobs[0]], [blobs[1]]), ([blobs[2]], [blobs[3]]))
pairwise.cosine_distances(X)
pairwise.nan_euclidean_distances(gaps)
pairwise.laplacian_kernel(X, Z)
pairwise.sigmoid_kernel(X)
pairwise.chi2_kernel(image)
pairwise.additive_chi2_kernel(image)
pairwise.haversine_distances(X[:, :2])
pairwise.paired_distances(X[:5], Z)
pairwise.pairwise_kernels(X, Z, metric="rbf")
pairwise.euclidean_distances(X.astype("f4"), squared=True)
metrics.pairwise_distances_argmin_min(Z, X)
metrics.pairwise_distances(X, Z, metric=lambda p, q: abs(p - q).sum())
list(metrics.pairwise_distances_chunked(X))
metrics.make_scorer(metrics.r2_score)(linear_model.Ridge().fit(X, y), Z, Z[:, 0])
""",
    "sklearn, functions": """
preprocessing.scale(X, axis=1)
preprocessing.normalize(X, "l1", axis=0, return_norm=True)
preprocessing.normalize(gaps, "max") if False else preprocessing.normalize(image, "max")
preprocessing.robust_scale(gaps)
model_selection.train_test_split(X, c, test_size=0.25, stratify=c, random_state=0)
model_selection.train_test_split(list(a), shuffle=False)
[X[test].sum(0) for _, test in model_selection.KFold(3).split(X)]
[y[test] for _, test in model_selection.StratifiedKFold(2).split(X, c)]
[y[train] for train, _ in model_selection.TimeSeriesSplit(2).split(X)]
[y[test] for _, test in model_selection.ShuffleSplit(2, random_state=0).split(X)]
sklearn_utils.shuffle(X, y, random_state=0)
sklearn_utils.resample(X, n_samples=4, random_state=0)
sklearn_utils.check_array(image)
sklearn_utils.check_X_y(X, y)
sklearn_utils.class_weight.compute_class_weight("balanced", classes=np.array([0, 1, 2]), y=c)
sklearn_utils.class_weight.compute_sample_weight("balanced", truth)
extmath.safe_sparse_dot(X, Z.T)
extmath.stable_cumsum(a) if hasattr(extmath, "stable_cumsum") else a * 2
extmath.density(counts)
extmath.cartesian([side, kernel])
linear_model.enet_path(X, y, n_alphas=3)[1]
linear_model.orthogonal_mp(X, y, n_nonzero_coefs=1)
feature_selection.chi2(counts, [0, 1, 0, 1, 0, 1])
feature_selection.r_regression(X, y)
cluster.dbscan(X, 1.0)
cluster.spectral_clustering(np.abs(spd), n_clusters=2, random_state=0)
cluster.ward_tree(X)[0]
cluster.kmeans_plusplus(X, 2, random_state=0)
cluster.affinity_propagation(spd, random_state=0)
covariance.oas(X)
covariance.graphical_lasso(spd, 0.3)[0]
covariance.shrunk_covariance(spd)
decomposition.fastica(X, 2, random_state=0, whiten="unit-variance")[2]
decomposition.dict_learning(X, 2, alpha=1, max_iter=2, random_state=0)[0]
decomposition.sparse_encode(X, window)
manifold.smacof(spd + spd.T, n_components=1, n_init=1, max_iter=5, random_state=0)
manifold.locally_linear_embedding(X, n_neighbors=4, n_components=1, random_state=0)[0]
svm.l1_min_c(X, c)
isotonic.check_increasing(times, heights)
""",
    "pandas": """
pd.DataFrame(X).apply(lambda v: v - v.mean()).to_numpy()
pd.DataFrame(X).rolling(2).sum().dropna().values
pd.Series(a, index=words.ravel()[:10]).groupby(level=0).mean().to_numpy()
pd.Series(signal1).diff().fillna(0).to_numpy()
pd.Series(signal1).shift(2).to_numpy()
pd.DataFrame({"p": a, "q": b}).eval("p * q").to_numpy()
pd.DataFrame({"p": a, "q": b}).query("p > 0.5")["q"].to_numpy()
pd.concat([pd.Series(a), pd.Series(b)]).to_numpy()
pd.merge(pd.DataFrame({"k": c, "v": y}), pd.DataFrame({"k": [0, 1], "w": side[:2]}))["w"].to_numpy()
pd.pivot_table(pd.DataFrame({"k": c, "v": y}), values="v", index="k").to_numpy()
pd.qcut(a, 3).codes
pd.Series(a).value_counts().to_numpy()
pd.Series(a).quantile([0.2, 0.7]).to_numpy()
pd.to_datetime(counts.ravel()[:3], unit="D").year.to_numpy()
pd.Categorical(c).codes
pd.DataFrame(gaps).interpolate().to_numpy()
pd.DataFrame(X).to_csv()
pd.DataFrame(X).iloc[1:3, 0].to_list()
pd.isna(gaps)
pd.unique(c)
pd.Series(a).sort_values().index.to_numpy()
pd.DataFrame(X).describe().loc["mean"].to_numpy()
""",
    "numba": """
masked_sum(image, image > 0.5)
fill_out(a, np.zeros(10))
pair_distances(X)
scaled_by(a, a.mean())
""",
    "standard library": """
struct.unpack("2d", struct.pack("2d", a[0], a[1]))
struct.pack_into("d", bytearray(8), 0, a[0])
memoryview(image).cast("B")[:8].tobytes()
memoryview(a).tolist()
bytes(memoryview(pixels))
bytes(bytearray(pixels[0]))
(ctypes.c_double * 3)(*a[:3])[1]
ctypes.cast(a.ctypes.data, ctypes.POINTER(ctypes.c_double))[2]
np.ctypeslib.as_array((ctypes.c_double * 2)(*a[:2])) * 2
a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))[1]
pickle.loads(pickle.dumps({"a": a, "b": [b[0]]}))["b"]
copy.copy(a[0]) * 2
json.dumps({"v": a.tolist(), "n": int(counts[0, 0])})
json.loads(json.dumps(list(a[:2])))
json.dumps(dict(enumerate(side)))
json.dumps([int(v) for v in c])
math.prod(a)
math.comb(counts[0, 0], 2)
math.floor(a[0] * 10)
math.atan2(a[0], b[0])
math.log(a[0], b[0] + 1)
math.frexp(a[0])
math.copysign(a[0], -b[0])
math.ldexp(a[0], 3)
math.lcm(counts[0, 0], counts[0, 1])
math.factorial(words[0, 0])
math.perm(words[0, 0] + 4, 2)
math.isqrt(counts[0, 0])
math.fmod(a[0], b[0])
math.nextafter(a[0], 1)
round(a[0], 2)
round(a[0])
abs(signal1[0])
pow(a[0], 2)
pow(int(counts[0, 0]), 3, 7)
hex(counts[0, 0])
bin(counts[0, 0])
chr(pixels[0, 0] % 90 + 33)
str(a[0]) + "!"
repr(a[:2])
format(a[0], ".3f")
"%.3f" % a[0]
"{:.2f} {:.1f}".format(a[0], b[0])
float(str(a[0]))
int.from_bytes(pixels[0].tobytes(), "little")
float.fromhex(a[0].hex())
complex(a[0])
bool(a[0])
list(reversed(a))
list(a[:3]) + list(b[:2])
[*a[:2], *b[:2]]
sum(a, 1.0)
sum(row.sum() for row in image)
min(a, b[:3].max()) if False else min(a[0], b[0])
max(a.tolist())
max(image, key=lambda row: row.sum())
sorted(zip(a, b))
sorted(a, reverse=True)[:3]
sorted(range(10), key=a.__getitem__)
statistics.variance(a)
statistics.mode(c)
statistics.harmonic_mean(a)
statistics.geometric_mean(a)
statistics.correlation(a, b)
statistics.pstdev(a)
statistics.covariance(a, b)
statistics.multimode(words[:, 0])
random.Random(0).shuffle(list(a))
random.Random(0).uniform(a[0], b[0])
random.Random(0).choice(a)
random.Random(0).gauss(a[0], b[0])
random.Random(0).choices([1, 2, 3], weights=a[:3], k=4)
random.Random(counts[0, 0]).random()
random.Random(0).randint(0, counts[0, 0])
range(words[0, 0] + 2)[-1]
[0.0] * (words[0, 0] + 1)
"ab"[words[0, 0] % 2]
{words[0, 0]: 1.5}[words[0, 0]]
{0: a, 1: b, 2: a}[words[0, 0]] * 2
collections.OrderedDict(zip(range(3), a))[1] * 2
collections.defaultdict(float, {0: a[0]})[0] * 2
collections.Counter(words[:, 0].tolist()).most_common(1)
collections.namedtuple("P", "x y")(a[0], b[0]).x * 2
dict(zip("abc", a))["b"] * 2
heapq.merge(sorted(a), sorted(b)).__next__()
heapq.heappop(sorted(a))
bisect.bisect_left(sorted(a), 0.5) * 1.0
itertools.chain(a[:2], b[:2]).__next__() * 2
list(itertools.pairwise(a))[0][1] * 2
list(itertools.islice(a, 2, 4))
list(itertools.takewhile(lambda v: v < 0.9, a))
list(itertools.starmap(operator.mul, zip(a, b)))
list(itertools.combinations(side, 2))
list(itertools.zip_longest(a[:2], b[:1], fillvalue=0.0))
functools.reduce(operator.add, a)
functools.cache(lambda v: v * 2)(a[1])
list(map(math.exp, a))
list(map(lambda v, w: v * w, a, b))
operator.add(a[0], 1)
operator.index(words[0, 0])
array.array("f", a.tolist())
array.array("l", counts.ravel())
array.array("d", image.tobytes())
base64.b64decode(base64.b64encode(a.tobytes()))
zlib.crc32(a)
hashlib.sha256(a).hexdigest()
io.BytesIO(a.tobytes()).getvalue()
(datetime.datetime(2020, 1, 1) + datetime.timedelta(days=int(counts[0, 0]))).isoformat()
decimal.Decimal(str(a[0])) * 2
fractions.Fraction(counts[0, 0], 7)
divmod(counts[0, 0], 7)
hash(a[0])
next(iter(a)) * 2
a.item(3) * 2
a.tolist()[2] * 2
image.item((1, 2)) * 2
a.tobytes()
a.dumps() is None
a.__array__()[1] * 2
a.__reduce__()[2][1]
np.float64(a[0]).item() * 2
image.flat[3] * 2
list(image.flat)[3] * 2
sum(image.flat)
image.T.copy().ravel().tolist()[2] * 2
a.data[2] * 2
a.view("i8")[0] * 1
a.view("u1").sum()
a.byteswap().byteswap() * 2
a.astype("S8")[0]
a.astype(object) * 2
list(a.astype(object))[0] * 2
image.astype(int).tolist()
image.dot(picture.T).trace()
list(futures.ThreadPoolExecutor(2).map(float, a))
list(futures.ThreadPoolExecutor(2).map(lambda v: v.sum(), [image, picture]))
futures.ThreadPoolExecutor(1).submit(np.sort, a).result()
asyncio.run(asyncio.to_thread(np.cumsum, a))
contextvars.copy_context().run(np.sort, a)
types.MappingProxyType({"a": a})["a"] * 2
copy.deepcopy({"a": a, "n": a[0]})["n"] * 2
weakref.ref(a)() * 2
string.Template("$v").substitute(v=a[0])
print(a[0], file=io.StringIO())
io.StringIO().write(str(a))
csv.writer(io.StringIO()).writerow(a)
pprint.pformat(a.tolist())
textwrap.shorten(str(a[0]), 5)
operator.attrgetter("T")(image)[0] * 2
inspect.isclass(a)
isinstance(a[0], float)
len(image) * 2
time.sleep(a[0] * 0)
uuid.UUID(int=int(counts[0, 0])).hex
str(ipaddress.ip_address(int(counts[0, 0])))
calendar.monthrange(2000 + words[0, 0], 1)
colorsys.rgb_to_hsv(*colours[0, 0])
colorsys.rgb_to_hls(a[0], a[1], a[2])
numbers.Number.__instancecheck__(a[0]) if False else isinstance(a[0], numbers.Real)
dataclasses.astuple(dataclasses.make_dataclass("P", ["x", "y"])(a[0], b[0]))
eval("v * 2", {"v": a[0]})
enumerate(a).__next__()[1] * 2
filter(None, a).__next__() * 2
slice(words[0, 0], 5).start
image[words[0, 0]:, words[0, 1]]
list(range(10))[words[0, 0]]
[a[0] if v else 0.0 for v in blobs[0]]
any(v > 0.9 for v in a)
all(a > 0)
not a[0]
1 if image.any() else 0
a[0] == b[0]
a[0] in b
0.5 in a
a.tolist().index(a[0])
list(a).count(a[0])
""",
}
"""Expressions by library."""
