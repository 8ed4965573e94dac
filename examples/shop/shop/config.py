"""Settings, from the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping, Optional, Tuple


class ConfigError(ValueError):
    """A setting with an invalid value; the message names it."""


@dataclass(frozen=True)
class Settings:
    """The configuration of this installation of the shop."""

    data_dir: Path = Path("shop-data")
    country: str = "DE"
    gateway_url: str = ""
    gateway_secret: str = ""
    gateway_timeout: float = 5.0
    carriers: Tuple[str, ...] = ()
    debug: bool = False


def load(environ: Optional[Mapping[str, str]] = None) -> Settings:
    """Read the ``SHOP_*`` variables; what is not set keeps its default.

    Raises:
        ConfigError: when a variable has a value that cannot be used.
    """
    env = os.environ if environ is None else environ
    defaults = Settings()
    carriers = tuple(url.strip() for url in env.get("SHOP_CARRIERS", "").split(",") if url.strip())
    return Settings(
        data_dir=Path(env.get("SHOP_DATA_DIR") or defaults.data_dir),
        country=env.get("SHOP_COUNTRY", defaults.country).strip().upper(),
        gateway_url=env.get("SHOP_GATEWAY_URL", ""),
        gateway_secret=env.get("SHOP_GATEWAY_SECRET", ""),
        gateway_timeout=_seconds(env, "SHOP_GATEWAY_TIMEOUT", defaults.gateway_timeout),
        carriers=carriers,
        debug=_flag(env, "SHOP_DEBUG"),
    )


def _seconds(env: Mapping[str, str], name: str, default: float) -> float:
    text = env.get(name)
    if text is None or not text.strip():
        return default
    try:
        value = float(text)
    except ValueError:
        raise ConfigError(f"{name} must be a number of seconds") from None
    if not 0 < value <= 60:
        raise ConfigError(f"{name} must lie between 0 and 60 seconds")
    return value


def _flag(env: Mapping[str, str], name: str) -> bool:
    text = env.get(name, "").strip().lower()
    if text in ("", "0", "no", "false", "off"):
        return False
    if text in ("1", "yes", "true", "on"):
        return True
    raise ConfigError(f"{name} must be yes or no")
