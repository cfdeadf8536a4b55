# 64-bit ARM by Debian's cross compiler, with the libraries that build.sh has unpacked. CTest runs programs by qemu-user.
get_filename_component(packages ${CMAKE_CURRENT_LIST_DIR}/../../build/aarch64/root ABSOLUTE)
set(libraries ${packages}/usr/lib/aarch64-linux-gnu)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${libraries}")
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${packages})
list(APPEND CMAKE_PREFIX_PATH ${packages}/usr)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu -E
                                  LD_LIBRARY_PATH=${libraries}:/usr/aarch64-linux-gnu/lib)
