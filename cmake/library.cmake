# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# The libraries to install: libcj2k.a and libcj2k.so, both made from the objects in cj2k_objects. The target cj2k is the one
# that BUILD_SHARED_LIBS selects. cj2k_other is the other one, for the tests that install and use it.

# The C++ library of this compiler is linked by name: CMake does not know the language of the objects, and the program can be
# in C alone.
set(CJ2K_CXX_LIBRARIES ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(FILTER CJ2K_CXX_LIBRARIES INCLUDE REGEX "^(std)?c\\+\\+(abi)?$")
list(REMOVE_DUPLICATES CJ2K_CXX_LIBRARIES)

function(cj2k_link target)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME cj2k EXPORT_NAME cj2k)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/libcj2k/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE $<$<NOT:$<BOOL:${CJ2K_FETCH}>>:PkgConfig::HWY> Threads::Threads ${CMAKE_DL_LIBS} ${CJ2K_CXX_LIBRARIES} m)
endfunction()

if(CMAKE_LINKER MATCHES "lld") # CMake's choice for clang-14; older ones have no --force-group-allocation
  find_program(CJ2K_LD NAMES ld.bfd ld REQUIRED)
else()
  set(CJ2K_LD ${CMAKE_LINKER})
endif()

# The archive is one relocatable object. All symbols but cj2k_* are local in it, so that our symbols, and the inline functions
# of std:: and hwy:: that the archive contains, cannot collide with those of the program. Section groups are dissolved first.
# Otherwise a linker that keeps another copy of a group would drop ours, and our references could not find that other copy:
# they are local and have no names to the linker. On Windows and macOS the archive is a plain one: objcopy cannot do this there.
function(cj2k_add_static target)
  set(sources ${cj2k_objects})
  if(NOT WIN32 AND NOT APPLE AND NOT CJ2K_SANITIZE AND NOT CJ2K_BUILD_FUZZERS) # the tables of the sanitizers need their symbols
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/cj2k_prelinked.o)
    add_custom_command(
      OUTPUT ${sources}
      COMMAND ${CJ2K_LD} -r --force-group-allocation -o ${sources} ${cj2k_objects}
      COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=cj2k_* ${sources}
      DEPENDS cj2k_core_objects cj2k_device_objects ${cj2k_objects}
      COMMAND_EXPAND_LISTS VERBATIM
      COMMENT "Localising all symbols but cj2k_*")
    set_source_files_properties(${sources} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  endif()
  add_library(${target} STATIC ${sources})
  cj2k_link(${target})
endfunction()

# The shared library exports only the functions of the C API, with the symbol version LIBCJ2K_<major>, where there are such versions.
function(cj2k_add_shared target)
  set(functions)
  file(GLOB headers ${PROJECT_SOURCE_DIR}/libcj2k/include/*.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
  foreach(header ${headers})
    file(STRINGS ${header} more REGEX "^CJ2K_API .*cj2k_[a-z0-9_]+\\(")
    list(TRANSFORM more REPLACE "^.*[ *](cj2k_[a-z0-9_]+)\\(.*$" "\\1")
    list(APPEND functions ${more})
  endforeach()
  add_library(${target} SHARED ${cj2k_objects})
  cj2k_link(${target})
  if(WIN32)
    list(JOIN functions "\n" functions)
    set(definitions ${CMAKE_CURRENT_BINARY_DIR}/cj2k.def)
    file(GENERATE OUTPUT ${definitions} CONTENT "EXPORTS\n${functions}\n")
    target_sources(${target} PRIVATE ${definitions})
    return()
  endif()
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  if(APPLE) # has neither versions of symbols nor such a list of them
    return()
  endif()
  list(JOIN functions "$<SEMICOLON> " functions)
  set(map ${CMAKE_CURRENT_BINARY_DIR}/cj2k.map)
  file(GENERATE OUTPUT ${map} CONTENT "LIBCJ2K_${PROJECT_VERSION_MAJOR} { global: ${functions}; local: *; };\n")
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${map})
  target_link_options(${target} PRIVATE LINKER:--version-script=${map})
  if(NOT CJ2K_SANITIZE) # the functions of the sanitizers come from the program
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
set_target_properties(cj2k_other PROPERTIES ARCHIVE_OUTPUT_DIRECTORY other LIBRARY_OUTPUT_DIRECTORY other
                      RUNTIME_OUTPUT_DIRECTORY other)
if(NOT CJ2K_BUILD_TESTS OR CJ2K_SANITIZE)
  set_target_properties(cj2k_other PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
