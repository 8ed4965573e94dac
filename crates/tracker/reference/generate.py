"""Writes the reference data that the tests of the statistics compare with.

`python generate.py [name ...]` writes all files, or the named ones ("adf", "psi", ...), next to this script.
Inputs are rounded before they are used, so every file holds exactly what its reference was computed from.
Every file has its own random stream: making one alone gives the same bytes as making all.
"""

import argparse
import json
import math
import os
import sys
import time
import warnings
import zlib
from fractions import Fraction
from pathlib import Path

# More threads may add numbers up in another order, and then the last digits differ from run to run.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
import scipy  # noqa: E402
import sklearn  # noqa: E402
import statsmodels  # noqa: E402
from scipy import stats  # noqa: E402
from sklearn.linear_model import Ridge  # noqa: E402
from statsmodels.stats.proportion import proportion_confint  # noqa: E402
from statsmodels.tsa.arima.model import ARIMA  # noqa: E402
from statsmodels.tsa.exponential_smoothing.ets import ETSModel  # noqa: E402
from statsmodels.tsa.stattools import adfuller  # noqa: E402

HERE = Path(__file__).resolve().parent
SEED = 20240611
SCALES = (1e-6, 1e-3, 1.0, 1.0, 1.0, 1e3, 1e6)
FAMILIES = ("normal", "uniform", "heavy", "skewed", "ties", "coarse", "halves", "trend", "offset", "walk")
MADE_WITH = {
    "python": ".".join(map(str, sys.version_info[:3])),
    "numpy": np.__version__,
    "scipy": scipy.__version__,
    "statsmodels": statsmodels.__version__,
    "scikit-learn": sklearn.__version__,
}


# Helpers shared by all files.


def stream(name):
    """A random generator of its own for each file."""
    return np.random.default_rng([SEED, zlib.crc32(name.encode())])


def rounded(values):
    """The values with 6 significant digits: short in the file, and exact when read back."""
    return [float(f"{value:.6g}") for value in np.asarray(values, dtype=float)]


def integer(rng, low, high):
    """A whole number from low to high, both included."""
    return int(rng.integers(low, high + 1))


def pick(rng, choices):
    """One of the choices, as a plain Python value."""
    return choices[integer(rng, 0, len(choices) - 1)]


def shape(rng, family, n):
    """An unscaled sample of one family; each family is awkward for some statistic."""
    noise = rng.normal(size=n)
    if family == "uniform":
        return rng.uniform(-1, 1, n)
    if family == "heavy":
        return rng.standard_t(1.5, n)
    if family == "skewed":
        return rng.exponential(size=n)
    if family == "ties":
        return rng.integers(0, 4, n).astype(float)
    if family == "coarse":
        return np.round(noise, 1)
    if family == "halves":
        return np.where(np.arange(n) < n // 2, 0.0, 3.0) + 0.01 * noise
    if family == "trend":
        return 0.2 * np.arange(n) + 0.5 * noise
    if family == "offset":
        return 100 + noise
    if family == "walk":
        return np.cumsum(noise)
    return noise


def sample(rng, n, attempt, scale):
    """A rounded sample whose family follows from the attempt's number, so that all families get their share."""
    return rounded(scale * shape(rng, FAMILIES[attempt % len(FAMILIES)], n))


def finite(value):
    """Whether all numbers inside the value are finite."""
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(finite, value))
    return value is None or isinstance(value, str) or math.isfinite(value)


def close(a, b, tolerance):
    """Whether two numbers agree relative to the larger one, or to 1 when both are smaller."""
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


def collect(count, make):
    """Calls make(attempt) until there are enough cases; leaves out those with nan, a warning or an error."""
    cases = []
    for attempt in range(count * 20):
        if len(cases) == count:
            return cases
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                case = make(attempt)
        except (ValueError, ZeroDivisionError, FloatingPointError, np.linalg.LinAlgError, Warning):
            continue
        if case is not None and finite(case):
            cases.append(case)
    raise RuntimeError(f"only {len(cases)} of {count} cases are usable")


def write(name, cases):
    """Writes one data file."""
    text = json.dumps({"made_with": MADE_WITH, "cases": cases}, separators=(",", ":"), allow_nan=False)
    path = HERE / f"{name}.json"
    path.write_text(text + "\n", encoding="utf-8")
    print(f"{path.name}: {len(cases)} cases, {path.stat().st_size} bytes", flush=True)


# Tests, intervals and models.


def recursion(rng, n, ar=(), ma=(), noise=1.0):
    """An ARMA series around 0, after 100 steps that are thrown away so that the start does not matter."""
    shocks = noise * rng.normal(size=n + 100)
    values = np.zeros(n + 100)
    for t in range(n + 100):
        values[t] = shocks[t]
        values[t] += sum(c * values[t - 1 - i] for i, c in enumerate(ar) if t > i)
        values[t] += sum(c * shocks[t - 1 - i] for i, c in enumerate(ma) if t > i)
    return values[100:]


def unit_root_series(rng, attempt, n):
    """A series for the unit root test: stationary, integrated, trending, exploding, or one of the awkward families."""
    coefficients = (0.2, 0.5, 0.8, 0.9, 0.95, -0.6)
    makers = (
        lambda: rng.normal(size=n),
        lambda: recursion(rng, n, ar=(pick(rng, coefficients),)),
        lambda: np.cumsum(rng.normal(size=n)),
        lambda: rng.uniform(-0.5, 0.5) * np.arange(n) + rng.normal(size=n),
        lambda: recursion(rng, n, ma=(rng.uniform(-0.9, 0.9),)),
        lambda: np.cumsum(rng.uniform(-0.5, 0.5) + rng.normal(size=n)),
        lambda: recursion(rng, n, ar=(0.6, -0.3)),
        lambda: 1.1 ** np.arange(n) + 0.1 * rng.normal(size=n),
        lambda: shape(rng, pick(rng, FAMILIES), n),
    )
    return makers[attempt % len(makers)]()


def augmented_dickey_fuller(series, max_lag):
    """The unit root test; the lag is chosen by AIC when max_lag is None."""
    rule = "AIC" if max_lag is None else None
    return adfuller(series, maxlag=max_lag, regression="c", autolag=rule, result_object=False)


def adf():
    """Augmented Dickey-Fuller test with a constant."""
    rng = stream("adf")

    def make(attempt):
        n = 12 + attempt % 9 if attempt % 5 == 0 else integer(rng, 12, 120)
        series = np.array(rounded(pick(rng, SCALES) * unit_root_series(rng, attempt, n)))
        max_lag = integer(rng, 0, min(6, n // 2 - 3)) if attempt % 6 == 5 else None
        result = augmented_dickey_fuller(series, max_lag)
        # The test does not depend on level and scale. Where the reference does, it is rounding noise.
        other = augmented_dickey_fuller((series - series.mean()) / series.std(), max_lag)
        if result[2] != other[2] or not close(result[0], other[0], 1e-9):
            return None
        return {
            "series": series.tolist(),
            "max_lag": max_lag,
            "statistic": float(result[0]),
            "p_value": float(result[1]),
            "used_lag": int(result[2]),
            "nobs": int(result[3]),
            "critical": [float(result[4][level]) for level in ("1%", "5%", "10%")],
        }

    write("adf", collect(260, make))


def levene():
    """Brown-Forsythe test: Levene's with the median as the centre."""
    rng = stream("levene")

    def make(attempt):
        scale = pick(rng, SCALES)
        a = sample(rng, integer(rng, 3, 60), attempt, scale)
        b = sample(rng, integer(rng, 3, 60), attempt + attempt // 10, scale * pick(rng, (0.2, 1.0, 1.0, 3.0)))
        result = stats.levene(a, b, center="median")
        # A huge statistic divides by a spread that is only rounding noise.
        if result.statistic > 1e9:
            return None
        return {"a": a, "b": b, "statistic": float(result.statistic), "p_value": float(result.pvalue)}

    write("levene", collect(220, make))


def all_sides(test, *arguments, **options):
    """A t test's statistic, degrees of freedom and p values for the three alternatives."""
    results = {side: test(*arguments, alternative=side, **options) for side in ("two-sided", "less", "greater")}
    return {
        "statistic": float(results["two-sided"].statistic),
        "df": float(results["two-sided"].df),
        "p_value": float(results["two-sided"].pvalue),
        "less": float(results["less"].pvalue),
        "greater": float(results["greater"].pvalue),
    }


def student():
    """Student's t: a against 0, a against b (Welch), and a against b in pairs."""
    rng = stream("student")

    def make(attempt):
        n = 2 + attempt % 7 if attempt % 4 == 0 else integer(rng, 3, 50)
        scale = pick(rng, SCALES)
        a = sample(rng, n, attempt, scale)
        if attempt % 3 == 0:
            b = rounded(np.array(a) + scale * rng.normal(rng.uniform(-1, 1), 0.5, n))
        else:
            b = sample(rng, n, attempt + attempt // 10, scale)
        case = {
            "a": a,
            "b": b,
            "one": all_sides(stats.ttest_1samp, a, 0.0),
            "welch": all_sides(stats.ttest_ind, a, b, equal_var=False),
            "paired": all_sides(stats.ttest_rel, a, b),
        }
        if any(abs(case[test]["statistic"]) > 1e6 for test in ("one", "welch", "paired")):
            return None
        return case

    write("student", collect(220, make))


def kolmogorov_smirnov():
    """Two-sample Kolmogorov-Smirnov test, exact and asymptotic."""
    rng = stream("kolmogorov_smirnov")

    def make(attempt):
        scale = pick(rng, SCALES)
        n = integer(rng, 5, 80)
        m = n if attempt % 3 == 0 else integer(rng, 5, 80)
        a = sample(rng, n, attempt, scale)
        shift = scale * pick(rng, (0.0, 0.0, 0.5, 1.0, 2.0))
        b = rounded(np.array(sample(rng, m, attempt + (attempt // 10) % 2, scale)) + shift)
        exact = stats.ks_2samp(a, b, method="exact")
        asymptotic = stats.ks_2samp(a, b, method="asymp")
        return {
            "a": a,
            "b": b,
            "statistic": float(exact.statistic),
            "p_value": float(exact.pvalue),
            "p_asymptotic": float(asymptotic.pvalue),
        }

    write("kolmogorov_smirnov", collect(240, make))


def wilson():
    """Wilson's interval of a share, with none and all among the successes."""
    rng = stream("wilson")
    seen = set()

    def make(attempt):
        n = integer(rng, 1, pick(rng, (5, 30, 300, 100_000)))
        few = integer(rng, 0, min(n, 3))
        some = (integer(rng, 0, n), integer(rng, 0, n), integer(rng, 0, n), few, n - few, 0, n)
        successes, confidence = pick(rng, some), (0.8, 0.9, 0.95, 0.99)[attempt % 4]
        if (successes, n, confidence) in seen:
            return None
        seen.add((successes, n, confidence))
        low, high = proportion_confint(successes, n, alpha=1 - confidence, method="wilson")
        return {"successes": successes, "n": n, "confidence": confidence, "low": float(low), "high": float(high)}

    write("wilson", collect(240, make))


def correlation():
    """Pearson's correlation."""
    rng = stream("correlation")

    def make(attempt):
        n = 3 + attempt % 6 if attempt % 4 == 0 else integer(rng, 3, 80)
        a = sample(rng, n, attempt, pick(rng, SCALES))
        if attempt % 2 == 0:
            spread = np.std(a) * pick(rng, (0.01, 0.3, 1.0, 3.0))
            b = rounded(pick(rng, (-1.0, 1.0)) * np.array(a) + spread * rng.normal(size=n))
        else:
            b = sample(rng, n, attempt + attempt // 10, pick(rng, SCALES))
        result = stats.pearsonr(a, b)
        # Closer to 1, the p value depends on the last bits of the correlation.
        if 1 - abs(result.statistic) < 1e-6:
            return None
        return {"a": a, "b": b, "statistic": float(result.statistic), "p_value": float(result.pvalue)}

    write("correlation", collect(240, make))


def exact_ridge(rows, targets, alpha):
    """Ridge coefficients in exact fractions: tells when a solver's own rounding spoils the reference."""
    rows = [[Fraction(value) for value in row] for row in rows]
    targets = [Fraction(value) for value in targets]
    n, width = len(rows), len(rows[0])
    means = [sum(row[j] for row in rows) / n for j in range(width)]
    centred = [[row[j] - means[j] for j in range(width)] for row in rows]
    mean = sum(targets) / n
    system = []
    for i in range(width):
        left = [sum(row[i] * row[j] for row in centred) for j in range(width)]
        left[i] += Fraction(alpha)
        system.append(left + [sum(row[i] * (y - mean) for row, y in zip(centred, targets))])
    # The matrix is positive definite, so Gauss-Jordan needs no pivoting.
    for i in range(width):
        system[i] = [value / system[i][i] for value in system[i]]
        for k in range(width):
            if k != i:
                factor = system[k][i]
                system[k] = [x - factor * y for x, y in zip(system[k], system[i])]
    return [float(row[-1]) for row in system]


def ridge_features(rng, attempt, n, width):
    """Features: plain, nearly collinear, of very different scales, or few distinct values."""
    features = rng.normal(size=(n, width))
    kind = ("plain", "collinear", "scales", "both", "ties")[attempt % 5]
    if kind in ("collinear", "both") and width > 1:
        features[:, -1] = features[:, 0] + pick(rng, (1e-2, 1e-4)) * features[:, -1]
    if kind in ("scales", "both"):
        features *= 10.0 ** rng.integers(-3, 5, width)
    if kind == "ties":
        features = np.round(features)
    return kind, features


def ridge():
    """Ridge regression with an intercept that is not penalised."""
    rng = stream("ridge")

    def make(attempt):
        n, width = integer(rng, 10, 40), integer(rng, 1, 8)
        kind, features = ridge_features(rng, attempt, n + 3, width)
        alpha = pick(rng, (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0))
        weights = rng.normal(size=width) / np.maximum(features.std(axis=0), 1e-9)
        targets = features[:n] @ weights + rng.normal(rng.uniform(-20, 20), 0.5, n)
        rows = [rounded(row) for row in features]
        targets = rounded(targets * pick(rng, (1e-3, 1.0, 1.0, 1e3)))
        model = Ridge(alpha=alpha, fit_intercept=True, solver="cholesky").fit(np.array(rows[:n]), np.array(targets))
        exact = exact_ridge(rows[:n], targets, alpha)
        largest = max(map(abs, exact))
        if any(abs(x - y) > 1e-8 * largest for x, y in zip(model.coef_, exact)):
            return None
        return {
            "kind": kind,
            "rows": rows[:n],
            "targets": targets,
            "alpha": alpha,
            "coefficients": model.coef_.tolist(),
            "intercept": float(model.intercept_),
            "ask": rows[n:],
            "predicted": model.predict(np.array(rows[n:])).tolist(),
        }

    write("ridge", collect(220, make))


def stability_index(expected, actual, bins):
    """Population stability index over the bins between the quantiles of the expected values."""
    edges = np.quantile(expected, np.linspace(0, 1, bins + 1))
    edges[0], edges[-1] = -np.inf, np.inf
    edges = np.unique(edges)

    def shares(values):
        inside = np.searchsorted(edges, values, side="right") - 1
        return np.maximum(np.bincount(inside, minlength=len(edges) - 1) / len(values), 1e-4)

    e, a = shares(expected), shares(actual)
    return float(np.sum((a - e) * np.log(a / e)))


def edges_are_robust(expected, actual, bins):
    """Whether every implementation puts the values into the same bins, however it rounds when interpolating.

    An edge that falls on a value, or so close that rounding decides, is safe only if it is exact: its share is a
    quarter, a half or three quarters (exact in binary), or it lies between two equal values.
    """
    ordered = sorted(expected)
    values = np.array(expected + actual)
    for i in range(1, bins):
        position = Fraction(i * (len(ordered) - 1), bins)
        below = ordered[math.floor(position)]
        above = ordered[math.ceil(position)]
        on_value = position.denominator == 1
        if on_value and (i * 4) % bins == 0:
            continue
        if not on_value and below == above:
            continue
        edge = below + (above - below) * float(position - math.floor(position))
        around = set(ordered[max(0, math.floor(position) - 1) : math.ceil(position) + 2])
        if on_value and len(around) == 1:
            continue
        if np.any(np.abs(values - edge) <= 1e-9 * max(abs(below), abs(above))):
            return False
    return True


def psi():
    """Population stability index."""
    rng = stream("psi")

    def make(attempt):
        scale, bins = pick(rng, SCALES), integer(rng, 5, 12)
        expected = sample(rng, integer(rng, 12, 120), attempt, scale)
        move = scale * pick(rng, (0.0, 0.0, 0.3, 1.0, 4.0))
        actual = sample(rng, integer(rng, 5, 120), attempt + (attempt // 10) % 2, scale)
        if attempt % 4 == 3:
            actual = [pick(rng, expected) for _ in actual]
        actual = rounded(np.array(actual) + move)
        # Nothing changed but the order: the index is 0.
        if attempt % 23 == 0:
            actual = expected[::-1]
        if not edges_are_robust(expected, actual, bins):
            return None
        index = stability_index(np.array(expected), np.array(actual), bins)
        return {"expected": expected, "actual": actual, "bins": bins, "psi": index}

    write("psi", collect(220, make))


def distribution_parameters(rng, kind):
    """Parameters from the smallest that make sense to large ones."""
    if kind == "t":
        return [float(pick(rng, (1, 2, 3, 4, 5, 7, 10, 15, 22, 30, 47, 60, 99, 120, 200)))]
    if kind == "f":
        return [float(pick(rng, (1, 2, 3, 5, 8, 20))), float(pick(rng, (1, 2, 4, 7, 15, 38, 60, 118, 200)))]
    if kind == "chi2":
        return [float(pick(rng, (1, 2, 3, 5, 10, 24, 60, 150)))]
    if kind == "beta":
        return [pick(rng, (0.5, 1.0, 2.0, 3.5, 12.0, 40.0)), pick(rng, (0.5, 1.0, 2.0, 5.5, 9.0, 60.0))]
    return rounded([rng.uniform(-3, 3), 10.0 ** rng.uniform(-2, 2)])


def distributions():
    """Distribution functions and quantiles, from the middle to tails of 1e-10."""
    rng = stream("distributions")
    kinds = {"t": stats.t, "f": stats.f, "normal": stats.norm, "chi2": stats.chi2, "beta": stats.beta}
    tails = (1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.4)
    shares = tails + (0.5,) + tuple(1 - tail for tail in tails[2:])

    def make(attempt):
        kind = list(kinds)[attempt % len(kinds)]
        parameters = distribution_parameters(rng, kind)
        law = kinds[kind](*parameters)
        p = shares[(attempt // len(kinds)) % len(shares)]
        quantile = float(law.ppf(p))
        # The point is not the quantile: a quantile that inverts a wrong distribution function must not go unnoticed.
        x = rounded([law.ppf(pick(rng, tails) if rng.random() < 0.6 else 1 - pick(rng, tails[2:]))])[0]
        cdf = float(law.cdf(x))
        # A quantile that its own distribution function does not confirm is no reference.
        if abs(float(law.cdf(quantile)) - p) > 1e-9 * min(p, 1.0):
            return None
        return {"kind": kind, "parameters": parameters, "x": x, "cdf": cdf, "p": p, "quantile": quantile}

    write("distributions", collect(400, make))


# Forecasts.

FORECAST_COUNT = 180
ORIGINS = 4
ORDERS = tuple((p, q) for p in range(3) for q in range(3) if p + q <= 3)
ETS_FORMS = {"none": (None, False), "additive": ("add", False), "damped": ("add", True)}


def history_kinds():
    """Makers of the kinds of series one meets in the histories of metrics: maker(rng, n), noise about 1."""
    return {
        "white": lambda rng, n: rng.normal(size=n),
        "ar1": lambda rng, n: recursion(rng, n, ar=(rng.uniform(0.3, 0.95),)),
        "ar2": lambda rng, n: recursion(rng, n, ar=pick(rng, ((0.5, 0.3), (1.1, -0.4), (0.3, -0.5), (0.4, 0.4)))),
        "walk": lambda rng, n: np.cumsum(rng.normal(size=n)),
        "drift": lambda rng, n: np.cumsum(rng.uniform(0.3, 1.0) * pick(rng, (-1, 1)) + rng.normal(size=n)),
        "ma1": lambda rng, n: recursion(rng, n, ma=(rng.uniform(-0.9, 0.9),)),
        "trend": lambda rng, n: rng.uniform(0.1, 0.6) * pick(rng, (-1, 1)) * np.arange(n) + rng.normal(size=n),
        "plateau": lambda rng, n: rng.uniform(10, 30) * -np.exp(-np.arange(n) / rng.uniform(4, 15))
        + rng.normal(size=n),
        "local_level": lambda rng, n: np.cumsum(rng.uniform(0.2, 0.8) * rng.normal(size=n)) + rng.normal(size=n),
        "shift": lambda rng, n: rng.uniform(3, 8) * (np.arange(n) >= n * rng.uniform(0.3, 0.8)) + rng.normal(size=n),
        "arma11": lambda rng, n: recursion(rng, n, ar=(rng.uniform(0.4, 0.9),), ma=(rng.uniform(-0.6, 0.6),)),
        "arima111": lambda rng, n: np.cumsum(
            recursion(rng, n, ar=(rng.uniform(0.2, 0.7),), ma=(rng.uniform(-0.5, 0.5),))
        ),
    }


def histories():
    """All simulated series. They are made before any model is fitted, so the models cannot change them."""
    rng = stream("forecasts")
    makers = history_kinds()
    series = []
    for number in range(FORECAST_COUNT):
        kind = list(makers)[number % len(makers)]
        values = makers[kind](rng, integer(rng, 24, 70))
        series.append((kind, rounded(rng.uniform(0, 50) + rng.uniform(0.5, 2.0) * values)))
    return series


def lowest(candidates):
    """The (label, fitted) pair with the lowest AICc; fits that fail or give no finite numbers do not count."""
    chosen = None
    for label, fit in candidates:
        try:
            fitted = fit()
            score, ahead = float(fitted.aicc), float(np.asarray(fitted.forecast(1))[0])
        except (ValueError, np.linalg.LinAlgError):
            continue
        if math.isfinite(score) and math.isfinite(ahead) and (chosen is None or score < chosen[0]):
            chosen = (score, label, fitted)
    return chosen[1:]


def best_arima(window):
    """The ARIMA of the lowest AICc; the unit root test decides on differencing before, as AICc cannot."""
    d = 0 if augmented_dickey_fuller(window, None)[1] < 0.05 else 1
    trends = ("c",) if d == 0 else ("n", "t")
    candidates = []
    for p, q in ORDERS:
        for trend in trends:
            model = ARIMA(window, order=(p, d, q), trend=trend)
            candidates.append((((p, d, q), trend), model.fit))
    return lowest(candidates)


def best_ets(window):
    """The additive exponential smoothing of the lowest AICc."""
    candidates = []
    for form, (trend, damped) in ETS_FORMS.items():
        model = ETSModel(window, error="add", trend=trend, damped_trend=damped, seasonal=None)
        candidates.append((form, lambda model=model: model.fit(disp=False)))
    return lowest(candidates)


def in_sample_error(fitted):
    """Mean absolute one-step error in the window, without the first value, which a differenced model cannot know."""
    return float(np.mean(np.abs(np.asarray(fitted.resid)[1:])))


def forecast_at(series, at):
    """Forecasts of series[at] by the models, from the values before it."""
    window = np.array(series[:at])
    (order, trend), arima = best_arima(window)
    ahead = arima.get_forecast(1)
    low, high = np.asarray(ahead.conf_int(alpha=0.1))[0]
    form, ets = best_ets(window)
    arima_forecast = float(np.asarray(ahead.predicted_mean)[0])
    ets_forecast = float(np.asarray(ets.forecast(1))[0])
    return {
        "at": at,
        "actual": series[at],
        "arima": {
            "order": list(order),
            "trend": trend,
            "forecast": arima_forecast,
            "low": float(low),
            "high": float(high),
        },
        "ets": {"form": form, "forecast": ets_forecast},
        "best": arima_forecast if in_sample_error(arima) <= in_sample_error(ets) else ets_forecast,
    }


def summary(cases):
    """Mean absolute errors over all origins, also in units of the mean absolute step of the series."""
    errors = {"arima": [], "ets": [], "best": [], "last": []}
    steps = []
    for case in cases:
        for origin in case["origins"]:
            seen = case["series"][: origin["at"]]
            said = (origin["arima"]["forecast"], origin["ets"]["forecast"], origin["best"], seen[-1])
            for name, value in zip(errors, said):
                errors[name].append(abs(value - origin["actual"]))
            steps.append(np.mean(np.abs(np.diff(seen))))
    return {name: (float(np.mean(e)), float(np.mean(np.array(e) / steps))) for name, e in errors.items()}


def forecasts(partial=None, limit=None):
    """One-step forecasts by ARIMA and exponential smoothing from the last origins of each series.

    This is slow. With a partial file, finished series are kept there, one line each, and are not fitted again.
    """
    done = {}
    if partial is not None and partial.exists():
        for line in partial.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            done[json.dumps(case["series"])] = case
    cases = []
    for kind, series in histories()[:limit]:
        case = done.get(json.dumps(series))
        if case is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                origins = [forecast_at(series, at) for at in range(len(series) - ORIGINS, len(series))]
            case = {"kind": kind, "series": series, "origins": origins}
            if partial is not None:
                with partial.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(case) + "\n")
        cases.append(case)
    if limit is None:
        write("forecasts", cases)
    for name, (error, scaled) in summary(cases).items():
        print(f"  {name}: mean absolute error {error:.6f}, in steps {scaled:.6f}", flush=True)


FILES = {
    "adf": adf,
    "levene": levene,
    "student": student,
    "kolmogorov_smirnov": kolmogorov_smirnov,
    "wilson": wilson,
    "correlation": correlation,
    "ridge": ridge,
    "psi": psi,
    "distributions": distributions,
    "forecasts": forecasts,
}


def main():
    """Writes the files named on the command line, or all of them."""
    parser = argparse.ArgumentParser(description="Writes the reference data next to this script.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of: {', '.join(FILES)}; all when none is given")
    parser.add_argument("--partial", type=Path, help="keeps finished forecast series here, and goes on from them")
    parser.add_argument("--limit", type=int, help="fits only this many forecast series and writes no forecast file")
    options = parser.parse_args()
    unknown = set(options.names) - set(FILES)
    if unknown:
        parser.error(f"no such file: {', '.join(sorted(unknown))}")
    for name in options.names or FILES:
        start = time.monotonic()
        if name == "forecasts":
            forecasts(options.partial, options.limit)
        else:
            FILES[name]()
        print(f"  {time.monotonic() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
