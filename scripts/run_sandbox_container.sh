#!/usr/bin/env bash
# Runs menace in a container, on the repository in the current directory. Data is stored in ./sandbox_data; ./.env and
# ./sandbox_settings.yaml are read as without a container. The container is removed at the end.
#
# usage: scripts/run_sandbox_container.sh                       API and dashboard, on a port of this machine
#        scripts/run_sandbox_container.sh auto --max-time 30m   any menace command; paths start with repository/
#
#   IMAGE=menace:latest     image built by scripts/build_sandbox_image.sh
#   DOCKER=docker           container client
#   PORT=8888               port of the API
#   DOCKER_RUN_OPTIONS=     additional options of docker run, such as --memory 4g
set -euo pipefail

image="${IMAGE:-menace:latest}"
docker="${DOCKER:-docker}"
port="${PORT:-8888}"
repository="$PWD"
data="$repository/sandbox_data"

say() { printf 'run_sandbox_container: %s\n' "$*" >&2; }

command -v "$docker" >/dev/null || { say "$docker is missing; set DOCKER to another client"; exit 3; }
"$docker" image inspect "$image" >/dev/null || { say "hint: build $image with scripts/build_sandbox_image.sh"; exit 3; }

# Files that menace writes belong to the caller, or to the owner of the repository if the caller is root. In the container menace
# never runs as root.
user="$(id --user)" group="$(id --group)"
if [ "$user" = 0 ]; then
  user="$(stat --format %u .)" group="$(stat --format %g .)"
fi
if [ "$user" = 0 ]; then
  user=10001 group=10001
  say "the repository belongs to root, so menace runs as user $user; 'menace auto' needs write access to its .git"
fi
temporary="$(mktemp --directory)"
trap 'rm --recursive --force "$temporary"' EXIT
chmod 711 "$temporary"
mkdir --parents "$data"
[ "$(id --user)" != 0 ] || chown "$user:$group" "$data"

# Control groups are read-only in a container, but sandbox limits need them. So the container starts as root, gives the user of
# menace ownership of its control groups, and switches to that user without capabilities.
# In cgroup v2, a group that delegates controllers to children must not contain processes, so existing ones move to a child group.
# shellcheck disable=SC2016
start_script='
  user=$1 group=$2
  shift 2
  for group_path in /sys/fs/cgroup /sys/fs/cgroup/*; do
    [ -e "$group_path/cgroup.procs" ] && [ ! -L "$group_path" ] || continue
    mount -o remount,bind,rw,nosuid,nodev,noexec "$group_path" || continue
    if [ -e "$group_path/cgroup.controllers" ]; then
      mkdir -p "$group_path/begin"
      # The list contains the exited process of `cat` itself.
      for process in $(cat "$group_path/cgroup.procs"); do echo "$process" 2>/dev/null > "$group_path/begin/cgroup.procs" || :; done
    fi
    for file in "" /tasks /cgroup.procs /cgroup.threads /cgroup.subtree_control /begin /begin/cgroup.procs; do
      [ ! -e "$group_path$file" ] || chown "$user:$group" "$group_path$file"
    done
  done
  exec setpriv --reuid "$user" --regid "$group" --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs menace "$@"
'

options=(
  --rm
  # Reaps orphaned processes.
  --init
  --volume "$repository:/workspace/repository"
  --volume "$data:/workspace/sandbox_data"
  # The options that menace needs to create namespaces; docker/Dockerfile explains them.
  --security-opt seccomp=unconfined
  --security-opt apparmor=unconfined
  --security-opt systempaths=unconfined
  --security-opt no-new-privileges
  # For the script above, which drops these capabilities, and for the init process, which forwards signals.
  --user 0:0
  --cap-drop ALL
  --cap-add SYS_ADMIN --cap-add CHOWN --cap-add SETUID --cap-add SETGID --cap-add SETPCAP --cap-add KILL
  --entrypoint sh
  # The user may have no home directory in the image.
  --env HOME=/tmp
  # For menace, its warm sandboxes, and bursts of concurrent calls in them.
  --pids-limit 4096
  # Same user ids as on the host, even if the engine remaps users.
  --userns host
)

# Mounted instead of --env-file, which would treat quotes as part of the values.
for file in .env sandbox_settings.yaml; do
  [ -f "$file" ] || continue
  install --mode 400 "$file" "$temporary/$file"
  [ "$(id --user)" != 0 ] || chown "$user:$group" "$temporary/$file"
  options+=(--volume "$temporary/$file:/workspace/$file:ro")
done

# Mocks and network faults need this device. Its owner is not changed, because it may be the device node of the host. If only root
# may open it, scenarios that need a network are void.
if [ -c /dev/net/tun ]; then
  options+=(--device /dev/net/tun)
  [ "$(stat --format %a /dev/net/tun)" = 666 ] || say "only root may open /dev/net/tun, so scenarios that need a network are void"
fi
if [ -t 0 ] && [ -t 1 ]; then
  options+=(--interactive --tty)
fi
# Split the variable into words.
read -r -a more <<<"${DOCKER_RUN_OPTIONS:-}"

# menace in a container: options of docker run up to --, then the arguments of menace.
menace() {
  local own=()
  while [ "$1" != -- ]; do own+=("$1"); shift; done
  "$docker" run "${options[@]}" "${own[@]}" "${more[@]}" "$image" -c "$start_script" sh "$user" "$group" "${@:2}"
}

if [ $# -gt 0 ] && [ "$1" != serve ]; then
  say "menace $* in a container of $image, on $repository"
  menace --no-healthcheck -- "$@"
  exit
fi

# The server is reached from outside its container, which requires an API key.
if [ ! -s "$data/api_keys.json" ]; then
  say "creating the first API key, which is shown once"
  menace --no-healthcheck --network none -- keys create container
fi
say "menace serve in a container of $image, at http://127.0.0.1:$port, with $data"
menace --publish "127.0.0.1:$port:8888" -- serve --address 0.0.0.0 --ephemeral "${@:2}"
