vcpkg_download_distfile(archive URLS "@URL@" FILENAME "cj2k-@VERSION@.tar.gz" SHA512 @SHA512@)
vcpkg_extract_source_archive(source ARCHIVE "${archive}")
vcpkg_find_acquire_program(PKGCONFIG)
vcpkg_cmake_configure(
  SOURCE_PATH "${source}"
  OPTIONS
    -DCJ2K_BUILD_CHECK=OFF
    -DCJ2K_BUILD_SAMPLES=OFF
    -DCJ2K_BUILD_TESTS=OFF
    -DCJ2K_CUDA=OFF
    -DCJ2K_TOOLS=OFF
    "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}"
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/cj2k)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE")
