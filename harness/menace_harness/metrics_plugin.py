"""Metric plugins: calls `register(manager, tracker)` if it exists, then `collect_metrics(prev_roi, roi, resources)`.

`manager.registry` has one entry; its `bot.predict_metric(name, features)` returns the forecast of a metric by menace.
`tracker` has `roi_history`, `metrics_history` and `record_metric_prediction(name, predicted, actual=None)`.
"""

import inspect
import math

from menace_harness import classify, perform


def answer(request):
    """Returns the metrics and predictions of a plugin, or its exception."""
    perform.pin(0)
    space = {"__name__": "menace_metrics_plugin", "__file__": request["path"]}
    try:
        exec(compile(request["source"], request["path"], "exec"), space)
        collect = space.get("collect_metrics")
        if not callable(collect):
            return {"stage": "lookup", "why": "the plugin does not define collect_metrics(prev_roi, roi, resources)"}
        tracker = Tracker(request["roi_history"], request["metrics_history"])
        register(space.get("register"), Manager(request["forecasts"]), tracker)
        found = collect(request["prev_roi"], request["roi"], request["resources"])
        return {"stage": "done", "metrics": numbers(found or {}), "predictions": numbers(tracker.predictions)}
    except BaseException as error:
        return {"stage": "call", "error": classify.facts(error, perform.WORKSPACE)}


class Bot:
    """Access to the forecasts of menace."""

    def __init__(self, forecasts):
        self.forecasts = forecasts

    def predict_metric(self, name, features=None):
        """Forecast of a metric. Without a history it is the current value, which is the first feature."""
        return self.forecasts.get(name, features[0] if features else None)


class Entry:
    """Entry of the registry."""

    def __init__(self, bot):
        self.bot = bot


class Manager:
    """Holder of the registry."""

    def __init__(self, forecasts):
        self.registry = {"menace": Entry(Bot(forecasts))}


class Tracker:
    """Earlier measurements, and the predictions of a plugin."""

    def __init__(self, roi_history, metrics_history):
        self.roi_history = roi_history
        self.metrics_history = metrics_history
        self.predictions = {}

    def record_metric_prediction(self, name, predicted, _actual=None):
        self.predictions[name] = predicted


def register(function, manager, tracker):
    """Calls `register` with the manager, and with the tracker if it takes two parameters."""
    if not callable(function):
        return
    count = len(inspect.signature(function).parameters)
    function(*(manager, tracker)[:count])


def numbers(found):
    """Checks that all values are numbers. Checked here, so that the error names the plugin."""
    made = {}
    for name, value in dict(found).items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise TypeError(f"{name} is {value!r}, which is not a finite number")
        made[str(name)] = float(value)
    return made
