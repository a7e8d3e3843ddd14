"""The packages in a fresh Debian 12: from `apt-get install` to an MPI program's result, an upgrade, a removal under a running job, purge."""

import filecmp
import re
import subprocess
import time

from work import FEW_CORES, allocator_breaches, call, shared_memory_calls

CASE = "deb-fresh"
OLDER = "0.1.0~alpha"
# A package may leave dpkg's and apt's own records, users (as Debian's packages do) and ld.so's cache.
RECORDS = r"^/(var/(cache|lib/(apt|dpkg|systemd|ucf|man-db|python)|log)|etc/(passwd|group|shadow|gshadow|subuid|subgid|ld\.so\.cache)|proc|dev|sys|tmp|run|given|root|home)\b"


def lintian_errors(debs):
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "none", *map(str, debs)], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if line.startswith(("E:", "W:"))]


def first_use(rows, work, root):
    program = work.program("until")
    began = time.monotonic()
    work.installed(root)
    done = root.run(f"mpirun -n 4 {program}", user="someone", env={"SUMAC_LAST_LINE": "1", **FEW_CORES})
    took = time.monotonic() - began
    failed = [] if done.returncode == 0 and shared_memory_calls(done.stderr) > 0 else [f"mpirun -n 4 program: {done.stdout}{done.stderr}"]
    rows.failures(CASE, "programs without shared memory in the last line", failed)
    rows.add(CASE, "s from apt-get install to the program's end", round(took, 1), 60)


def uses(work, root):
    """Returns the failures of what a person does with the installed packages."""
    program, found = work.program("until"), []

    def expect(what, words, output="", user="someone", env=None):
        done = root.run(words, user=user, env=env)
        if done.returncode != 0 or not re.search(output, done.stdout + done.stderr):
            found.append(f"{what}: status {done.returncode}: {(done.stdout + done.stderr)[-1500:]}")

    expect("a tree on one machine", f"sumac run --tree mpirun -n 4 {program}", r"sumac: job \d+: tree [1-9]", env=FEW_CORES)
    expect("a client of libsharp_coll", "sumac run sharp_hello", "Test Passed")
    expect("the same over UCX", "sumac run --transport ucx sharp_hello", "Test Passed")
    expect("the interposed library", "LD_PRELOAD=$(dirname $(readlink -f /usr/bin/sumac))/../lib/libsumac_mpi_openmpi.so "
           f"mpirun -x LD_PRELOAD -n 2 {program}", "sumac: collectives: shared memory [1-9]")
    expect("the example", "sumac run /usr/lib/*/sumac/lib/sumac/examples/example-allreduce 2 1000")
    expect("a team of C", "/usr/lib/*/sumac/lib/sumac/examples/example-team 2")
    expect("a tool without any variable", "sharp_coll_dump_config", "SHARP_COLL_")
    expect("sharp_mpi_test", "mpirun -n 2 sharp_mpi_test -m basic", env=FEW_CORES)
    expect("numpy arrays in Python", "mpirun -n 2 python3 -c 'import numpy, sumac_collectives as s; t = s.init(); "
           "a = numpy.ones(3); print(t.allreduce(a))'", r"\[2\. 2\. 2\.\]")
    expect("the default configurations", "for d in sharp_am sharpd; do $d -O /etc/sumac/$d.conf --show-config > /dev/null || exit 1; done")
    expect("users of the daemons", "test -z \"$(command -v systemd-sysusers)\" || id sumac-am")
    expect("no daemon runs", "! pgrep 'sharp|sumac'; test $? = 0", user="root")
    expect("no unit is enabled", "! find /etc/systemd -name '*sharp*' | grep .", user="root")
    expect("no library of ours where others look", "! ldconfig -p | grep -E 'libsharp|sumac' && ! ls /usr/lib/*/pkgconfig/sharp.pc 2>&1 | grep -v 'No such'", user="root")
    expect("every link leads somewhere", "for f in $(dpkg -L sumac sumac-openmpi sumac-mpi libsumac-sharp libsumac-dev); do test -e $f || exit 1; done", user="root")
    expect("the component is off by SUMAC_ENABLE=0", f"SUMAC_ENABLE=0 SUMAC_LAST_LINE=1 mpirun -n 2 {program} 2>&1 >/dev/null | wc -c", "^0$")
    return found


def files_of(root):
    done = root.run("find / -xdev -not -path '/proc/*' | sort")
    return {line for line in done.stdout.splitlines() if not re.search(RECORDS, line)}


def life(work, older, newer):
    """Returns the failures of install, upgrade, removal and purge."""
    found, program = [], work.program("until")
    names = [deb.name.split("_")[0] for deb in newer]
    with work.root() as root:
        work.installed(root, "older")
        root.run("echo '# kept' >> /etc/sumac/sharpd.conf")
        done = root.run("apt-get install -y -q --no-install-recommends /given/now/*.deb && dpkg-query -W -f '${Version}\\n' " + " ".join(names) + " | sort -u")
        version = newer[0].name.split("_")[1]
        if done.returncode != 0 or done.stdout.splitlines()[-1] != version:
            found.append(f"upgrade from {older[0].name}: {done.stdout[-800:]}{done.stderr[-800:]}")
        if root.run("tail -n 1 /etc/sumac/sharpd.conf").stdout != "# kept\n":
            found.append("the upgrade lost a changed configuration")
        # The job sums until the packages are gone, and then some more.
        done = root.run(f"mpirun --allow-run-as-root -n 4 {program} /tmp/over /tmp/runs > /tmp/out 2> /tmp/err & job=$!; "
                        "until test -e /tmp/runs; do kill -0 $job || exit 1; sleep 0.1; done; "
                        f"dpkg -r {' '.join(names)} > /tmp/dpkg 2>&1 || exit 1; touch /tmp/over; wait $job; s=$?; cat /tmp/out /tmp/err; exit $s",
                        env={"SUMAC_LAST_LINE": "1", **FEW_CORES})
        if done.returncode != 0 or "0 of" not in done.stdout or shared_memory_calls(done.stdout) == 0:
            found.append(f"removal under a running job: status {done.returncode}: {done.stdout}{done.stderr}")
        done = root.run(f"mpirun -n 4 {program}", user="someone", env=FEW_CORES)
        if done.returncode != 0 or done.stderr:
            found.append(f"a program after the removal: {done.stdout}{done.stderr}")
        if root.run("ls /etc/sumac/sharpd.conf").returncode != 0:
            found.append("removal took the configuration with it, which only purge may")
        root.run(f"dpkg -P {' '.join(names)}")
        after = files_of(root)
    with work.root() as root:
        root.run("apt-get install -y -q --no-install-recommends openmpi-bin")
        before = files_of(root)
    left = sorted(path for path in after - before if "sumac" in path or "sharp" in path or "hcoll" in path)
    if left:
        found.append(f"purge left {', '.join(left[:10])}")
    return found


def allocators(work, debs):
    unpacked = work.folder / "allocators-debs"
    call("rm", "-rf", unpacked)
    for deb in debs:
        call("dpkg-deb", "-x", deb, unpacked)
    return allocator_breaches(unpacked)


def check(rows, work):
    newer, again, older = work.packages("now"), work.packages("again"), work.packages("older", OLDER)
    rows.failures(CASE, "errors and warnings of lintian", lintian_errors(newer))
    differ = [one.name for one, other in zip(newer, again) if not filecmp.cmp(one, other, shallow=False)]
    rows.failures(CASE, "packages that differ in a second build", differ)
    rows.failures(CASE, "libraries that free what another runtime allocated", allocators(work, newer))
    with work.root() as root:
        first_use(rows, work, root)
        rows.failures(CASE, "uses that failed", uses(work, root))
    rows.failures(CASE, "failures of upgrade, removal and purge", life(work, older, newer))
