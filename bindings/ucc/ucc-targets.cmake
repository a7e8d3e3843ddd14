if(NOT TARGET ucc::ucc)
  get_filename_component(ucc_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(ucc::ucc SHARED IMPORTED)
  set_target_properties(ucc::ucc PROPERTIES IMPORTED_LOCATION "${ucc_prefix}/lib/libucc.so.1" IMPORTED_SONAME libucc.so.1
    INTERFACE_INCLUDE_DIRECTORIES "${ucc_prefix}/include")
  unset(ucc_prefix)
endif()
