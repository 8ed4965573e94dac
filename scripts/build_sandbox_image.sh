#!/usr/bin/env bash
# Builds the image of menace itself (docker/Dockerfile), for scripts/run_sandbox_container.sh.
#
# usage: scripts/build_sandbox_image.sh [options of docker build]
#
#   IMAGE=menace:latest     what to call it
#   BASE=debian:12-slim     what it is built upon; one that has Python, pytest, git and certificates needs no network
#   MENACE=PATH             a program that is ready; without this it is built, as script/bootstrap prepares it
#   DOCKER=docker           the engine's client
set -euo pipefail
# Said by the caller, whose directory is another one.
program="${MENACE:+$(realpath "$MENACE")}"
cd "$(dirname "$0")/.."

image="${IMAGE:-menace:latest}"
base="${BASE:-debian:12-slim}"
docker="${DOCKER:-docker}"

say() { printf 'build_sandbox_image: %s\n' "$*" >&2; }

command -v "$docker" >/dev/null || { say "$docker is missing; DOCKER names another client"; exit 3; }

if [ -z "$program" ]; then
  say "building menace"
  script/bootstrap
  cargo build --quiet --release --package menace-cli
  program="${CARGO_TARGET_DIR:-target}/release/menace"
fi
[ -x "$program" ] || { say "$program is no program"; exit 2; }

# The program alone is the context: the engine gets nothing else of this directory, neither secrets nor gigabytes.
context="$(mktemp --directory)"
trap 'rm --recursive --force "$context"' EXIT
install --mode 755 "$program" "$context/menace"

say "building $image upon $base"
"$docker" build --tag "$image" --build-arg "BASE=$base" --file docker/Dockerfile "$@" "$context"
say "$image is ready: scripts/run_sandbox_container.sh"
