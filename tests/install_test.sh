#!/bin/bash
# Tests packaging/install: it is quick and silent when nothing is missing, prints one clear line when it cannot help,
# and never changes this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() { echo "install_test: $*" >&2; exit 1; }
mkdir "$scratch/bin" "$scratch/bare"
for tool in bash sed sort xargs grep cat; do ln -s "$(command -v "$tool")" "$scratch/bare/$tool"; done
# This program precedes the real one in PATH and records its calls.
cat >"$scratch/bin/apt-get" <<EOF
#!/bin/bash
echo "\$*" >>"$scratch/apt.log"
EOF
# Only one of these two packages is in the lists of apt.
cat >"$scratch/bin/apt-cache" <<'EOF'
#!/bin/bash
[[ $2 == sumac-other-package ]]
EOF
cat >"$scratch/bin/id" <<'EOF'
#!/bin/bash
echo "$TEST_UID"
EOF
chmod +x "$scratch/bin/apt-get" "$scratch/bin/apt-cache" "$scratch/bin/id"
run() { PATH="$scratch/bin:$PATH" packaging/install "$@" 2>"$scratch/err" </dev/null; }
export TEST_UID=0

command -v dpkg-query >/dev/null || { echo "install_test: not Debian: nothing to test"; exit 0; }
printf '# a comment\nbash   # why\n\ncoreutils\n' >"$scratch/present.txt"
run "$scratch/present.txt" || fail "everything is there, yet it failed: $(<"$scratch/err")"
[[ ! -s $scratch/err && ! -e $scratch/apt.log ]] || fail "everything is there, yet it spoke or called apt-get"

printf 'bash\nsumac-no-such-package # why\n' >"$scratch/missing.txt"
run "$scratch/present.txt" "$scratch/missing.txt" || fail "one missing, as root: $(<"$scratch/err")"
grep -q 'update' "$scratch/apt.log" || fail "one missing: apt-get update was not called"
grep -q 'install.* --no-install-recommends sumac-no-such-package$' "$scratch/apt.log" ||
  fail "one missing: apt-get install got $(tail -n 1 "$scratch/apt.log")"

printf 'sumac-no-such-package | bash\n' >"$scratch/either.txt"
rm "$scratch/apt.log"
run "$scratch/either.txt" || fail "one of two is there: $(<"$scratch/err")"
[[ ! -s $scratch/err && ! -e $scratch/apt.log ]] || fail "one of two is there, yet it spoke or called apt-get"
printf 'sumac-no-such-package | sumac-other-package\n' >"$scratch/either.txt"
run "$scratch/either.txt" || fail "one of two, as root: $(<"$scratch/err")"
grep -q 'install.* sumac-other-package$' "$scratch/apt.log" ||
  fail "the first of two is unknown to apt: apt-get install got $(tail -n 1 "$scratch/apt.log")"

TEST_UID=1000 run "$scratch/missing.txt" && fail "one missing and not root: it must fail"
[[ $(wc -l <"$scratch/err") == 1 && $(<"$scratch/err") == *'not root; run: sudo apt-get install '*sumac-no-such-package ]] ||
  fail "one missing and not root: no clear line: $(<"$scratch/err")"
TEST_UID=1000 SUMAC_SETUP=no run "$scratch/missing.txt" || fail "SUMAC_SETUP=no must skip everything"

PATH="$scratch/bare" packaging/install "$scratch/missing.txt" 2>"$scratch/err" && fail "not Debian: it must fail"
grep -q 'not Debian' "$scratch/err" || fail "not Debian: no clear line: $(<"$scratch/err")"

for list in packaging/apt*.txt; do
  bad=$(sed -e 's/[[:space:]]*#.*//' "$list" | grep -nvE '^$|^[a-z0-9][a-z0-9.+-]+(:arm64)?( \| [a-z0-9][a-z0-9.+-]+)*$' || true)
  [[ -z $bad ]] || fail "$list: not a package name: $bad"
done
echo "packaging/install: as promised"
