#!/usr/bin/env python3
"""Checks what packages and tar are cut from, without making them: every installed file is in exactly one package, the versions agree, and
sumac-init.sh works from a moved prefix. `make toolkit` does the rest (tests/toolkit).
usage: packages_test.py BUILD
"""
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEBIAN = ROOT / "packaging/debian"
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
PREFIX = "usr/lib/somewhere/sumac"


def run(*command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, check=False, **more)


def lists(suffix):
    """Returns {package: [words of each line]} of debian/*.install or *.links."""
    return {path.name.removesuffix(suffix): [line.replace("${env:PREFIX}", PREFIX).replace("${env:COMPONENTS}", "components").split()
                                             for line in path.read_text().splitlines()] for path in DEBIAN.glob(f"*{suffix}")}


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="sumac-packages-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        cls.top = cls.scratch / "top"
        done = run(os.environ.get("CMAKE", "cmake"), "--install", BUILD, "--prefix", cls.top / PREFIX)
        assert done.returncode == 0, done.stdout + done.stderr
        cls.anywhere = cls.scratch / "a b"
        shutil.copytree(cls.top / PREFIX, cls.anywhere, symlinks=True)
        done = run(DEBIAN / "arrange", BUILD, cls.top, PREFIX)
        assert done.returncode == 0, done.stdout + done.stderr

    def test_every_file_is_in_one_package(self):
        wanted = {name: [line[0] for line in lines] for name, lines in lists(".install").items()}
        for path in self.top.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                continue
            name = str(path.relative_to(self.top))
            takers = [package for package, patterns in wanted.items()
                      if any(fnmatch.fnmatchcase(name, each) or name.startswith(each + "/") for each in patterns)]
            self.assertEqual(len(takers), 1, f"{name} is in {takers}: add it to packaging/debian/PACKAGE.install")

    def test_every_package_and_link_has_its_file(self):
        packages = set(re.findall(r"^Package: (.*)", (DEBIAN / "control").read_text(), re.MULTILINE))
        self.assertEqual(set(lists(".install")), packages)
        built = {"sumac-openmpi": BUILD / "lib/openmpi/mca_coll_hcoll.so", "python3-sumac-collectives": BUILD / "python/sumac_collectives"}
        for package, lines in lists(".links").items():
            if built.get(package, BUILD).exists():
                for target, _ in lines:
                    self.assertTrue((self.top / target).exists(), f"{package}: {target}")

    def test_units_and_configurations_are_those_of_the_packages(self):
        for daemon in ("sharp_am", "sharp_an", "sharpd"):
            unit = (self.top / f"lib/systemd/system/{daemon}.service").read_text()
            self.assertIn(f"\nExecStart=/{PREFIX}/bin/{daemon} -O /etc/sumac/{daemon}.conf\n", unit)
            self.assertTrue((self.top / f"etc/sumac/{daemon}.conf").exists())
        self.assertEqual(os.readlink(self.top / PREFIX / "conf"), "/etc/sumac")

    def test_slurms_plug_in_finds_the_programs_and_needs_nothing_of_ours(self):
        """It takes the folder two above its own as the prefix, and srun loads it on hosts that have no library of ours on a path."""
        plugin = self.top / PREFIX / "lib/slurm/sumac_slurm.so"
        if not (BUILD / "lib/slurm/sumac_slurm.so").exists():
            self.skipTest("built without libslurm-dev")
        self.assertTrue(os.access(plugin.parents[2] / "bin/sumac", os.X_OK))
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", plugin).stdout)
        self.assertEqual([name for name in needed if not re.match(r"(libc|ld-linux.*)\.so", name)], [])
        self.assertEqual(sorted(each for each in lists(".install")["sumac-slurm"]), [[f"{PREFIX}/lib/slurm"]])
        self.assertEqual([path.name for path in plugin.parent.iterdir()], ["sumac_slurm.so"])

    def test_the_versions_agree(self):
        cmake = (ROOT / "CMakeLists.txt").read_text()
        number = re.search(r"^project\(sumac VERSION (\S+)", cmake, re.MULTILINE).group(1)
        version = re.search(r'^set\(SUMAC_VERSION "(.*)"\)', cmake, re.MULTILINE).group(1).replace("${PROJECT_VERSION}", number)
        self.assertEqual(re.match(r"sumac \((.*?)\)", (DEBIAN / "changelog").read_text()).group(1), version)
        self.assertEqual(re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE).group(1), version)
        self.assertIn(version, run(BUILD / "bin/sharp_am", "--version").stdout)

    def source(self, words, needs="glibc 2.17", shell="bash", path=None):
        shutil.copy(ROOT / "packaging/anywhere/sumac-init.sh", self.anywhere)
        (self.anywhere / "share/sumac/needs").write_text(needs + "\n")
        return run(shell, "-c", words, cwd=self.scratch, env={"PATH": path or os.environ["PATH"], "OMPI_MCA_mca_base_component_path": "theirs"})

    def test_init_finds_its_own_folder(self):
        show = (' && echo "$SUMAC_DIR" && echo "$HPCX_SHARP_DIR" && echo "$HPCX_HCOLL_DIR" && command -v sumac && echo "$LD_LIBRARY_PATH"'
                ' && "$HPCX_MPI_TESTS_DIR/osu_bibw" -h | head -n 1 && "$HPCX_MPI_TESTS_DIR/imb/IMB-NBC" -help | head -n 1'
                ' && ls "$HPCX_SHARP_DIR/sbin/sharp_daemons_setup.sh"')
        wanted = [*3 * [str(self.anywhere)], f"{self.anywhere}/bin/sumac", f"{self.anywhere}/lib",
                  "Usage: sumac bench osu_bibw [options]     2 ranks; the MPI alone carries the messages", "Usage: sumac bench IMB-NBC [options] [benchmark ...]",
                  f"{self.anywhere}/sbin/sharp_daemons_setup.sh"]
        for shell, words in (("bash", ". 'a b/sumac-init.sh'"), ("dash", "SUMAC_DIR=$PWD/'a b'; . \"$SUMAC_DIR/sumac-init.sh\"")):
            with self.subTest(shell):
                done = self.source(words + show, shell=shell)
                self.assertEqual(done.stdout.splitlines(), wanted, done.stderr)

    def test_init_names_the_folder_of_ucx_where_it_is(self):
        programs = self.scratch / "ucx/bin"
        programs.mkdir(parents=True, exist_ok=True)
        show = '. "a b/sumac-init.sh" && echo "${HPCX_UCX_DIR-none}"'
        tools = self.scratch / "tools"
        tools.mkdir(exist_ok=True)
        for tool in ("dirname", "getconf", "sed", "sort", "head"):
            if not (tools / tool).exists():
                (tools / tool).symlink_to(shutil.which(tool))
        self.assertEqual(self.source(show, shell="/bin/bash", path=str(tools)).stdout, "none\n")
        (programs / "ucx_info").symlink_to("/bin/true")
        self.assertEqual(self.source(show, shell="/bin/bash", path=f"{programs}:{tools}").stdout, f"{programs.parent}\n")

    def test_the_modules_find_the_folder_of_their_installation(self):
        tclsh = shutil.which("tclsh")
        if not tclsh:
            self.skipTest("no tclsh here")
        commands = "proc module-whatis {args} {}; proc conflict {args} {}; proc prepend-path {args} {}; proc module-info {args} {return load}; " \
                   "proc setenv {name value} {puts \"$name=$value\"}; source $ModulesCurrentModulefile"
        for module in ("sumac", "hpcx-stack"):
            (path,) = (self.anywhere / "modulefiles" / module).iterdir()
            done = subprocess.run([tclsh], input=f"set ModulesCurrentModulefile {{{path}}}; {commands}", capture_output=True, text=True, check=False, timeout=60)
            self.assertIn(f"HPCX_MPI_TESTS_DIR={self.anywhere}/lib/sumac/mpi-tests\n", done.stdout, done.stderr)

    def test_init_adds_the_component_for_open_mpi_41_alone(self):
        show = '. "a b/sumac-init.sh" && echo "$OMPI_MCA_mca_base_component_path"'
        programs = self.scratch / "programs"
        programs.mkdir(exist_ok=True)
        for version, wanted in (("v4.1.4", f"{self.anywhere}/lib/openmpi:theirs"), ("v5.0.7", "theirs")):
            info = programs / "ompi_info"
            info.write_text(f"#!/bin/sh\necho 'Open MPI {version}'\n")
            info.chmod(0o755)
            self.assertEqual(self.source(show, path=f"{programs}:{os.environ['PATH']}").stdout.strip(), wanted)

    def test_init_refuses_a_machine_that_is_too_old(self):
        done = self.source(". 'a b/sumac-init.sh' || echo refused $?; echo ${SUMAC_DIR-unset}", needs="glibc 99.1")
        self.assertEqual(done.stdout, "refused 1\nunset\n")
        self.assertRegex(done.stderr, r"^sumac-init.sh: it needs glibc 99\.1 or newer, and this machine has 2\.\d+")


if __name__ == "__main__":
    unittest.main(verbosity=2)
