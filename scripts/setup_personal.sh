#!/usr/bin/env bash
# Sets up menace for one user: build, .env with defaults, and a check of this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
./setup_env.sh
"${CARGO_TARGET_DIR:-target}/release/menace" init
exec "${CARGO_TARGET_DIR:-target}/release/menace" doctor
