#!/bin/sh
# Runs a dockerd of its own for tests, as the first process of a process namespace and in mount and network namespaces of its own, so
# that its end is the end of everything that it started and mounted. It ends when nobody uses it any more: who uses it holds
# DIRECTORY/users, and who looks for it DIRECTORY/start.
set -eu
directory=$1

# Users inside are others outside, as the files say that this dockerd sees in place of the host's.
printf 'daemon:2000000000:65536\n' > "$directory/subordinate"
mount --bind "$directory/subordinate" /etc/subuid
mount --bind "$directory/subordinate" /etc/subgid

# In memory: removing a container waits for everything that was written to the disk of its files, whoever wrote it. Not in
# DIRECTORY: the users of containers must be able to reach it, and the build directory may be in a home that only root enters.
mount -t tmpfs -o size=4g,mode=711 menace-tests-docker /mnt

dockerd --data-root /mnt/data --exec-root "$directory/exec" --pidfile "$directory/pid" \
  --host "unix://$directory/docker.sock" --userns-remap daemon --cgroup-parent "/menace-tests-docker" \
  --bridge none --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false \
  --shutdown-timeout 1 > "$directory/log" 2>&1 9>&- &
daemon=$!

while sleep 2; do
  kill -0 "$daemon" 2> /dev/null || exit 1
  exec 9> "$directory/start" 8> "$directory/users"
  if flock --nonblock --exclusive 9 && flock --nonblock --exclusive 8; then
    kill "$daemon"
    wait "$daemon" || true
    rm -f "$directory/docker.sock" "$directory/has_image"
    exit 0
  fi
  exec 9>&- 8>&-
done
