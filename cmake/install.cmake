# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# What is installed: libcj2k.a, cj2k.h, cj2k_params.def, cj2k.pc and the CMake package.
include(CMakePackageConfigHelpers)

install(TARGETS cj2k EXPORT cj2k-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES libcj2k/include/cj2k.h libcj2k/include/cj2k_params.def DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# The prefix is found from where cj2k.pc lies, so the installed tree can be moved.
file(RELATIVE_PATH CJ2K_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" CJ2K_PC_PREFIX "${CJ2K_PC_PREFIX}")
configure_file(cmake/cj2k.pc.in cj2k.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cj2k.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cj2k)
configure_package_config_file(cmake/cj2k-config.cmake.in cj2k-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(cj2k-config-version.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT cj2k-targets NAMESPACE cj2k:: DESTINATION ${package_dir})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cj2k-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/cj2k-config-version.cmake
        DESTINATION ${package_dir})
