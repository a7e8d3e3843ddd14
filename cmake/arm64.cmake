# The toolchain of `make arm64`: compiles for 64-bit Arm beside the libraries that Debian has for it (dpkg --add-architecture arm64), and runs
# what it has built under qemu. Programs that make sources are the machine's own.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
set(ENV{PKG_CONFIG_LIBDIR} "/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig")
# The machine's mpicc would answer with the machine's libraries.
set(mpi /usr/lib/aarch64-linux-gnu/openmpi)
foreach(language C CXX)
  set(MPI_${language}_COMPILER "${CMAKE_${language}_COMPILER}" CACHE FILEPATH "")
  set(MPI_${language}_SKIP_MPICXX ON)
  set(MPI_${language}_COMPILER_INCLUDE_DIRS ${mpi}/include CACHE STRING "")
  set(MPI_${language}_HEADER_DIR ${mpi}/include CACHE PATH "")
  set(MPI_${language}_LIB_NAMES mpi CACHE STRING "")
endforeach()
set(MPI_mpi_LIBRARY ${mpi}/lib/libmpi.so CACHE FILEPATH "")
