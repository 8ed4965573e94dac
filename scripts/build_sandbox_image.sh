#!/usr/bin/env bash
# Builds the image of menace (docker/Dockerfile) for scripts/run_sandbox_container.sh.
#
# usage: scripts/build_sandbox_image.sh [options of docker build]
#
#   IMAGE=menace:latest     name of the image
#   BASE=debian:12-slim     base image; needs no network if it has Python, pytest, git and CA certificates
#   MENACE=PATH             existing binary; default: build it after script/bootstrap
#   DOCKER=docker           container client
set -euo pipefail
# Resolve the path before changing the directory.
program="${MENACE:+$(realpath "$MENACE")}"
cd "$(dirname "$0")/.."

image="${IMAGE:-menace:latest}"
base="${BASE:-debian:12-slim}"
docker="${DOCKER:-docker}"

say() { printf 'build_sandbox_image: %s\n' "$*" >&2; }

command -v "$docker" >/dev/null || { say "$docker is missing; set DOCKER to another client"; exit 3; }

if [ -z "$program" ]; then
  say "building menace"
  script/bootstrap
  cargo build --quiet --release --package menace-cli
  program="${CARGO_TARGET_DIR:-target}/release/menace"
fi
[ -x "$program" ] || { say "$program is not executable"; exit 2; }

# The build context has only the binary, so that no other file of this directory is sent to the engine.
context="$(mktemp --directory)"
trap 'rm --recursive --force "$context"' EXIT
install --mode 755 "$program" "$context/menace"

say "building $image from $base"
"$docker" build --tag "$image" --build-arg "BASE=$base" --file docker/Dockerfile "$@" "$context"
say "built $image; run it with scripts/run_sandbox_container.sh"
