# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# Installs libcj2k.a or libcj2k.so, the headers, cj2k.pc and the CMake package. The component cj2k_other installs
# the same for the other kind of library.
include(CMakePackageConfigHelpers)

# cj2k_install_package(<target> <libdir> <includedir> <export> <options of install()>...): the library and all that finds it
function(cj2k_install_package target libdir includedir export)
  set(files ${CMAKE_CURRENT_BINARY_DIR}/${export}_package)
  set(package_dir ${libdir}/cmake/cj2k)
  get_target_property(type ${target} TYPE)
  string(REGEX REPLACE "_LIBRARY$" "" CJ2K_KIND ${type})
  string(TOLOWER ${CJ2K_KIND} CJ2K_KIND)
  # All that a C linker needs for the archive. In cj2k.pc of the archive it stands in Libs, because callers do not pass --static.
  list(TRANSFORM CJ2K_CXX_LIBRARIES PREPEND -l OUTPUT_VARIABLE libraries)
  set(system -lpthread -ldl -lrt -lm)
  if(WIN32 OR APPLE)
    set(system -lpthread -lm)
  endif()
  if(NOT CJ2K_FETCH)
    list(PREPEND libraries -lhwy)
  endif()
  list(JOIN libraries " " libraries)
  list(JOIN system " " system)
  string(APPEND libraries " ${system}")
  if(CJ2K_KIND STREQUAL "static")
    set(CJ2K_PC_LIBS " ${libraries}")
  else()
    set(CJ2K_PC_LIBS "\nLibs.private: ${libraries}")
  endif()
  # cj2k.pc gives the prefix relative to its own folder, so the installed tree can be moved.
  cmake_path(IS_ABSOLUTE libdir is_absolute)
  set(CJ2K_LIBDIR ${libdir})
  set(CJ2K_INCLUDEDIR ${includedir})
  if(is_absolute)
    file(RELATIVE_PATH CJ2K_PC_PREFIX ${libdir}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  else()
    file(RELATIVE_PATH CJ2K_PC_PREFIX /${libdir}/pkgconfig /)
  endif()
  string(REGEX REPLACE "/$" "" CJ2K_PC_PREFIX "${CJ2K_PC_PREFIX}")
  configure_file(cmake/cj2k.pc.in ${files}/cj2k.pc @ONLY)
  configure_package_config_file(cmake/cj2k-config.cmake.in ${files}/cj2k-config.cmake INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${files}/cj2k-config-version.cmake COMPATIBILITY SameMinorVersion)

  install(DIRECTORY libcj2k/include/ DESTINATION ${includedir} ${ARGN})
  install(FILES ${files}/cj2k.pc DESTINATION ${libdir}/pkgconfig ${ARGN})
  install(EXPORT ${export} FILE cj2k-${CJ2K_KIND}-targets.cmake NAMESPACE cj2k:: DESTINATION ${package_dir} ${ARGN})
  install(FILES ${files}/cj2k-config.cmake ${files}/cj2k-config-version.cmake DESTINATION ${package_dir} ${ARGN})
endfunction()

# cj2k_install(<target> <options of install()>...)
function(cj2k_install target)
  install(TARGETS ${target} EXPORT ${target} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} ${ARGN}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${ARGN} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} ${ARGN})
  cj2k_install_package(${target} ${CMAKE_INSTALL_LIBDIR} ${CMAKE_INSTALL_INCLUDEDIR} ${target} ${ARGN})
endfunction()

cj2k_install(cj2k COMPONENT cj2k)
cj2k_install(cj2k_other COMPONENT cj2k_other EXCLUDE_FROM_ALL)
