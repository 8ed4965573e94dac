#!/usr/bin/env bash
# Installs the dependencies of tests and optional backends: Docker, Chromium, Prometheus, test tools.
set -euo pipefail
cd "$(dirname "$0")/.."
exec script/bootstrap test
