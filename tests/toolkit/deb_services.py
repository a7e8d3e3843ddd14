"""The packages' units under a systemd of their own: a node whose groups are in the kernel is killed and started again under a job, which notices neither.
What `systemctl stop` leaves behind is counted."""

import re
import shutil

from work import FEW_CORES

CASE = "deb-services"
KILLS = RESTARTS = 3
CALLS = 600_000

# The first process of the namespaces becomes systemd, whose one job is the script.
BOOT = r"""
mount -t tmpfs -o mode=755 tmpfs /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t bpf bpf /sys/fs/bpf
cat >/etc/systemd/system/check.service <<END
[Unit]
After=multi-user.target
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
ExecStart=/bin/bash /given/services.sh
StandardOutput=file:/given/services.out
StandardError=inherit
END
mkdir -p /etc/systemd/system/multi-user.target.wants
ln -s ../check.service /etc/systemd/system/multi-user.target.wants/
exec env container=sumac /lib/systemd/systemd --system --unit=multi-user.target
"""

FABRIC = """name: one
switches: [leaf]
hosts: {h1: {leaf: leaf}}
nodes: {an1: {switch: leaf}}
root: an1
"""

SCRIPT = rf"""set -eu
trap 'status=$?; test $status = 0 || {{ echo "line $LINENO: status $status"; tail -n 20 /tmp/job /var/log/sharp_an.log; }}' EXIT
until_true() {{ for i in $(seq 600); do ! "$@" || return 0; sleep 0.05; done; echo "not within 30 s: $*"; exit 1; }}
cat >/etc/sumac/fabric.yaml <<END
{FABRIC}END
printf 'fabric /etc/sumac/fabric.yaml\nlisten unix:/run/sumac-am/am.sock\nstate_dir /var/lib/sumac\ndaemon_users sumac-an,sumac-sharpd\n' >/etc/sumac/sharp_am.conf
printf 'name an1\nmanager unix:/run/sumac-am/am.sock\nlisten 127.0.0.1:0\nhop auto\n' >/etc/sumac/sharp_an.conf
printf 'host h1\nmanager unix:/run/sumac-am/am.sock\n' >/etc/sumac/sharpd.conf
systemctl enable --now sharp_am sharpd
sharp_daemons_setup.sh -s -d sharp_an
until_true grep -q 'node an1 registered' /var/log/sharp_am.log
has_sharpd() {{ sharp_cmd topology --manager unix:/run/sumac-am/am.sock | grep -q ' 1 sharpds connected'; }}
until_true has_sharpd

runuser -u someone -- env OMPI_MCA_rmaps_base_oversubscribe=1 SUMAC_RECOVERY=1 SHARP_COLL_LOG_LEVEL=3 \
  LD_LIBRARY_PATH="$(echo /usr/lib/*/sumac/lib)" mpirun -n 3 /given/hop-mixed --calls {CALLS} >/tmp/job 2>&1 &
job=$!
until_true grep -q 'go by the hop' /tmp/job
times=0
again() {{ test "$(grep -c 'is on a tree again' /tmp/job)" -ge $times || ! kill -0 $job 2>/dev/null; }}
for way in {"killed " * KILLS}{"restarted " * RESTARTS}; do
  sleep 0.5
  until_true systemctl is-active -q sharp_an
  if test $way = killed; then kill -KILL $(systemctl show -P MainPID sharp_an); else systemctl restart sharp_an; fi
  times=$((times + 1))
  until_true again
done
status=0; wait $job || status=$?
cat /tmp/job
systemctl stop sharp_an
echo "job: $status"
echo "pins: $(find /sys/fs/bpf -name 'hop_*' | wc -l)"
echo "filters: $(tc filter show dev lo ingress | wc -l)"
"""


def check(rows, work):
    work.packages("now")
    shutil.copy(work.build / "bin/hop-mixed", work.given)
    (work.given / "services.sh").write_text(SCRIPT, encoding="utf-8")
    out = work.given / "services.out"
    out.unlink(missing_ok=True)
    with work.root() as root:
        work.installed(root, also="openmpi-bin systemd iproute2")
        done = root.run(BOOT, seconds=300, env=FEW_CORES)
    text = out.read_text(encoding="utf-8") if out.exists() else ""
    counts = {name: int(count) for name, count in re.findall(r"^(job|pins|filters): (\d+)$", text, re.MULTILINE)}
    if len(counts) != 3:
        raise RuntimeError(f"status {done.returncode}: {text[-3000:]}{done.stdout[-1000:]}{done.stderr[-1000:]}")
    errors = re.search(r'"errors":(\d+)', text)
    rows.add(CASE, f"wrong results of {CALLS} operations", int(errors[1]) if errors and counts["job"] == 0 else CALLS, 0)
    rows.add(CASE, f"groups that left their tree, {KILLS} kills and {RESTARTS} systemctl restart", text.count("has lost its tree"), 0)
    rows.add(CASE, "of these that the job outlived unseen", KILLS + RESTARTS - text.count("is on a tree again"), 0)
    rows.add(CASE, "pins and filters behind systemctl stop", counts["pins"] + counts["filters"], 0)
