"""Runs MPI programs through Open MPI's own component coll/hcoll on our library, if SUMAC_OMPI_HCOLL names a mca_coll_hcoll.so that was
built on our headers for the mpirun of the PATH. usage: client_test.py BUILD"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
PROGRAMS = (("mpi/forms", ()), ("mpi/matrix", ()), ("mpi/corners", ()), ("mpi/churn", ("5",)), ("host/host-cases", ("--seed", "1", "--cases", "200")))


def run(component_path, sumac, program, arguments):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SUMAC_", "HCOLL_", "OMPI_"))}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1", "SUMAC_EXPLAIN": "1",
                   "OMPI_MCA_coll_hcoll_enable": "1", "LD_LIBRARY_PATH": str(BUILD / "lib")}
    if component_path:
        environment["OMPI_MCA_mca_base_component_path"] = component_path
    done = subprocess.run([*sumac, "mpirun", "--oversubscribe", "-n", "2", str(BUILD / "tests" / program), *arguments], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
    return done.returncode, done.stdout


def main():
    component = os.environ.get("SUMAC_OMPI_HCOLL", "")
    if not component:
        print("skipped: SUMAC_OMPI_HCOLL is not set; it names a mca_coll_hcoll.so built on our headers")
        return 77
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(pathlib.Path(component).resolve(), pathlib.Path(folder) / "mca_coll_hcoll.so")
        for program, arguments in PROGRAMS:
            code, text = run(f"{folder}:SYSTEM_DEFAULT", (), program, arguments)
            if code != 0 or not re.search(r"sumac: communicator id \d", text) or "sumac: collectives: shared memory" not in text:
                failed.append(f"{program}: exit status {code}\n{text[-2000:]}")
        # Both components are there: sumac run puts ours first.
        code, text = run(f"{BUILD / 'lib/openmpi'}:{folder}:SYSTEM_DEFAULT", (str(BUILD / "bin/sumac"), "run"), "mpi/churn", ("5",))
        if code != 0 or "sumac: communicator id" in text:
            failed.append(f"sumac run did not choose its own component: exit status {code}\n{text[-2000:]}")
    print("\n".join(failed) or "passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
