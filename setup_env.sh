#!/usr/bin/env bash
# Installs what menace needs and builds it. The seeds' name for script/bootstrap and a release build.
set -euo pipefail
cd "$(dirname "$0")/."
script/bootstrap run
exec cargo build --release --package menace-cli
