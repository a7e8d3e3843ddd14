# Puts the Sumac of this folder into the environment of a shell:  . /where/it/is/sumac-init.sh
# In shells other than bash, zsh and ksh set SUMAC_DIR to the folder first. docs/install.md lists the variables.
# shellcheck shell=sh

if [ -n "${BASH_SOURCE:-}" ]; then
  # shellcheck disable=SC3028,SC3054,SC2128  # only bash gets here
  sumac_here=$BASH_SOURCE
elif [ -n "${ZSH_VERSION:-}" ]; then
  eval 'sumac_here=${(%):-%x}'
elif [ -n "${KSH_VERSION:-}" ]; then
  eval 'sumac_here=${.sh.file}'
else
  sumac_here=${SUMAC_DIR:-.}/sumac-init.sh
fi
sumac_here=$(cd "$(dirname "$sumac_here")" && pwd)

# Prints why this machine cannot run these programs; nothing: it can.
sumac_obstacle() {
  if [ ! -x "$sumac_here/bin/sumac" ]; then
    echo "no Sumac in $sumac_here: set SUMAC_DIR to the folder that it was unpacked into"
    return
  fi
  # The tar alone has this file: any other installation was made for its machine.
  [ -e "$sumac_here/share/sumac/needs" ] || return
  sumac_has=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/glibc //')
  sumac_needs=$(sed -n 's/^glibc //p' "$sumac_here/share/sumac/needs")
  if [ "$(printf '%s\n%s\n' "$sumac_needs" "${sumac_has:-0}" | sort -V | head -n 1)" != "$sumac_needs" ]; then
    echo "it needs glibc $sumac_needs or newer, and this machine has ${sumac_has:-none} (docs/install.md lists what runs where)"
    return
  fi
  # The loader itself names any other library that is missing.
  "$sumac_here/bin/sharpd" --version 2>&1 >/dev/null
}

sumac_why=$(sumac_obstacle)
if [ -n "$sumac_why" ]; then
  echo "sumac-init.sh: $sumac_why" >&2
  unset sumac_here sumac_why
  # shellcheck disable=SC2317  # the second is for who runs this file instead of sourcing it
  return 1 2>/dev/null || exit 1
fi

export SUMAC_DIR="$sumac_here"
# Published command lines name folders by these.
export HPCX_SHARP_DIR="$sumac_here"
export HPCX_HCOLL_DIR="$sumac_here"
export HPCX_MPI_TESTS_DIR="$sumac_here/lib/sumac/mpi-tests"
sumac_ucx=$(command -v ucx_info) && export HPCX_UCX_DIR="${sumac_ucx%/bin/ucx_info}"
# man finds share/man beside a bin of PATH.
export PATH="$SUMAC_DIR/bin:$PATH"
export LD_LIBRARY_PATH="$SUMAC_DIR/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PKG_CONFIG_PATH="$SUMAC_DIR/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
# The component is for Open MPI 4.1 alone; `sumac run` chooses for itself, whatever the MPI.
case $(ompi_info --version 2>/dev/null) in
  *"Open MPI v4.1."*) export OMPI_MCA_mca_base_component_path="$SUMAC_DIR/lib/openmpi:${OMPI_MCA_mca_base_component_path:-SYSTEM_DEFAULT}" ;;
esac
unset sumac_here sumac_why sumac_ucx
