"""Runs MPI programs through the MPIs' own glue on our libraries: coll/hcoll of Open MPI on libhcoll.so.1, coll/ucc on libucc.so.1, MPICH's hcoll.
SUMAC_OMPI_HCOLL and SUMAC_OMPI_UCC name the component's file, built on our headers for the mpirun of the PATH; SUMAC_OMPI_PREFIX and
SUMAC_MPICH_PREFIX where an MPI was installed that was configured --with-hcoll, SUMAC_OMPI_UCC_PREFIX one --with-ucc. What is not named is left out."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from common import case

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "pmpi"))
import mpis  # noqa: E402  pylint: disable=wrong-import-position


class Client(unittest.TestCase):
    name = variable = ""
    selects: dict[str, str] = {}

    def setUp(self):
        named = os.environ.get(self.variable, "")
        if not named:
            self.skipTest(f"{self.variable} is not set: it names a mca_coll_{self.name}.so that was built on our headers")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.symlink(pathlib.Path(named).resolve(), pathlib.Path(self.folder) / f"mca_coll_{self.name}.so")

    def mpirun(self, ranks):
        return ["mpirun", "--oversubscribe", "-n", str(ranks)]

    def library_path(self):
        return str(case.BUILD / "lib")

    def program(self, name):
        return str(case.BUILD / "tests" / name)

    def components(self, path):
        return {"OMPI_MCA_mca_base_component_path": path or f"{self.folder}:SYSTEM_DEFAULT"}

    def run_ranks(self, ranks, program, *arguments, path="", starter=(), **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SUMAC_", "HCOLL_", "OMPI_"))}
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1", "SUMAC_EXPLAIN": "1",
                       "SUMAC_LAST_LINE": "1", "LD_LIBRARY_PATH": self.library_path(), **self.selects, **variables,
                       **self.components(path)}
        done = subprocess.run([*starter, *self.mpirun(ranks), self.program(program), *arguments],
                              env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        return done.stdout

    def stands_aside(self, serves, **how):
        """The program is right, and one of our other libraries has served it."""
        text = self.run_ranks(2, "mpi/churn", "5", SUMAC_TEAM_AFTER="0", **how)
        self.assertEqual(text.count(f"no team: {serves} is loaded and serves all communicators"), 1, text)
        self.assertNotRegex(text, r"sumac: communicator (id|team) \d|Error|ucc:")
        self.assertRegex(text, "sumac: .*shared memory [1-9]")

    def test_beside_the_interposed_library(self):
        # The environment of mpirun is that of its programs, so the library is loaded into them alone.
        self.stands_aside("the interposed library", OMPI_MCA_mca_base_env_list=f"LD_PRELOAD={case.BUILD / 'lib/libsumac_mpi_openmpi.so'}")

    def right(self, text, team):
        """The program is right, and its collectives went through the library."""
        self.assertRegex(text, rf"sumac: communicator {team}")
        self.assertIn("sumac: collectives: shared memory", text)


class Hcoll(Client):
    name, variable, selects = "hcoll", "SUMAC_OMPI_HCOLL", {"OMPI_MCA_coll_hcoll_enable": "1"}

    def test_programs(self):
        for program, arguments in (("mpi/forms", ()), ("mpi/matrix", ()), ("mpi/corners", ()), ("mpi/churn", ("5",)),
                                   ("host/host-cases", ("--seed", "1", "--cases", "200"))):
            with self.subTest(program):
                self.right(self.run_ranks(2, program, *arguments), r"id \d")

    def test_sumac_run_puts_our_component_first(self):
        text = self.run_ranks(2, "mpi/churn", "5", path=f"{case.BUILD / 'lib/openmpi'}:{self.folder}:SYSTEM_DEFAULT", starter=(str(case.SUMAC), "run"))
        self.assertNotIn("sumac: communicator id", text)


class Built(Client):
    """An MPI that was built beside."""

    test_beside_the_interposed_library = None  # It is tried with the mpirun of the PATH.

    def setUp(self):
        self.prefix = os.environ.get(self.variable, "")
        if not self.prefix:
            self.skipTest(f"{self.variable} is not set: it names the prefix of an MPI that was configured --with-hcoll of ours")

    def components(self, path):
        return {}

    def library_path(self):
        return f"{case.BUILD / 'lib'}:{self.prefix}/lib"

    def cases(self, program, ranks, count, *more):
        text = self.run_ranks(ranks, program, "--seed", "1", "--cases", str(count), *more)
        self.assertIn(f"{count} cases on {ranks} ranks right", text)
        self.right(text, r"id \d")


class BuiltOpenMpi(Built):
    """The build's programs know the persistent collectives of Debian's Open MPI 4.1 by other names, so they are compiled anew."""

    variable, selects = "SUMAC_OMPI_PREFIX", {"OMPI_MCA_coll_hcoll_enable": "1"}

    def program(self, name):
        os.environ["LD_LIBRARY_PATH"] = self.library_path()  # Its libmpi names libhcoll, and the linker looks there.
        own = mpis.Mpi(f"built{self.prefix.replace(os.sep, '-')}", "", pathlib.Path(), (), pathlib.Path(self.prefix))
        if name == "host/host-cases":
            return str(own.host_cases())
        return str(own.compile(pathlib.Path(name).name, "mpicc", mpis.ROOT / "tests" / f"{name}.c", libraries=["-lm", "-pthread"]))

    def mpirun(self, ranks):
        return [f"{self.prefix}/bin/mpirun", "--oversubscribe", "-n", str(ranks)]

    def test_programs(self):
        info = subprocess.run([f"{self.prefix}/bin/ompi_info", "--parsable"], env={**os.environ, "LD_LIBRARY_PATH": self.library_path()},
                              capture_output=True, text=True, check=True).stdout
        has_fortran = "bindings:mpif.h:no" not in info  # The matrix has its types.
        for program, arguments in (("mpi/forms", ()), *((("mpi/matrix", ()),) if has_fortran else ()), ("mpi/corners", ()), ("mpi/churn", ("5",))):
            with self.subTest(program):
                self.right(self.run_ranks(2, program, *arguments), r"id \d")

    def test_cases(self):
        """Open MPI 5.0.7 alone is wrong in allreduce, allgatherv and alltoallv in place where ranks have types of their own, so --tame leaves these out.
        The other collectives whose derived types libhcoll reads have them."""
        for ranks in (2, 3, 4):
            with self.subTest(ranks=ranks):
                self.cases("host/host-cases", ranks, 2000, "--tame")
                self.cases("host/host-cases", ranks, 2000, "--only", "barrier,bcast,allgather")


class BuiltOpenMpiUcc(BuiltOpenMpi):
    variable, selects = "SUMAC_OMPI_UCC_PREFIX", {"OMPI_MCA_coll_hcoll_enable": "0", "OMPI_MCA_coll_ucc_enable": "1", "OMPI_MCA_coll_ucc_priority": "100"}

    test_programs = None  # coll/ucc refuses derived types at one rank alone, which these have.

    def test_cases(self):
        for ranks in (2, 3, 4):
            with self.subTest(ranks=ranks):
                text = self.run_ranks(ranks, "host/host-cases", "--seed", "1", "--cases", "2000", "--tame")
                self.assertIn(f"2000 cases on {ranks} ranks right", text)
                self.assertRegex(text, r"sumac: communicator team \d")  # 5.0.7 does not destroy its context, so there is no last line.


class BuiltMpich(Built):
    """Left out are what MPICH 4.0 itself does wrong, with no library: reduce in place, types of the program, starts of persistent collectives."""

    variable, selects = "SUMAC_MPICH_PREFIX", {"MPIR_CVAR_ENABLE_HCOLL": "1", "MPIR_CVAR_CH3_ENABLE_HCOLL": "1"}

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()  # The program is linked with Debian's name of the library.
        self.addCleanup(folder.cleanup)
        self.links = folder.name
        os.symlink(pathlib.Path(self.prefix) / "lib" / "libmpi.so.12", pathlib.Path(self.links) / "libmpich.so.12")

    def library_path(self):
        return f"{self.links}:{super().library_path()}"

    def mpirun(self, ranks):
        return [f"{self.prefix}/bin/mpiexec", "-n", str(ranks)]

    def test_cases(self):
        for ranks in (2, 3, 4):
            with self.subTest(ranks=ranks):
                self.cases("host/host-cases-mpich", ranks, 2000, "--tame", "--not-persistent", "--only",
                           "barrier,bcast,allreduce,allgather,alltoall,alltoallv")


class Ucc(Client):
    name, variable, selects = "ucc", "SUMAC_OMPI_UCC", {"OMPI_MCA_coll_ucc_enable": "1", "OMPI_MCA_coll_ucc_priority": "100"}

    def test_programs(self):
        """The component refuses derived types at one rank alone, so cases with them hang, on UCC's library too: --tame leaves them out."""
        for ranks in (2, 3, 4):
            with self.subTest(ranks=ranks):
                text = self.run_ranks(ranks, "host/host-cases", "--tame", "--seed", "11", "--cases", "2000")
                self.assertIsNotNone(re.search(rf"2000 cases on {ranks} ranks right", text), text[-2000:])
                self.right(text, r"team \d")

    def test_beside_our_component(self):
        self.stands_aside("Open MPI's component", path=f"{case.BUILD / 'lib/openmpi'}:{self.folder}:SYSTEM_DEFAULT", starter=(str(case.SUMAC), "run"))

    def test_beside_hcoll(self):
        """Open MPI asks the component of the higher priority first; the other one's teams are there."""
        if not os.environ.get(Hcoll.variable):
            self.skipTest(f"{Hcoll.variable} is not set")
        os.symlink(pathlib.Path(os.environ[Hcoll.variable]).resolve(), pathlib.Path(self.folder) / "mca_coll_hcoll.so")
        text = self.run_ranks(3, "host/host-cases", "--tame", "--seed", "11", "--cases", "500", **Hcoll.selects)
        self.assertIn("500 cases on 3 ranks right", text)
        self.right(text, r"team \d")
        self.right(text, r"id \d")


if __name__ == "__main__":
    variables = [one.variable for one in (Hcoll, Ucc, BuiltOpenMpi, BuiltOpenMpiUcc, BuiltMpich)]
    if not any(os.environ.get(one) for one in variables):
        print(f"skipped: none of {', '.join(variables)} is set")
        sys.exit(77)
    case.main()
