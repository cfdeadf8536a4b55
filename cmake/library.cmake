# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# For everybody else: libcj2k.a and libcj2k.so, both of the objects in cj2k_objects. The target cj2k is the one that
# BUILD_SHARED_LIBS asks for; cj2k_other is the other one, for the tests that install and use it.

# The C++ library of this compiler by name: CMake knows the language of the objects no more, and the program may be C alone.
set(CJ2K_CXX_LIBRARIES ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(FILTER CJ2K_CXX_LIBRARIES INCLUDE REGEX "^(std)?c\\+\\+(abi)?$")
list(REMOVE_DUPLICATES CJ2K_CXX_LIBRARIES)

function(cj2k_link target)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME cj2k EXPORT_NAME cj2k)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/libcj2k/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE PkgConfig::HWY TBB::tbb Threads::Threads ${CMAKE_DL_LIBS} ${CJ2K_CXX_LIBRARIES} m)
endfunction()

# The archive is one relocatable object in which all symbols but cj2k_* are local, so that neither ours nor the std:: and
# tbb:: inline functions we carry can meet those of the program. Section groups are dissolved first: a linker that keeps
# another copy of a group would otherwise drop ours, whose symbols are no longer reachable by name.
function(cj2k_add_static target)
  set(sources ${cj2k_objects})
  if(NOT CJ2K_SANITIZE AND NOT CJ2K_BUILD_FUZZERS) # the sanitizers' own tables need their symbols
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/cj2k_prelinked.o)
    add_custom_command(
      OUTPUT ${sources}
      COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${sources} ${cj2k_objects}
      COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=cj2k_* ${sources}
      DEPENDS cj2k_core_objects cj2k_device_objects ${cj2k_objects}
      COMMAND_EXPAND_LISTS VERBATIM
      COMMENT "Localising all symbols but cj2k_*")
    set_source_files_properties(${sources} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  endif()
  add_library(${target} STATIC ${sources})
  cj2k_link(${target})
endfunction()

# The shared library exports the functions of cj2k.h and nothing else, under a version of their own.
function(cj2k_add_shared target)
  set(header ${PROJECT_SOURCE_DIR}/libcj2k/include/cj2k.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(STRINGS ${header} functions REGEX "^CJ2K_API .*cj2k_[a-z0-9_]+\\(")
  list(TRANSFORM functions REPLACE "^.*[ *](cj2k_[a-z0-9_]+)\\(.*$" "\\1")
  list(JOIN functions "$<SEMICOLON> " functions)
  set(map ${CMAKE_CURRENT_BINARY_DIR}/cj2k.map)
  file(GENERATE OUTPUT ${map} CONTENT "LIBCJ2K_${PROJECT_VERSION_MAJOR} { global: ${functions}; local: *; };\n")

  add_library(${target} SHARED ${cj2k_objects})
  cj2k_link(${target})
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${map})
  target_link_options(${target} PRIVATE LINKER:--version-script=${map})
  if(NOT CJ2K_SANITIZE) # their functions come from the program
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
endfunction()

if(BUILD_SHARED_LIBS)
  cj2k_add_shared(cj2k)
  cj2k_add_static(cj2k_other)
else()
  cj2k_add_static(cj2k)
  cj2k_add_shared(cj2k_other)
endif()
add_library(cj2k::cj2k ALIAS cj2k)
set_target_properties(cj2k_other PROPERTIES ARCHIVE_OUTPUT_DIRECTORY other LIBRARY_OUTPUT_DIRECTORY other)
if(NOT CJ2K_BUILD_TESTS OR CJ2K_SANITIZE)
  set_target_properties(cj2k_other PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
