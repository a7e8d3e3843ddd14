# The few commands a person needs. Each installs what it misses first (Debian, root) and is quick the second time.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PRESET ?= dev
BUILD := build/$(PRESET)
JOBS ?= $(shell nproc)
# Set these on the command line: make test TESTS=wire, make lint ALL=1, make fuzz FUZZ_SECONDS=600, make lab FABRIC=file.yaml,
# make bench-host CASE=barrier-2r BEFORE=../before/build/dev (bench-fabric, -mpi, -torch, -control and guard take BEFORE too)
TESTS ?=
CASE ?=
BEFORE ?=
WITHOUT ?=
WERROR ?=
MPI ?=
APP ?=
SLURM ?=
SYSTEM ?=
ALL ?=
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= 0
FABRIC ?= lab/fabrics/test-4h.yaml
HOST_SEED ?= 1
MINUTES ?= 60
ROWS ?=
WRITE ?=
# make sets no SECONDS, but a shell that starts it may: only what stands on the command line counts.
SOAK_SECONDS := $(if $(filter command line,$(origin SECONDS)),$(SECONDS),3600)

.PHONY: help hop model soft setup setup-dev setup-bench setup-apps setup-slurm setup-guard setup-tools setup-python setup-charm4py wheel configure dev build demo test seeds faults soak walk lint format docs site setup-site lab bench bench-apps bench-host bench-teams bench-mpi bench-fabric bench-crossover bench-control soak-control component guard reports systems arm64 jobs slurm-plugin host-cases mpi4py pasted fuzz asan asan-component tsan lines clean bench-torch frameworks setup-frameworks packages tar rpm toolkit setup-packages setup-toolkit

help: ## this list
	@echo "Sumac: reductions inside the network, in software. Targets:"
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

demo: setup configure ## build, bring up an emulated fabric, show MPI without and with Sumac (build/demo.json)
	@echo "demo: compiles what it runs (some 4 minutes on 2 cores; seconds the next time), then measures for 2 minutes"
	@cmake --build $(BUILD) -j $(JOBS) --target demo
	@python3 bench/demo.py --build $(BUILD) --out build/demo.json

test: setup-dev setup-python configure ## build everything and run every test; TESTS=regex for some
	@cmake --build $(BUILD) -j $(JOBS) --target all check-headers
	@python3 tests/run.py --build $(BUILD) --jobs $(JOBS) --only "$(TESTS)"

dev: setup configure ## build everything of the preset dev into build/dev (PRESET=release for another)
	@cmake --build $(BUILD) -j $(JOBS)

build: dev

component: ## build only the component, for the Open MPI 4.1 or 5.0 below MPI=/prefix (build/component-VERSION)
	@test -n "$(MPI)" || { echo "component: name the prefix of an Open MPI: make component MPI=/opt/openmpi" >&2; exit 2; }
	@cmake -DPREFIX="$(MPI)" -P cmake/OpenMpi.cmake > /dev/null
	@$(MAKE) setup
	@folder=build/component-$$(cmake -DPREFIX="$(MPI)" -P cmake/OpenMpi.cmake); \
	cmake --preset release -B $$folder -DSUMAC_OPENMPI_PREFIX="$(MPI)" --log-level=WARNING > /dev/null; \
	cmake --build $$folder -j $(JOBS) --target mca_coll_hcoll; \
	echo "component: $(CURDIR)/$$folder/lib/openmpi/mca_coll_hcoll.so; start a program of that Open MPI by"; \
	echo "  mpirun --mca opal_mca_base_component_path $(CURDIR)/$$folder/lib/openmpi:SYSTEM_DEFAULT ./program"

seeds: setup configure ## the protocol's machines in a world of seeded faults; SUMAC_SEED=n reruns one
	@cmake --build $(BUILD) -j $(JOBS) --target sumac-seeds
	@$(BUILD)/bin/sumac-seeds
	@[ -n "$$SUMAC_SEED" ] || { $(BUILD)/bin/sumac-seeds --recovery --count 100000 && $(BUILD)/bin/sumac-seeds --hop --count 100000 && $(BUILD)/bin/sumac-seeds --job --count 20000 --no-mutants; }

model: setup configure ## every order of events of small groups that lose tree, links and members, and what breaks without each rule (15 minutes, 8 GB)
	@cmake --build $(BUILD) -j $(JOBS) --target sumac-explore sumac-explore-hop
	@$(BUILD)/bin/sumac-explore --large
	@$(BUILD)/bin/sumac-explore --check --large
	@$(BUILD)/bin/sumac-explore-hop --large
	@$(BUILD)/bin/sumac-explore-hop --check

soft: setup configure ## sums in integer instructions beside the processor's: each pair of half and bfloat16, 10^9 of float and double (5 minutes)
	@cmake --build $(BUILD) -j $(JOBS) --target hop-soft
	@$(BUILD)/bin/hop-soft

lab: setup configure ## bring up the emulated fabric FABRIC=file.yaml and hold it until Ctrl-C
	@cmake --build $(BUILD) -j $(JOBS) --target programs
	@$(BUILD)/bin/sumac lab up $(FABRIC)

bench: setup configure ## the demo's cases and others in long form, and whether what must hold does (build/bench.json, an hour)
	@cmake --build $(BUILD) -j $(JOBS) --target programs
	@python3 bench/demo.py --build $(BUILD) --out build/bench.json --full

bench-apps: setup-apps setup-python configure ## real programs, timed without Sumac, with Open MPI's best algorithms and with Sumac (build/apps.json, 4 hours); APP=name for one
	@cmake --build $(BUILD) -j $(JOBS) --target programs py_torch py_core
	@python3 bench/apps/run.py --build $(BUILD) --out build/apps.json --app "$(APP)"

bench-host: setup-bench configure ## shared memory against every MPI, inside this host (build/host.json); CASE=name for one
	@cmake --build $(BUILD) -j $(JOBS) --target programs
	@python3 bench/host/run.py --build $(BUILD) --out build/host.json --case "$(CASE)" $(if $(BEFORE),--before "$(BEFORE)")

bench-teams: setup configure ## the Teams API of libucc.so.1 inside this host, beside UCC's own where SUMAC_UCC_LIB names its folder (build/teams.json)
	@cmake --build $(BUILD) -j $(JOBS) --target teams-loop
	@python3 bench/teams/run.py --build $(BUILD) --out build/teams.json --ucc "$(SUMAC_UCC_LIB)"

bench-mpi: setup-bench setup-mpi4py configure ## six MPIs, each with the interposed library and without (build/mpi.json, 90 minutes); CASE=name for some, WITHOUT=abi,impi
	@cmake --build $(BUILD) -j $(JOBS) --target programs
	@python3 bench/mpi/run.py --build $(BUILD) --out build/mpi.json --case "$(CASE)" --without "$(WITHOUT)" $(if $(BEFORE),--before "$(BEFORE)")

bench-torch: setup setup-python configure ## PyTorch's collectives by Sumac beside gloo, inside this host (build/torch.json, 15 minutes); CASE=name for some
	@cmake --build $(BUILD) -j $(JOBS) --target py_torch py_core cacheline
	@PYTHONPATH=$(CURDIR)/$(BUILD)/python build/python/bin/python bench/torch/run.py --build $(BUILD) --out build/torch.json --case "$(CASE)" $(if $(BEFORE),--before "$(BEFORE)")

frameworks: setup-frameworks configure ## accelerate, transformers, Lightning, DeepSpeed and torchmetrics on the backend sumac beside gloo (build/frameworks.json, 3 minutes); CASE=name for one
	@cmake --build $(BUILD) -j $(JOBS) --target py_torch py_core
	@PYTHONPATH=$(CURDIR)/$(BUILD)/python build/frameworks/bin/python bindings/python/tests/frameworks.py --out build/frameworks.json --case "$(CASE)"

bench-fabric: setup-bench configure ## the tree beside Open MPI and MPICH in an emulated fabric (build/fabric.json, 40 minutes); CASE=name for one
	@cmake --build $(BUILD) -j $(JOBS) --target programs
	@python3 bench/fabric/run.py --build $(BUILD) --out build/fabric.json --case "$(CASE)" $(if $(BEFORE),--before "$(BEFORE)")

bench-crossover: setup configure ## where a tree pays and where not: hosts, round trip, places of the nodes, size (build/crossover.json, 15 minutes); CASE='8h-500us*' for some
	@cmake --build $(BUILD) -j $(JOBS) --target programs
	@python3 bench/crossover/run.py --build $(BUILD) --out build/crossover.json --case "$(CASE)"

hop: setup configure ## as root: small collectives in the kernels of nodes beside the same by TCP, under loss, and what proves them (build/hop.json, 45 minutes); CASE='allreduce-8B*' for some
	@cmake --build $(BUILD) -j $(JOBS) --target programs hop-bare hop-price hop-soft steady sumac-explore-hop sumac-seeds
	@python3 bench/hop/run.py --build $(BUILD) --out build/hop.json --case "$(CASE)"

bench-control: setup-dev configure ## the manager under load and under deaths: 1,000 to 10,000 simulated hosts (build/control.json)
	@cmake --build $(BUILD) -j $(JOBS) --target control-bench tree-bench golden_test steady sharp_an sharpd
	@$(BUILD)/bin/control-bench --am $(BUILD)/bin/sharp_am $(if $(BEFORE),--before $(BEFORE)/bin/sharp_am) --also $(BUILD)/bin/tree-bench --golden $(BUILD)/tests/golden_test --out build/control.json
	@python3 bench/control/down_to_begin.py --build $(BUILD) --out build/down-to-begin.json

soak-control: setup-dev configure ## an hour of jobs that come and go under deaths, and a manager that does not grow; SECONDS=n for another time
	@cmake --build $(BUILD) -j $(JOBS) --target control-bench
	@$(BUILD)/bin/control-bench --am $(BUILD)/bin/sharp_am --only soak --soak-seconds $(SOAK_SECONDS) --out build/soak.json

guard: setup-guard configure ## attacks on real daemons, one for each promise of docs/security.md (build/guard.json); CASE=name for some, BEFORE=build folder to compare with
	@cmake --build $(BUILD) -j $(JOBS) --target programs guard-programs
	@python3 tests/guard/run.py --build $(BUILD) --out build/guard.json --case "$(CASE)" --before "$(BEFORE)"

reports: setup-toolkit setup-bench setup-fuzz setup-python configure ## what people reported, each with the test that failed before (build/reports.json); CASE=name for some
	@cmake --build $(BUILD) -j $(JOBS) --target all
	@python3 tests/reports/reports.py --build $(BUILD) --out build/reports.json --case "$(CASE)"

systems: setup-toolkit ## make demo and make test in fresh roots of Debian 12 and 13, as root, from a clone of the last commit (build/systems.json, 2 hours each); SYSTEM=trixie for one
	@python3 tests/systems/run.py --out build/systems.json --system "$(SYSTEM)"

arm64: setup-toolkit ## everything for 64-bit Arm, from a clone of the last commit in a fresh root: packages, and tests under qemu (build/arm64.json, an hour, root)
	@python3 tests/systems/arm64.py --out build/arm64.json

faults: setup-dev setup-python configure ## jobs in the lab that meet faults, in numbers (build/faults.json, 2 hours); CASE=name for some, FAULT_KILLS=n for fewer kills than 500
	@cmake --build $(BUILD) -j $(JOBS) --target programs mca_coll_hcoll mpi_programs client-survivors
	@python3 tests/faults/run.py --build $(BUILD) --out build/faults.json --case "$(CASE)"

soak: setup-dev configure ## an hour of chaos under one job: memory and descriptors of its daemons and ranks (build/faults-soak.json); MINUTES=n for another time
	@cmake --build $(BUILD) -j $(JOBS) --target programs mca_coll_hcoll mpi_programs
	@FAULT_MINUTES=$(MINUTES) SUMAC_BUILD=$(BUILD) python3 tests/faults/soak.py --out build/faults-soak.json

jobs: setup-slurm setup-charm4py setup-toolkit configure ## jobs in a Slurm of three hosts on this machine, what published slides compare, the tar on Debian 11 (build/jobs.json, 45 minutes); CASE=name for some
	@cmake --build $(BUILD) -j $(JOBS) --target programs mca_coll_hcoll mpi_programs sumac_slurm py_core py_torch manual reference
	@python3 tests/slurm/run.py --build $(BUILD) --out build/jobs.json --case "$(CASE)"

slurm-plugin: ## Slurm's plug-in for the Slurm below SLURM=/prefix (build/slurm-plugin/sumac_slurm.so); its line in plugstack.conf names prefix=
	@test -f "$(SLURM)/include/slurm/spank.h" || { echo "slurm-plugin: no include/slurm/spank.h below SLURM=$(SLURM)" >&2; exit 2; }
	@mkdir -p build/slurm-plugin
	@$(CC) -shared -fPIC -O2 -std=gnu11 -I "$(SLURM)/include" -o build/slurm-plugin/sumac_slurm.so bindings/slurm/sumac_slurm.c
	@echo "slurm-plugin: build/slurm-plugin/sumac_slurm.so"

host-cases: setup configure ## 20,000 random collectives against what they must give, on 2 to 16 ranks; HOST_SEED=n for others
	@cmake --build $(BUILD) -j $(JOBS) --target programs host_cases
	@SUMAC_BUILD=$(BUILD) python3 tests/host/cases_test.py --all --seed $(HOST_SEED)

mpi4py: setup-mpi4py configure ## mpi4py's own tests (from PyPI), without Sumac and with it
	@cmake --build $(BUILD) -j $(JOBS) --target programs
	@python3 tests/host/mpi4py_suite.py --build $(BUILD)

pasted: setup-bench configure ## the command lines of published texts on emulated hosts, also with 144 ranks, and Intel's IMB-MPI1 under MPICH (downloads 129 MB)
	@cmake --build $(BUILD) -j $(JOBS) --target programs sumac-bench
	@SUMAC_BUILD=$(BUILD) python3 tests/pasted/pasted_test.py
	@SUMAC_BUILD=$(BUILD) python3 tests/pasted/pasted_test.py --large
	@SUMAC_BUILD=$(BUILD) python3 tests/pasted/imb_test.py

wheel: setup-python ## the Python package with all it needs but PyTorch and numpy (build/wheels)
	@bindings/python/wheel build/wheels

packages: setup-packages configure ## Debian packages of the build (build/packages)
	@cmake --build $(BUILD) -j $(JOBS) --target programs manual reference
	@packaging/packages $(BUILD) build/packages

tar: setup-packages configure ## one archive that runs where it is unpacked, without root (build/tar)
	@cmake --build $(BUILD) -j $(JOBS) --target programs manual reference
	@packaging/tar $(BUILD) build/tar

rpm: tar ## an RPM of the files of the tar (build/rpm)
	@packaging/rpm/build "$$(ls -t build/tar/sumac-*.tar.xz | head -n 1)" build/rpm

toolkit: setup-toolkit setup-guard configure ## what people install, in fresh Debian roots, and what its tools find and show (build/toolkit.json, 30 minutes, root); CASE=name for some
	@cmake --build $(BUILD) -j $(JOBS) --target programs manual reference mpi_programs guard-programs other_versions steady
	@python3 tests/toolkit/run.py --build $(BUILD) --out build/toolkit.json --case "$(CASE)"

walk: setup-dev ## which folders one allreduce goes through, in every process, and whether docs/architecture.md says so; WRITE=1 writes it
	@cmake --preset walk --log-level=WARNING
	@cmake --build build/walk -j $(JOBS) --target walk_programs
	@python3 tests/walk/run.py --build build/walk $(if $(WRITE),--write)

lint: setup-tools ## formatting, spelling, shell scripts, changed headers alone, clang-tidy on what changed (ALL=1: on everything)
	@cmake --preset $(PRESET) -B build/lint -DSUMAC_UNITY=OFF --log-level=WARNING > /dev/null
	@cmake --build build/lint -j $(JOBS) --target sumac_control_messages
	@.ci/lint --build build/lint --jobs $(JOBS) $(if $(ALL),--all)

lines: ## product lines that are neither blank nor comment, by folder
	@.ci/lines

format: setup-tools ## let clang-format rewrite every C and C++ file
	@git ls-files -z '*.c' '*.h' '*.cpp' '*.hpp' | xargs -0 clang-format-14 -i

docs: setup-tools configure ## redraw the folder arrows in docs/architecture.md from CMake, and the pictures
	@python3 docs/arrows.py --dot $(BUILD)/arrows.dot --write
	@dot -Tsvg docs/pieces.dot -o docs/pieces.svg
	@test ! -x $(BUILD)/bin/sumac || $(BUILD)/bin/sumac fabric show lab/fabrics/test-4h.yaml --dot | dot -Tsvg | sed '/^<!-- Generated by/,/-->/d' > docs/start/fabric.svg

site: setup setup-site configure ## the documents for a browser, offline, every link checked (build/site); first compiles what makes the reference pages
	@cmake --build $(BUILD) -j $(JOBS) --target reference
	@NO_MKDOCS_2_WARNING=1 SUMAC_REFERENCE=$(CURDIR)/$(BUILD)/docs build/site-env/bin/mkdocs --quiet build --strict --config-file packaging/site/mkdocs.yml
	@python3 packaging/site/links.py
	@echo "site: open build/site/index.html"

fuzz: setup-fuzz ## every libFuzzer program for FUZZ_SECONDS=60, as many at once as there are processors; FUZZ_SEED=n for the same again
	@cmake --preset fuzz --log-level=WARNING
	@cmake --build build/fuzz -j $(JOBS) --target fuzzers
	@.ci/fuzz build/fuzz $(FUZZ_SECONDS) $(JOBS) $(FUZZ_SEED)

asan: ## make test under AddressSanitizer and UBSan, then asan-component; what daemons and ranks report (build/asan/reports) counts too; TESTS=regex for some
	@$(MAKE) test PRESET=asan
	@$(if $(TESTS),:,$(MAKE) asan-component)

asan-component: ## the MPI component under AddressSanitizer and UBSan, in real MPI programs; ROWS=regex for some
	@cmake --preset asan --log-level=WARNING
	@cmake --build build/asan -j $(JOBS) --target mca_coll_hcoll host_cases mpi_programs
	@SUMAC_BUILD=build/asan python3 tests/host/cases_test.py --sanitized --only "$(ROWS)"
	@$(if $(ROWS),:,python3 tests/guard/defects.py --build build/asan)

tsan: ## make test under ThreadSanitizer; races whose two accesses are gRPC's own are counted apart; TESTS=regex for some
	@$(MAKE) test PRESET=tsan

setup: ## install missing packages for building and the demo
	@packaging/install packaging/apt.txt

setup-dev: ## the same and what the tests need
	@packaging/install packaging/apt.txt packaging/apt-dev.txt
	@packaging/unpack opensm/opensm prometheus/promtool

setup-bench: ## packages for bench-host: the peers that Debian has
	@packaging/install packaging/apt.txt packaging/apt-bench.txt

setup-slurm: ## a Slurm, for jobs (30 MB; its services are not needed)
	@packaging/install packaging/apt.txt packaging/apt-slurm.txt

setup-apps: ## the programs that bench-apps times (2 GB)
	@packaging/install packaging/apt.txt packaging/apt-apps.txt

setup-fuzz: ## the same and what fuzz needs
	@packaging/install packaging/apt.txt packaging/apt-fuzz.txt

setup-guard: setup-dev ## the same and what guard measures with
	@packaging/install packaging/apt-guard.txt

setup-tools: ## the same and what lint and docs need
	@packaging/install packaging/apt.txt packaging/apt-dev.txt packaging/apt-tools.txt

setup-packages: ## the same and what makes packages
	@packaging/install packaging/apt.txt packaging/apt-packages.txt

setup-toolkit: setup-packages setup-dev ## the same and what tries them
	@packaging/install packaging/apt-toolkit.txt

setup-mpi4py: ## the same and what mpi4py is built with
	@packaging/install packaging/apt.txt packaging/apt-mpi4py.txt

setup-python: ## the environment of the Python modules, with PyTorch (build/python, 4 GB; SUMAC_TORCH=no without)
	@packaging/install packaging/apt.txt packaging/apt-python.txt
	@bindings/python/setup

setup-frameworks: setup-python ## the environment of make frameworks (build/frameworks, 300 MB)
	@bindings/python/setup frameworks

setup-charm4py: setup-python ## the environment of examples/charm4py (build/charm4py, 100 MB)
	@bindings/python/setup charm4py

setup-site: ## the environment of make site (build/site-env, 170 MB)
	@packaging/install packaging/apt-site.txt
	@packaging/site/setup

# Warnings and errors go to stderr; stdout has the preset's variables and packages that others look for.
configure:
	@cmake --preset $(PRESET) --log-level=WARNING $(if $(WERROR),-DSUMAC_WERROR=$(WERROR)) > /dev/null

clean: ## remove build/
	rm -rf build
