#!/bin/bash
# Sets sharpd, sharp_am or sharp_an up as a service of systemd on this host, or removes it again.
set -euo pipefail

readonly self=${0##*/}
usage() {
  cat <<EOF
usage: $self -s [DIR] -d NAME [-p DIR] [-m]    set the daemon NAME up as a service and start it
       $self -r -d NAME [-p DIR]               stop it and remove the service; its configuration stays

  -d NAME   sharpd (every host), sharp_am (one host) or sharp_an (every aggregation node)
  -p DIR    where Sumac is installed (the folder above this script's); also behind -s, as older versions wrote it
  -m        also write a monit check, where /etc/monit/conf.d exists
  -h        this text
The service reads DIR/conf/NAME.conf, written with all defaults if it is not there, logs to /var/log/NAME.log, and runs as a user of its own: sumac-am, sumac-an or
sumac-sharpd, who must be able to read what the configuration names (a key: chgrp it to that user's group, chmod 640). SUMAC_SETUP_ROOT=DIR writes below DIR instead of /
and calls no systemctl: for packages and images. Where Sumac's package brought the unit, -s enables and starts that one, as
\`systemctl enable --now NAME\` does, and writes nothing but the rights that \`hop auto\` needs; -r stops and disables it.
EOF
}
die() {
  echo "$self: $*" >&2
  exit 1
}

action='' name='' monit='' prefix=''
prefix_default=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
while (($# > 0)); do
  case $1 in
    -s)
      action=setup
      if (($# > 1)) && [[ $2 != -* ]]; then
        prefix=$2
        shift
      fi
      ;;
    -r) action=remove ;;
    -m) monit=yes ;;
    -d | -p)
      (($# > 1)) || die "$1 needs a word behind it, see -h"
      if [[ $1 == -d ]]; then name=$2; else prefix=$2; fi
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) die "unexpected argument '$1', see -h" ;;
  esac
  shift
done
[[ -n $action ]] || die "say -s (set up) or -r (remove), see -h"
case $name in
  sharpd | sharp_am | sharp_an) ;;
  '') die "say which daemon: -d sharpd, -d sharp_am or -d sharp_an" ;;
  *) die "there is no daemon '$name': sharpd, sharp_am or sharp_an" ;;
esac
prefix=${prefix:-$prefix_default}
readonly program=$prefix/bin/$name config=$prefix/conf/$name.conf
readonly root=${SUMAC_SETUP_ROOT:-}
readonly unit=$root/etc/systemd/system/$name.service monit_file=$root/etc/monit/conf.d/$name
readonly log=/var/log/$name.log logrotate=$root/etc/logrotate.d/sumac-$name
readonly user=sumac-${name#sharp_}
readonly sysusers=$root/etc/sysusers.d/sumac-${name#sharp_}.conf
[[ $action == remove || -x $program ]] || die "no $program: is Sumac installed in $prefix? (-p DIR)"
[[ -n $root || $EUID == 0 ]] || die "only root may change services: run it with sudo"

# systemd's directory exists only where it runs.
systemd() {
  if [[ -n $root ]]; then return; fi
  if [[ -d /run/systemd/system ]]; then
    systemctl "$@"
  else
    echo "$self: systemd does not run here: 'systemctl $*' was not done" >&2
  fi
}

# A copy in /etc would stand in front of the package's unit and outlive the package. Another installation's unit is
# none of ours: it starts another program.
packaged=''
for each in "$root"/usr/lib/systemd/system/"$name".service "$root"/lib/systemd/system/"$name".service; do
  [[ -e $each ]] || continue
  starts=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$each")
  if [[ $(readlink -f "$starts") == "$(readlink -f "$program")" ]]; then packaged=$each; fi
done

# The permissions that a daemon needs beyond its unit's, each with its reason. Files of others in that directory are not
# touched.
exception() {
  mkdir -p "$unit.d"
  cat >"$unit.d/sumac-$1.conf"
}
hop_rights() {
  rm -f "$unit.d/sumac-hop.conf"
  grep -qsE '^[[:space:]]*hop[[:space:]]+auto' "$config" || return 0
  exception hop <<EOF
# Option \`hop\` loads a program into the kernel, which attaches it to network devices. Its groups outlive sharp_an in a folder of its own.
[Service]
ExecStartPre=-+/bin/sh -c 'mkdir -p /sys/fs/bpf/sumac && chown $user: /sys/fs/bpf/sumac'
BindPaths=-/sys/fs/bpf/sumac:/run/sumac-an/bpf
ReadWritePaths=-/run/sumac-an/bpf
AmbientCapabilities=CAP_BPF CAP_NET_ADMIN CAP_PERFMON
CapabilityBoundingSet=CAP_BPF CAP_NET_ADMIN CAP_PERFMON
SystemCallFilter=bpf
# A node that is told to stop ends its groups, and one that is killed does not. So \`systemctl restart\` kills it, and jobs do not notice.
ExecStop=-+/bin/sh -c 'if systemctl list-jobs --no-legend --plain | grep -q " %n *restart "; then kill -KILL \$MAINPID; fi'
# A node that is told to stop while it starts has not found yet what the former one has left.
ExecStopPost=-/bin/sh -c 'test \$SERVICE_RESULT != success || $program -O $config --hop clear'
EOF
}

write_monit() {
  [[ -n $monit ]] || return 0
  if [[ -d ${monit_file%/*} ]]; then
    cat >"$monit_file" <<EOF
check process $name matching "$program"
  start program = "/bin/systemctl start $name"
  stop program = "/bin/systemctl stop $name"
EOF
  else
    echo "$self: no ${monit_file%/*}: monit is not installed, its check was left out" >&2
  fi
}

if [[ -n $packaged && ! -e $unit ]]; then
  if [[ $action == setup ]]; then
    write_monit
    if [[ $name == sharp_an ]]; then
      hop_rights
      systemd daemon-reload
    fi
    systemd enable --now "$name.service"
    rights=''
    if [[ -e $unit.d/sumac-hop.conf ]]; then rights=", its rights for the kernel in $unit.d/sumac-hop.conf"; fi
    echo "the package has the unit of $name, $packaged: no other was written; \`systemctl enable --now $name\` starts it, configuration $config$rights"
  else
    systemd disable --now "$name.service"
    rm -f "$monit_file" "$unit.d/sumac-hop.conf"
    rmdir --ignore-fail-on-non-empty "$unit.d" 2>/dev/null || true
    echo "disabled $name; its unit, $packaged, stays with the package"
  fi
  exit 0
fi
[[ -z $packaged || $action == remove ]] || die "$unit stands in front of the package's $packaged: remove it with -r -d $name, then again"

if [[ $action == remove ]]; then
  [[ -e $unit ]] || die "$unit is not there: $name is not set up on this host"
  systemd disable --now "$name.service"
  rm -f "$unit" "$unit".d/sumac-*.conf "$monit_file" "$sysusers" "$logrotate"
  rmdir --ignore-fail-on-non-empty "$unit.d" 2>/dev/null || true
  systemd daemon-reload
  echo "removed $name; its configuration stays in $config"
  exit 0
fi

mkdir -p "${unit%/*}" "${config%/*}"
if [[ ! -e $config ]]; then
  ${SUMAC_SETUP_EMULATOR:-} "$program" -c "$config"
  # The service has a directory for it, so that jobs survive a restart of the manager.
  sed -i 's|^#state_dir .*|state_dir /var/lib/sumac|' "$config"
  echo "wrote $config with all defaults: look at it before you rely on it"
  if [[ $name == sharp_an ]]; then
    echo "it does not start without a name: write 'name NODE' into it, NODE as in the fabric file, then: systemctl restart sharp_an"
  fi
fi

# Each daemon has a user of its own: if peers subvert one daemon, the damage is limited to that user's files. sharp_am
# accepts their requests on its socket (daemon_users).
mkdir -p "${sysusers%/*}"
echo "u $user - \"Sumac $name\" - -" >"$sysusers"
if [[ -z $root ]]; then
  if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers "$sysusers"
  elif ! getent passwd "$user" >/dev/null; then
    useradd --system --user-group --no-create-home --home-dir / --shell /usr/sbin/nologin "$user"
  fi
fi

# Directories of the daemon's own. sharpd's has the state with which a successor continues, so it remains between runs.
case $name in
  sharp_am) directories=$'RuntimeDirectory=sumac-am\nStateDirectory=sumac\nStateDirectoryMode=0700' ;;
  sharpd) directories=$'RuntimeDirectory=sumac\nRuntimeDirectoryPreserve=yes' ;;
  sharp_an) directories='' ;;
esac
# The unit is written completely and then renamed, so that systemd never reads half of it.
cat >"$unit.new" <<EOF
[Unit]
Description=Sumac $name
Documentation=man:$name(8)
After=network-online.target
Wants=network-online.target
# Whoever holds a port of the daemon for some seconds must not keep it down for good.
StartLimitIntervalSec=0

[Service]
ExecStart=$program -O $config
ExecReload=/bin/kill -HUP \$MAINPID
Restart=on-failure
RestartSec=1
User=$user
Group=$user
LimitNOFILE=65536
LimitCORE=0
UMask=0077
# Users of SHARP look there; the journal has the starts and ends.
StandardError=append:$log
$directories

CapabilityBoundingSet=
DevicePolicy=closed
LockPersonality=yes
MemoryDenyWriteExecute=yes
NoNewPrivileges=yes
PrivateDevices=yes
PrivateTmp=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources

[Install]
WantedBy=multi-user.target
EOF
mv "$unit.new" "$unit"

case $name in
  sharpd)
    exception processes <<EOF
# It releases the job of a process that has died. It identifies a process by its start time in /proc, so it must see those of all users.
[Service]
ProtectProc=default
EOF
    ;;
  sharp_an)
    exception pinning <<EOF
# Option \`pin\` binds its own threads to processors.
[Service]
SystemCallFilter=sched_setaffinity
EOF
    hop_rights
    if [[ -n $root || -e /dev/infiniband ]]; then
      exception rdma <<EOF
# Transport ucx reaches the network's cards through /dev/infiniband and pins the memory that they read and write; to notice memory that is
# freed, it rewrites the first bytes of functions like munmap.
[Service]
PrivateDevices=no
MemoryDenyWriteExecute=no
DeviceAllow=char-infiniband_verbs rw
DeviceAllow=char-infiniband_cm rw
LimitMEMLOCK=infinity
EOF
    fi
    ;;
esac
# The daemon keeps the file open and appends to it, so logrotate copies the file and then cuts it off.
mkdir -p "${logrotate%/*}"
cat >"$logrotate" <<EOF
$log {
  weekly
  rotate 8
  compress
  missingok
  notifempty
  copytruncate
}
EOF
write_monit
systemd daemon-reload
systemd enable --now "$name.service"
echo "set up $name: $unit, configuration $config"
