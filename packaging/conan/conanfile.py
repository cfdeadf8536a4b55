from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, rmdir
from conan.tools.gnu import PkgConfigDeps


class Cj2kConan(ConanFile):
    name = "cj2k"
    version = "@VERSION@"
    description = "JPEG 2000 and HTJ2K encoder with an exact byte cap per frame"
    license = "BSD-2-Clause"
    topics = ("jpeg2000", "htj2k", "encoder")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}

    def layout(self):
        cmake_layout(self, src_folder="src")

    def requirements(self):
        self.requires("highway/[>=1.0.3 <2]")

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.25]")
        if not self.conf.get("tools.gnu:pkg_config", check_type=str):
            self.tool_requires("pkgconf/[>=2]")

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("this recipe has been tried on Linux only")

    def source(self):
        get(self, "@URL@", sha256="@SHA256@", strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in "BUILD_CHECK", "BUILD_SAMPLES", "BUILD_TESTS", "CUDA", "TOOLS":
            toolchain.cache_variables[f"CJ2K_{part}"] = "OFF"
        toolchain.generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, f"{self.package_folder}/licenses")
        for folder in "cmake", "pkgconfig":
            rmdir(self, f"{self.package_folder}/lib/{folder}")

    def package_info(self):
        self.cpp_info.libs = ["cj2k"]
        self.cpp_info.set_property("cmake_file_name", "cj2k")
        self.cpp_info.set_property("cmake_target_name", "cj2k::cj2k")
        self.cpp_info.set_property("pkg_config_name", "cj2k")
        if not self.options.shared:
            self.cpp_info.system_libs = ["pthread", "dl", "m", "stdc++"]
