# A recipe for Spack: put it into packages/sumac of a repository of recipes. It was read against Spack's documents, not run by Spack.
from spack.package import *


class Sumac(CMakePackage):
    """MPI collectives through shared memory and through a tree of nodes: the SHARP and HCOLL stack in software."""

    license("BSD-3-Clause")
    # `spack develop sumac` or `spack install sumac@main` with this folder's repository as git=.
    version("main", branch="main")

    variant("ucx", default=True, description="Transport over UCX")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("openmpi@4.1")
    depends_on("mpich", type="build")
    depends_on("fmt@9:")
    depends_on("tl-expected")
    depends_on("highway")
    depends_on("hwloc@2:")
    depends_on("nlohmann-json")
    depends_on("cli11")
    depends_on("cpp-httplib")
    depends_on("yaml-cpp")
    depends_on("sqlite@3:")
    depends_on("grpc@1.51:")
    depends_on("protobuf")
    depends_on("openssl@3:")
    depends_on("libbpf", type="build")
    depends_on("llvm+clang", type="build")
    depends_on("googletest+gmock", type="build")
    depends_on("ucx", when="+ucx")

    conflicts("%gcc@:11")
    requires("target=x86_64:", "target=aarch64:", policy="one_of")

    def cmake_args(self):
        return [self.define("SUMAC_OPENMPI_PREFIX", self.spec["openmpi"].prefix)]
