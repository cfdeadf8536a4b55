# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# Debian packages, by CPack: libcj2k0, libcj2k-dev and cj2k-tools. CPack takes what this build has compiled, so packages cost
# seconds where a debian/ folder would compile everything anew; dpkg-shlibdeps finds the dependencies all the same.
#
#     cmake --build build/release --target deb
#
# leaves them in build/release/deb. The programs contain the library if BUILD_SHARED_LIBS is off.
find_program(DPKG_DEB dpkg-deb)
find_program(GZIP gzip)
if(NOT PROJECT_IS_TOP_LEVEL OR NOT DPKG_DEB OR NOT GZIP OR NOT CMAKE_LIBRARY_ARCHITECTURE OR NOT TARGET cj2k_tool_man
   OR NOT TARGET cj2k_check_man OR CJ2K_SANITIZE)
  return()
endif()

set(CJ2K_DEB_MAINTAINER "The libcj2k authors <noreply@noreply.org>" CACHE STRING
    "Maintainer of the Debian packages: who builds and gives them away")
set(deb_dir ${CMAKE_CURRENT_BINARY_DIR}/deb)
set(deb_work ${CMAKE_CURRENT_BINARY_DIR}/deb_files)
set(deb_libdir lib/${CMAKE_LIBRARY_ARCHITECTURE})
if(BUILD_SHARED_LIBS)
  set(shared cj2k)
  set(static cj2k_other)
else()
  set(shared cj2k_other)
  set(static cj2k)
endif()

# The files of a package that say what it is. Debian wants the changelog compressed.
string(TIMESTAMP deb_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(READ ${PROJECT_SOURCE_DIR}/LICENSE license)
string(REGEX REPLACE "^BSD 2-Clause License\n\n[^\n]*\n\n" "" license "${license}")
string(STRIP "${license}" license)
string(REPLACE "\n\n" "\n.\n" license "${license}")
string(REPLACE "\n" "\n " license "${license}")
file(WRITE ${deb_work}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: libcj2k

Files: *
Copyright: 2026, The libcj2k authors
License: BSD-2-Clause
 ${license}
")
file(WRITE ${deb_work}/changelog "cj2k (${PROJECT_VERSION}) unstable; urgency=medium

  * Version ${PROJECT_VERSION}; CHANGELOG.md of the source says what is new.

 -- ${CJ2K_DEB_MAINTAINER}  ${deb_date}
")
execute_process(COMMAND ${GZIP} -9nf ${deb_work}/changelog COMMAND_ERROR_IS_FATAL ANY)

function(cj2k_deb_docs component package)
  install(FILES ${deb_work}/copyright ${deb_work}/changelog.gz DESTINATION share/doc/${package}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

set(runtime COMPONENT deb_runtime EXCLUDE_FROM_ALL)
set(development COMPONENT deb_dev EXCLUDE_FROM_ALL)
set(tools COMPONENT deb_tools EXCLUDE_FROM_ALL)
install(TARGETS ${shared} EXPORT ${shared}_deb LIBRARY DESTINATION ${deb_libdir} ${runtime} NAMELINK_SKIP)
install(TARGETS ${shared} LIBRARY DESTINATION ${deb_libdir} ${development} NAMELINK_ONLY)
install(TARGETS ${static} ARCHIVE DESTINATION ${deb_libdir} ${development})
cj2k_install_package(${shared} ${deb_libdir} include ${shared}_deb ${development})
install(TARGETS cj2k_tool cj2k_check RUNTIME DESTINATION bin ${tools})
get_property(pages GLOBAL PROPERTY CJ2K_MAN_PAGES)
foreach(page ${pages})
  get_filename_component(name ${page} NAME)
  add_custom_command(OUTPUT ${deb_work}/${name}.gz COMMAND ${GZIP} -9nc ${page} > ${deb_work}/${name}.gz DEPENDS ${page} VERBATIM)
  list(APPEND packed ${deb_work}/${name}.gz)
endforeach()
install(FILES ${packed} DESTINATION share/man/man1 ${tools})
cj2k_deb_docs(deb_runtime libcj2k${PROJECT_VERSION_MAJOR})
cj2k_deb_docs(deb_dev libcj2k-dev)
cj2k_deb_docs(deb_tools cj2k-tools)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cj2k)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${CJ2K_DEB_MAINTAINER}")
set(CPACK_PACKAGE_DIRECTORY ${deb_dir})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL deb_runtime deb_dev deb_tools)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS $<TARGET_FILE_DIR:${shared}>)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SOURCE cj2k)
# shlibs without the versions that CPack writes, and dpkg's trigger for ldconfig. CPack 3.25 also writes scripts that call it.
file(WRITE ${deb_work}/lintian/libcj2k${PROJECT_VERSION_MAJOR}
     "# CPack writes these scripts for every shared library, beside the trigger; a second call does no harm.
libcj2k${PROJECT_VERSION_MAJOR}: maintscript-calls-ldconfig *
")
install(FILES ${deb_work}/lintian/libcj2k${PROJECT_VERSION_MAJOR} DESTINATION share/lintian/overrides ${runtime})
file(WRITE ${deb_work}/shlibs/shlibs
     "libcj2k ${PROJECT_VERSION_MAJOR} libcj2k${PROJECT_VERSION_MAJOR} (>= ${PROJECT_VERSION})\n")
file(WRITE ${deb_work}/shlibs/triggers "activate-noawait ldconfig\n")

set(about "JPEG 2000 and HTJ2K encoder with an exact byte cap per frame")
set(more "libcj2k encodes moving and still pictures as JPEG 2000 Part 1 or HTJ2K, for\ncinema, IMF, broadcast and archives, under a cap on every byte of a frame.")
set(CPACK_DEBIAN_DEB_RUNTIME_PACKAGE_NAME libcj2k${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_DEB_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEB_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_DEB_RUNTIME_DESCRIPTION "${about}\n${more}\n\nThis package has the shared library.")
set(CPACK_DEBIAN_DEB_RUNTIME_PACKAGE_CONTROL_EXTRA ${deb_work}/shlibs/shlibs ${deb_work}/shlibs/triggers)
set(CPACK_DEBIAN_DEB_DEV_PACKAGE_NAME libcj2k-dev)
set(CPACK_DEBIAN_DEB_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEB_DEV_PACKAGE_DEPENDS
    "libcj2k${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION}), libhwy-dev")
set(CPACK_COMPONENT_DEB_DEV_DESCRIPTION
    "JPEG 2000 and HTJ2K encoder (development files)\n${more}\n\nThis package has the header, the static library, and files\nfor pkg-config and CMake.")
set(CPACK_DEBIAN_DEB_TOOLS_PACKAGE_NAME cj2k-tools)
set(CPACK_DEBIAN_DEB_TOOLS_PACKAGE_SECTION graphics)
set(CPACK_DEBIAN_DEB_TOOLS_PACKAGE_SHLIBDEPS ON)
# cj2k loads it for some kinds of pictures, so dpkg-shlibdeps does not see it.
string(REGEX MATCH "^[0-9]+" avcodec "${AVCODEC_libavcodec_VERSION}")
set(CPACK_DEBIAN_DEB_TOOLS_PACKAGE_RECOMMENDS "libavcodec${avcodec} | libavcodec-extra${avcodec}")
set(CPACK_COMPONENT_DEB_TOOLS_DESCRIPTION
    "JPEG 2000 and HTJ2K encoder (command line tools)\n${more}\n\nThis package has cj2k, which encodes pictures and image sequences, and\ncj2k-check, which checks codestreams, JP2 and MXF files.")
include(CPack)

add_custom_target(deb
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${deb_dir}
  COMMAND ${CMAKE_CPACK_COMMAND} --config ${CMAKE_CURRENT_BINARY_DIR}/CPackConfig.cmake -G DEB
  DEPENDS ${packed} ${shared} ${static} cj2k_tool cj2k_check
  COMMENT "Debian packages in ${deb_dir}"
  VERBATIM)
