#!/bin/bash
# Builds a base image for menace itself from packages that are installed on this machine: no network is needed.
# usage: base.sh NAME; DOCKER_HOST selects the engine.
set -euo pipefail
stage="$(mktemp --directory)"
trap 'rm --recursive --force "$stage"' EXIT
chmod 755 "$stage"

# Essential packages are not listed as dependencies in Debian.
essential="$(dpkg-query --show --showformat '${Essential} ${Package}\n' | sed --quiet 's/^yes //p')"
# Drop names of virtual packages.
# shellcheck disable=SC2086
packages="$(comm -12 <(dpkg-query --show --showformat '${Package}\n' | sort --unique) <(apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
  --no-enhances $essential ca-certificates git mount passwd python3 python3-pytest \
  | grep '^[a-z]' | sort --unique))"
# /bin, /sbin and /lib are links into /usr, so list their files there. Documentation is not needed.
# shellcheck disable=SC2086
dpkg-query --listfiles $packages \
  | sed --regexp-extended 's#^/(bin|sbin|lib|lib64)/#/usr/\1/#' \
  | grep --invert-match --extended-regexp '^/usr/share/(doc|man|locale|info|perl|gitweb)/|^/(bin|sbin|lib|lib64|\.)$|:$' \
  | sort --unique | while read -r path; do [ ! -e "$path" ] && [ ! -L "$path" ] || printf '%s\n' "${path#/}"; done > "$stage.list"
tar --create --directory / --no-recursion --files-from "$stage.list" bin sbin lib lib64 etc/alternatives \
  etc/ld.so.cache etc/ssl/certs/ca-certificates.crt | tar --extract --directory "$stage"
rm "$stage.list"
cp --archive /etc/alternatives "$stage/etc/"
echo 'root:x:0:0:root:/root:/bin/bash' > "$stage/etc/passwd"
echo 'root:x:0:' > "$stage/etc/group"
echo 'root:*:19000:0:99999:7:::' > "$stage/etc/shadow"
mkdir --parents "$stage"/{proc,sys,dev,run,root,tmp,var/tmp,home,workspace}
chmod 1777 "$stage/tmp" "$stage/var/tmp"
tar --create --directory "$stage" . | docker import - "$1" >/dev/null
