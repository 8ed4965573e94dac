"""Plugins that measure: `collect_metrics(prev_roi, roi, resources)`, and `register(manager, tracker)` before it.

`manager.registry` has one entry, whose `bot.predict_metric(name, features)` gives the forecast that menace made of a metric;
`tracker` has `roi_history`, `metrics_history` and `record_metric_prediction(name, predicted, actual=None)`.
"""

import inspect
import math

from menace_harness import classify, perform


def answer(request):
    """The metrics and predictions of a plugin, or what it raised."""
    perform.pin(0)
    space = {"__name__": "menace_metrics_plugin", "__file__": request["path"]}
    try:
        exec(compile(request["source"], request["path"], "exec"), space)
        collect = space.get("collect_metrics")
        if not callable(collect):
            return {"stage": "lookup", "why": "it has no function collect_metrics(prev_roi, roi, resources)"}
        tracker = Tracker(request["roi_history"], request["metrics_history"])
        register(space.get("register"), Manager(request["forecasts"]), tracker)
        found = collect(request["prev_roi"], request["roi"], request["resources"])
        return {"stage": "done", "metrics": numbers(found or {}), "predictions": numbers(tracker.predictions)}
    except BaseException as error:
        return {"stage": "call", "error": classify.facts(error, perform.WORKSPACE)}


class Bot:
    """Who predicts."""

    def __init__(self, forecasts):
        self.forecasts = forecasts

    def predict_metric(self, name, features=None):
        """The forecast of a metric; of one that has no history yet it is the value now, the first of the features."""
        return self.forecasts.get(name, features[0] if features else None)


class Entry:
    """An entry of the registry."""

    def __init__(self, bot):
        self.bot = bot


class Manager:
    """All who predict."""

    def __init__(self, forecasts):
        self.registry = {"menace": Entry(Bot(forecasts))}


class Tracker:
    """What was measured before, and what a plugin predicts."""

    def __init__(self, roi_history, metrics_history):
        self.roi_history = roi_history
        self.metrics_history = metrics_history
        self.predictions = {}

    def record_metric_prediction(self, name, predicted, _actual=None):
        self.predictions[name] = predicted


def register(function, manager, tracker):
    """Some take the manager alone."""
    if not callable(function):
        return
    count = len(inspect.signature(function).parameters)
    function(*(manager, tracker)[:count])


def numbers(found):
    """What is no number is an error here, where the plugin can be named."""
    made = {}
    for name, value in dict(found).items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise TypeError(f"{name} is {value!r}, which is no number")
        made[str(name)] = float(value)
    return made
