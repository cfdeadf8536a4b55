# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# x86-64 Windows by Debian's MinGW-w64, with the libraries that scripts/build_windows.sh has put below build/windows/root.
# CTest runs programs by wine.
get_filename_component(windows ${CMAKE_CURRENT_LIST_DIR}/../build/windows ABSOLUTE)
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix) # posix: the kind with std::thread
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
# On Windows, GCC aligns the stack to 16 bytes whatever a variable asks for, and yet may move vectors of 32 and 64 bytes there with
# instructions that need more (GCC bug 54412). The assembler takes the unaligned ones instead.
set(CMAKE_CXX_FLAGS_INIT -Wa,-muse-unaligned-vector-move)
# Programs and the DLL need nothing but Windows.
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -static)
set(CMAKE_FIND_ROOT_PATH ${windows}/root /usr/x86_64-w64-mingw32) # the zlib of the former is no DLL
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(ENV{PKG_CONFIG_LIBDIR} ${windows}/root/lib/pkgconfig)
if(NOT DEFINED CMAKE_CROSSCOMPILING_EMULATOR)
  find_program(CJ2K_WINE wine64 PATHS /usr/lib/wine)
  set(CMAKE_CROSSCOMPILING_EMULATOR env WINEPREFIX=${windows}/wine WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml= ${CJ2K_WINE})
endif()
