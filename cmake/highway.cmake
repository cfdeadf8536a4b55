# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# CJ2K_FETCH=ON: Highway's release, compiled with the library and contained in it. FETCHCONTENT_SOURCE_DIR_HIGHWAY takes a folder instead.
include(FetchContent)
FetchContent_Declare(
  highway
  URL https://github.com/google/highway/archive/refs/tags/1.2.0.tar.gz
  URL_HASH SHA256=7e0be78b8318e8bdbf6fa545d2ecb4c90f947df03f7aadc42c1967f019e63343)
set(HWY_ENABLE_CONTRIB OFF CACHE INTERNAL "")
set(HWY_ENABLE_EXAMPLES OFF CACHE INTERNAL "")
set(HWY_ENABLE_INSTALL OFF CACHE INTERNAL "")
set(HWY_ENABLE_TESTS OFF CACHE INTERNAL "")
set(HWY_FORCE_STATIC_LIBS ON CACHE INTERNAL "")
FetchContent_GetProperties(highway)
if(NOT highway_POPULATED)
  FetchContent_Populate(highway)
  add_subdirectory(${highway_SOURCE_DIR} ${highway_BINARY_DIR} EXCLUDE_FROM_ALL)
endif()
# Its headers are the system's, so their warnings are not ours.
get_target_property(include_dirs hwy INTERFACE_INCLUDE_DIRECTORIES)
set_target_properties(hwy PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${include_dirs}")
set(CJ2K_HIGHWAY hwy)
