#!/usr/bin/env bash
# Installs the dependencies of menace and builds it: script/bootstrap and a release build.
set -euo pipefail
cd "$(dirname "$0")/."
script/bootstrap run
exec cargo build --release --package menace-cli
