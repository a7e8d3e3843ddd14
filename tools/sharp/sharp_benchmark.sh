#!/bin/bash
# Runs sharp_mpi_test over a list of hosts, with and without the tree, and prints its tables one after the other.
set -euo pipefail

readonly self=${0##*/}
usage() {
  cat <<EOF
usage: $self [-t LIST] [-d] [-f] [-h]

  -t LIST  tests, comma or blank between them: allreduce, barrier, sharp:allreduce, sharp:barrier (all four)
  -d       dry run: print the commands, run nothing
  -f       go on although a prerequisite is missing
  -h       this text
Variables:
  sharp_hostlist          hosts, comma between them (this host); Slurm's allocation if there is one
  sharp_ppn               processes of each host (1)
  sharp_ib_dev            network interface (the system's choice)
  sharp_groups_num, sharp_num_trees     groups and trees to ask for (0: the manager's default)
  sharp_job_members_type  accepted for older scripts (2)
  sharp_test_iters, sharp_test_skip_iters, sharp_test_max_data    10000, 1000, 4096
  MPI_DIR                 MPI whose mpirun is used (the first one in PATH);  MPIRUN_ARGS: more words for it
  SHARP_TMP_DIR           where outputs are kept (a new folder below /tmp, removed if all goes well)
EOF
}
die() {
  echo "$self: $*" >&2
  exit 1
}

tests='allreduce barrier sharp:allreduce sharp:barrier' dry='' force=''
while getopts t:dfh option; do
  case $option in
    t) tests=${OPTARG//,/ } ;;
    d) dry=yes ;;
    f) force=yes ;;
    h)
      usage
      exit 0
      ;;
    *) die "see -h" ;;
  esac
done
shift $((OPTIND - 1))
(($# == 0)) || die "unexpected argument '$1', see -h"
for test in $tests; do
  case $test in
    allreduce | barrier | sharp:allreduce | sharp:barrier) ;;
    *) die "there is no test '$test': allreduce, barrier, sharp:allreduce, sharp:barrier" ;;
  esac
done

bin=$(dirname "$(readlink -f "$0")")
hosts=${sharp_hostlist:-}
if [[ -z $hosts && -n ${SLURM_JOB_NODELIST:-} ]]; then
  hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | paste -sd,)
fi
hosts=${hosts:-$(hostname)}
ppn=${sharp_ppn:-1}
host_count=$(tr ',' '\n' <<<"$hosts" | grep -c .)
mpirun=${MPI_DIR:+$MPI_DIR/bin/}mpirun

has_program() { command -v "$1" >/dev/null; }
# A missing prerequisite is one error that names it; -f turns it into a warning.
require() {
  if "${@:2}"; then return; fi
  [[ -n $force || -n $dry ]] || die "$1 (-f goes on all the same)"
  echo "$self: warning: $1" >&2
}
require "no $mpirun: install Open MPI, or set MPI_DIR" has_program "$mpirun"
require "no $bin/sharp_mpi_test" test -x "$bin/sharp_mpi_test"
if [[ $tests == *sharp:* ]]; then
  require "no sharpd on this host (${SHARP_COLL_SHARPD_SOCKET_NAME:-/run/sumac/sharpd.sock}): start it, or run this script under 'sumac run'" \
    test -S "${SHARP_COLL_SHARPD_SOCKET_NAME:-/run/sumac/sharpd.sock}"
fi

keep=${SHARP_TMP_DIR:-}
out=${keep:-$(mktemp -d)}
failed=0
# Ctrl-C and kill leave no files of ours; the output of a failed test is kept.
clean() { if [[ -z $keep ]] && ((!failed)); then rm -rf "$out"; fi; }
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
for test in $tests; do
  words=("$mpirun" -np "$((host_count * ppn))" --map-by "ppr:$ppn:node")
  if [[ $hosts == "$(hostname)" ]]; then
    words+=(--oversubscribe)
  else
    words+=(-H "${hosts//,/:$ppn,}:$ppn")
  fi
  ((EUID == 0)) && words+=(--allow-run-as-root)
  # shellcheck disable=SC2206 # the user's words, cut where blanks are
  words+=(${MPIRUN_ARGS:-})
  if [[ $test == sharp:* ]]; then
    words+=(-x ENABLE_SHARP_COLL=1 -x "SHARP_COLL_JOB_QUOTA_MAX_GROUPS=${sharp_groups_num:-0}")
    words+=(-x "SHARP_COLL_JOB_NUM_TREES=${sharp_num_trees:-0}" -x "SHARP_COLL_JOB_MEMBER_LIST_TYPE=${sharp_job_members_type:-2}")
  fi
  words+=("$bin/sharp_mpi_test" -c "${test#sharp:}" -m perf -i "${sharp_test_iters:-10000}" -x "${sharp_test_skip_iters:-1000}")
  words+=(-s "4:${sharp_test_max_data:-4096}")
  [[ -z ${sharp_ib_dev:-} ]] || words+=(-d "$sharp_ib_dev")
  if [[ -n $dry ]]; then
    printf '%s:' "$test"
    printf ' %q' "${words[@]}"
    echo
    continue
  fi
  echo "== $test over $host_count host(s), $ppn process(es) each"
  "${words[@]}" </dev/null 2>"$out/${test/:/_}.err" | tee "$out/${test/:/_}.out" || {
    failed=1
    echo "$self: $test failed; what it said:" >&2
    tail -n 20 "$out/${test/:/_}.err" >&2
  }
done
if ((failed)); then
  echo "$self: outputs are in $out" >&2
fi
exit "$failed"
