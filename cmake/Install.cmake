# `cmake --install` puts these under the prefix:
#   bin/                  sumac, sharp_am, sharp_an, sharpd, the sharp_* utilities, ucc_info, hcoll_info
#   lib/                  libsharp_coll.so, libsharp.so, libucc.so, libxccl.so, libhcoll.so, libocoms.so.0, libsumac_team.so, the ucx backend, pkgconfig/, cmake/ucc/
#   lib/libsumac_mpi_*.so the interposed libraries, one for each ABI of MPI
#   lib/openmpi/          the component for Open MPI
#   lib/sumac/examples/   examples to try it with;  lib/sumac/bench/: what `sumac bench` starts;  lib/sumac/mpi-tests/: the same by name
#   sumac-init.sh, modulefiles/   variables for a shell, the HPCX_* ones too;  sbin: a link to bin, where published commands look
#   include/              the C headers: sharp/api/, ucc/api/, hcoll/api/, sumac/; api/: XCCL's, and SHARP's as MVAPICH includes them
#   share/man/            the manual pages
#   share/sumac/          fabric files for the lab, the examples' sources, rules and dashboard of Prometheus;  share/doc/sumac/: what a reader needs
# The tree can be moved as a whole: programs find each other, the libraries and the backend by paths relative to
# themselves.

# The default prefix is our own: Debian's libsharp-dev is another library of the same name, and the two must not meet in
# /usr/lib.
if(CMAKE_INSTALL_PREFIX_INITIALIZED_TO_DEFAULT)
  set(CMAKE_INSTALL_PREFIX /opt/sumac CACHE PATH "Where cmake --install puts everything" FORCE)
endif()

# sumac_install() is called last, when all targets are known. Its paths are fixed and do not follow GNUInstallDirs,
# because `sumac run` and the ucx backend look in ../lib.
function(sumac_install)
  if(SUMAC_FUZZ)
    return()
  endif()
  install(TARGETS sumac sharp_am sharp_an sharpd sharp_cmd sharp_coll_dump_config sharp_hello sharp_mpi_test ucc_info hcoll_info RUNTIME DESTINATION bin)
  install(PROGRAMS ${CMAKE_SOURCE_DIR}/tools/sharp/sharp_benchmark.sh ${CMAKE_SOURCE_DIR}/tools/sharp/sharp_daemons_setup.sh
          DESTINATION bin)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/man/ DESTINATION share/man FILES_MATCHING PATTERN "*.[18]")
  install(TARGETS sharp_coll sharp LIBRARY DESTINATION lib)
  install(FILES ${CMAKE_BINARY_DIR}/lib/libsharp_coll.so.4 DESTINATION lib)
  install(TARGETS ucc hcoll ocoms sumac_c LIBRARY DESTINATION lib)
  install(FILES ${CMAKE_BINARY_DIR}/lib/pkgconfig/sharp.pc ${CMAKE_BINARY_DIR}/lib/pkgconfig/ucc.pc ${CMAKE_BINARY_DIR}/lib/pkgconfig/hcoll.pc ${CMAKE_BINARY_DIR}/lib/pkgconfig/sumac_team.pc DESTINATION lib/pkgconfig)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/lib/cmake/ucc DESTINATION lib/cmake)
  if(TARGET xccl)
    install(TARGETS xccl LIBRARY DESTINATION lib)
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/api DESTINATION include FILES_MATCHING PATTERN "xccl*.h")
  endif()
  if(TARGET sumac_net_ucx)
    install(TARGETS sumac_net_ucx LIBRARY DESTINATION lib)
  endif()
  foreach(abi IN ITEMS openmpi mpich abi)
    if(TARGET sumac_mpi_${abi})
      install(TARGETS sumac_mpi_${abi} LIBRARY DESTINATION lib)
    endif()
  endforeach()
  if(TARGET mca_coll_hcoll)
    install(TARGETS mca_coll_hcoll LIBRARY DESTINATION lib/openmpi)
  endif()
  if(TARGET sumac_slurm)
    install(TARGETS sumac_slurm LIBRARY DESTINATION lib/slurm)
  endif()
  install(TARGETS example-allreduce example-team RUNTIME DESTINATION lib/sumac/examples)
  foreach(program IN ITEMS sumac-bench sumac-bench-mpich)
    if(TARGET ${program})
      install(TARGETS ${program} RUNTIME DESTINATION lib/sumac/bench)
    endif()
  endforeach()
  set(bench ${CMAKE_BINARY_DIR}/lib/sumac/bench)
  install(DIRECTORY ${bench}/compare ${bench}/core DESTINATION lib/sumac/bench FILES_MATCHING PATTERN "*.py")
  install(DIRECTORY ${CMAKE_BINARY_DIR}/lib/sumac/mpi-tests DESTINATION lib/sumac USE_SOURCE_PERMISSIONS)
  install(FILES ${CMAKE_SOURCE_DIR}/packaging/anywhere/sumac-init.sh DESTINATION .)
  foreach(module IN ITEMS sumac hpcx-stack)
    install(FILES ${CMAKE_SOURCE_DIR}/packaging/anywhere/modulefile DESTINATION modulefiles/${module} RENAME ${SUMAC_VERSION})
  endforeach()
  install(CODE "file(CREATE_LINK bin \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/sbin\" SYMBOLIC)")
  install(FILES ${CMAKE_SOURCE_DIR}/examples/allreduce.c ${CMAKE_SOURCE_DIR}/examples/team.c DESTINATION share/sumac/examples)
  install(FILES ${CMAKE_SOURCE_DIR}/include/api/sharp.h ${CMAKE_SOURCE_DIR}/include/api/sharp_coll.h DESTINATION include/api)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/sharp ${CMAKE_SOURCE_DIR}/include/ucc ${CMAKE_SOURCE_DIR}/include/hcoll ${CMAKE_SOURCE_DIR}/include/sumac DESTINATION include FILES_MATCHING PATTERN "*.h")
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/lab/fabrics DESTINATION share/sumac FILES_MATCHING PATTERN "*.yaml")
  install(FILES ${CMAKE_SOURCE_DIR}/packaging/monitoring/alerts.yml ${CMAKE_SOURCE_DIR}/packaging/monitoring/dashboard.json
                ${CMAKE_SOURCE_DIR}/packaging/monitoring/prometheus.yml
          DESTINATION share/sumac/monitoring)
  install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION share/doc/sumac)
  # The second folder has the pages made from the code (the target `reference`).
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs ${CMAKE_BINARY_DIR}/docs DESTINATION share/doc/sumac FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
endfunction()
