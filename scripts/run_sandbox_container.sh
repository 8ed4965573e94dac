#!/usr/bin/env bash
# Runs menace in a container, on the repository in the current directory. What it measures is in ./sandbox_data, and it reads
# ./.env and ./sandbox_settings.yaml, as it would without a container, which is removed at the end.
#
# usage: scripts/run_sandbox_container.sh                       the API and the dashboard, on a port of this machine
#        scripts/run_sandbox_container.sh auto --max-time 30m   any command of menace; paths begin with repository/
#
#   IMAGE=menace:latest     what scripts/build_sandbox_image.sh built
#   DOCKER=docker           the engine's client
#   PORT=8888               the port for the API
#   DOCKER_RUN_OPTIONS=     more words for docker run, such as --memory 4g
set -euo pipefail

image="${IMAGE:-menace:latest}"
docker="${DOCKER:-docker}"
port="${PORT:-8888}"
repository="$PWD"
data="$repository/sandbox_data"

say() { printf 'run_sandbox_container: %s\n' "$*" >&2; }

command -v "$docker" >/dev/null || { say "$docker is missing; DOCKER names another client"; exit 3; }
"$docker" image inspect "$image" >/dev/null || { say "hint: scripts/build_sandbox_image.sh makes $image"; exit 3; }

# What menace writes belongs to the caller, or to whoever has the repository if root calls. In the container menace is never
# root: it makes namespaces as an ordinary user.
user="$(id --user)" group="$(id --group)"
if [ "$user" = 0 ]; then
  user="$(stat --format %u .)" group="$(stat --format %g .)"
fi
if [ "$user" = 0 ]; then
  user=10001 group=10001
  say "the repository belongs to root, so menace reads it as user $user; auto needs one whose .git that user can write to"
fi
temporary="$(mktemp --directory)"
trap 'rm --recursive --force "$temporary"' EXIT
chmod 711 "$temporary"
mkdir --parents "$data"
[ "$(id --user)" != 0 ] || chown "$user:$group" "$data"

# Control groups are read-only in a container, and without them no sandbox can be given a limit, which most scenarios do. So the
# container begins as root, hands its own group over to the user of menace, and becomes that user, without any capability.
# In version 2 a group with controllers for others has no processes itself, so those that are there move one down.
# shellcheck disable=SC2016
begin='
  user=$1 group=$2
  shift 2
  for place in /sys/fs/cgroup /sys/fs/cgroup/*; do
    [ -e "$place/cgroup.procs" ] && [ ! -L "$place" ] || continue
    mount -o remount,bind,rw,nosuid,nodev,noexec "$place" || continue
    if [ -e "$place/cgroup.controllers" ]; then
      mkdir -p "$place/begin"
      # The list has the process that reads it, which is gone by then.
      for process in $(cat "$place/cgroup.procs"); do echo "$process" 2>/dev/null > "$place/begin/cgroup.procs" || :; done
    fi
    for file in "" /tasks /cgroup.procs /cgroup.threads /cgroup.subtree_control /begin /begin/cgroup.procs; do
      [ ! -e "$place$file" ] || chown "$user:$group" "$place$file"
    done
  done
  exec setpriv --reuid "$user" --regid "$group" --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs menace "$@"
'

options=(
  --rm
  # Somebody has to wait for processes that nobody else waits for.
  --init
  --volume "$repository:/workspace/repository"
  --volume "$data:/workspace/sandbox_data"
  # What menace needs to make namespaces of its own, and no more: docker/Dockerfile says why.
  --security-opt seccomp=unconfined
  --security-opt apparmor=unconfined
  --security-opt systempaths=unconfined
  --security-opt no-new-privileges
  # For the few lines above, which give all of it up, and for the first process, which passes signals on.
  --user 0:0
  --cap-drop ALL
  --cap-add SYS_ADMIN --cap-add CHOWN --cap-add SETUID --cap-add SETGID --cap-add SETPCAP --cap-add KILL
  --entrypoint sh
  # Whoever the caller is, the image knows no home of that user.
  --env HOME=/tmp
  # For menace, the sandboxes that it has ready, and bursts of calls in them.
  --pids-limit 4096
  # Files belong to whoever they belong to here, even if the engine maps users.
  --userns host
)

# menace reads these itself: docker's --env-file would take quotes for a part of the values.
for file in .env sandbox_settings.yaml; do
  [ -f "$file" ] || continue
  install --mode 400 "$file" "$temporary/$file"
  [ "$(id --user)" != 0 ] || chown "$user:$group" "$temporary/$file"
  options+=(--volume "$temporary/$file:/workspace/$file:ro")
done

# Networks that are mocked and disturbed need this device. Its owner is not changed: an engine may show the node of this machine
# itself. Where only root may open it, scenarios that need a network are void and say so.
if [ -c /dev/net/tun ]; then
  options+=(--device /dev/net/tun)
  [ "$(stat --format %a /dev/net/tun)" = 666 ] || say "/dev/net/tun is for root only, so scenarios that need a network are void"
fi
if [ -t 0 ] && [ -t 1 ]; then
  options+=(--interactive --tty)
fi
# The words of a variable, as a shell would split them.
read -r -a more <<<"${DOCKER_RUN_OPTIONS:-}"

# menace in a container: options of docker run up to --, then the arguments of menace.
menace() {
  local own=()
  while [ "$1" != -- ]; do own+=("$1"); shift; done
  "$docker" run "${options[@]}" "${own[@]}" "${more[@]}" "$image" -c "$begin" sh "$user" "$group" "${@:2}"
}

if [ $# -gt 0 ] && [ "$1" != serve ]; then
  say "menace $* in a container of $image, on $repository"
  menace --no-healthcheck -- "$@"
  exit
fi

# The server is reached from outside of its container, which it allows to those with a key only.
if [ ! -s "$data/api_keys.json" ]; then
  say "making the first key, which is shown once"
  menace --no-healthcheck --network none -- keys create container
fi
say "menace serve in a container of $image, at http://127.0.0.1:$port, with $data"
menace --publish "127.0.0.1:$port:8888" -- serve --address 0.0.0.0 --ephemeral "${@:2}"
