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
The service reads DIR/conf/NAME.conf, written with all defaults if it is not there. SUMAC_SETUP_ROOT=DIR writes below DIR instead of /
and calls no systemctl: for packages and images.
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

if [[ $action == remove ]]; then
  [[ -e $unit ]] || die "$unit is not there: $name is not set up on this host"
  systemd disable --now "$name.service"
  rm -f "$unit" "$monit_file"
  systemd daemon-reload
  echo "removed $name; its configuration stays in $config"
  exit 0
fi

mkdir -p "${unit%/*}" "${config%/*}"
if [[ ! -e $config ]]; then
  "$program" -c "$config"
  # The service has a place for it, and jobs are to survive a restart of the manager.
  sed -i 's|^#state_dir .*|state_dir /var/lib/sumac|' "$config"
  echo "wrote $config with all defaults: look at it before you rely on it"
  if [[ $name == sharp_an ]]; then
    echo "it does not start without a name: write 'name NODE' into it, NODE as in the fabric file, then: systemctl restart sharp_an"
  fi
fi
# Written whole, then renamed: systemd never reads half a unit.
cat >"$unit.new" <<EOF
[Unit]
Description=Sumac $name
Documentation=man:$name(8)
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=$program -O $config
ExecReload=/bin/kill -HUP \$MAINPID
Restart=on-failure
RestartSec=1
RuntimeDirectory=sumac
RuntimeDirectoryPreserve=yes
StateDirectory=sumac
StateDirectoryMode=0700
LimitNOFILE=65536
NoNewPrivileges=yes
ProtectSystem=full
ProtectHome=yes

[Install]
WantedBy=multi-user.target
EOF
mv "$unit.new" "$unit"
if [[ -n $monit ]]; then
  if [[ -d ${monit_file%/*} ]]; then
    cat >"$monit_file" <<EOF
check process $name matching "$program"
  start program = "/bin/systemctl start $name"
  stop program = "/bin/systemctl stop $name"
EOF
  else
    echo "$self: no ${monit_file%/*}: monit is not installed, its check was left out" >&2
  fi
fi
systemd daemon-reload
systemd enable --now "$name.service"
echo "set up $name: $unit, configuration $config"
