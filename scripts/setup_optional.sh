#!/usr/bin/env bash
# Installs what only the tests and optional backends need: Docker, Chromium, Prometheus, test tools.
set -euo pipefail
cd "$(dirname "$0")/.."
exec script/bootstrap test
