"""What is loaded into an MPI program, and how `sumac run` loads it: M1, M6 and portability 4 and 6."""

from case import Case

CASES = [
    Case(
        "M1 a C++ program with its own operator new runs under every binding, and no library frees what another runtime allocated",
        tests=r"^(pmpi\.runtimes-gcc|install\.allocators)$",
        kin="The three interposed libraries used the shared libfmt (fault). The ucx backend, a C++ module, handed strings and a transport to "
            "hosts of another runtime: the component and the interposed libraries aborted with --transport ucx too (fault; the module holds "
            "C functions alone now). The Python modules have the shared runtime alone; the MPIs and "
            "UCX are C.",
    ),
    Case(
        "M1 programs built with the address, thread and undefined sanitizers of gcc and clang run under every binding",
        tests=r"^(pmpi\.runtimes-(gcc|clang-1.)|tools_test\.(RunEnvironment\.AddressSanitizer.*|Choose\.the_runtime_of_a_sanitizer.*))$",
        kin="A runtime that LD_PRELOAD names stays before ours; ASAN_OPTIONS among the launcher's words and on other hosts is completed too. "
            "clang's static runtimes and gcc's libtsan and libubsan don't look at the order.",
    ),
    Case(
        "M6 sumac run makes no folder where it starts no daemon, and takes /tmp where TMPDIR is too long for sockets",
        tests=r"^badinput\.starts$",
        kin="sumac up needs its sockets where clients look, so that SUMAC_RUN_DIR too long stays an error; sharpd and sharp_am are told paths.",
    ),
    Case(
        "P4 sumac run --tree uses the tree on one host under the interposed libraries too: MPICH 4, Open MPI 4.1",
        tests=r"^pmpi\.programs$",
        kin="Nonblocking collectives go by the tree there as well; persistent ones stay in shared memory.",
    ),
    Case(
        "P4 Open MPI 5, MPICH 5 and the standard ABI by the interposed library: barrier, allreduce, split, finalize, by shared memory and by the tree",
        program=("any_mpi.py",),
        kin="the same program as for MPICH 4 and Open MPI 4.1 in make test",
        minutes=15,
    ),
]
