# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# cj2k_add_man(<target>): builds and installs the man page of a program, from what its --help says.
find_package(Python3 COMPONENTS Interpreter QUIET)
string(TIMESTAMP cj2k_man_date %Y-%m-%d UTC) # that of SOURCE_DATE_EPOCH, if it is set

function(cj2k_add_man target)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/scripts/make_man.py OR NOT Python3_FOUND OR CMAKE_CROSSCOMPILING OR CJ2K_SANITIZE OR CJ2K_BUILD_FUZZERS)
    return()
  endif()
  get_target_property(name ${target} OUTPUT_NAME)
  set(page ${CMAKE_CURRENT_BINARY_DIR}/${name}.1)
  set(script ${PROJECT_SOURCE_DIR}/scripts/make_man.py)
  add_custom_command(
    OUTPUT ${page}
    COMMAND ${Python3_EXECUTABLE} -B ${script} $<TARGET_FILE:${target}> ${PROJECT_VERSION} ${cj2k_man_date} > ${page}
    DEPENDS ${target} ${script}
    VERBATIM)
  add_custom_target(${target}_man ALL DEPENDS ${page})
  set_property(GLOBAL APPEND PROPERTY CJ2K_MAN_PAGES ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
endfunction()
