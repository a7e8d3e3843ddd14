# The package `ucc`: the target ucc::ucc. A project may find it twice.
get_filename_component(UCC_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(UCC_INCLUDE_DIRS "${UCC_PREFIX}/include")
set(UCC_LIBRARIES "${UCC_PREFIX}/lib") # A folder, as in UCC's own package.
include("${CMAKE_CURRENT_LIST_DIR}/ucc-targets.cmake")
set(ucc_FOUND TRUE)
