#!/bin/sh
# Supervises a dockerd for tests. It is PID 1 of a PID namespace, with mount and network namespaces of its own, so that its
# exit ends everything that it started and mounted. It exits when no test uses it: a test that uses the daemon holds a lock on
# DIRECTORY/users, and a test that looks for it holds one on DIRECTORY/start.
set -eu
directory=$1

# Map users of containers to other users of the host: these files replace /etc/subuid and /etc/subgid for this dockerd.
printf 'daemon:2000000000:65536\n' > "$directory/subordinate"
mount --bind "$directory/subordinate" /etc/subuid
mount --bind "$directory/subordinate" /etc/subgid

# In memory: removing a container waits until all pending writes to its disk are done, including those of other processes. Not
# in DIRECTORY: users of containers must be able to reach it, and the build directory may be in a home that only root can enter.
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
