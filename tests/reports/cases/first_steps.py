"""Installing, building and starting, on more than one distribution."""

from case import Case

CASES: list[Case] = [
    Case("tar `make tar` works on a fresh clone's dev build, and no file in it names a folder", tests=r"^install\.tar$",
         kin="protobuf's code named the build folder, asserts the source: both are mapped for every file; build ids and run paths depended on the folder too"),
    Case("debs-twice no packaged file names the folder of its build", tests=r"^install\.packages$",
         kin="arrange looked into lib, etc and usr/share only; now into usr/lib too, without debug information"),
    Case("debs-twice packages and tar of two folders have the same bytes", program=("debs_twice.py",), minutes=240,
         kin="the tar and the Python package are compared too"),
    Case("glibc nothing in the tar asks for more than glibc 2.28", tests=r"^install\.tar$",
         kin="all symbols of all files are read, also of the bundled libraries, and libstdc++ is one of them"),
    Case("trixie the demo compiles and runs on Debian 13", program=("fresh_root.py", "trixie", "demo"), minutes=240,
         kin="five causes, each by its kind; -Werror is the CI's alone"),
    Case("fresh `make demo` works in a fresh root of Debian 12", program=("fresh_root.py", "bookworm", "demo"), minutes=240),
    Case("fresh the set-up of `make test` works in a fresh root of Debian 12", program=("fresh_root.py", "bookworm", "test"), minutes=60),
    Case("bits an MPI program's sums have the same bits for every placement", tests=r"^component\.bits$",
         kin="allreduce, reduce and reduce_scatter_block; by shared memory, leaders and tree; hosts of unequal numbers of ranks"),
]
