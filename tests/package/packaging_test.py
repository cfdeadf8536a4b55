#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""packaging_test.py [--build [NAME]...]: the recipes of packaging/ are filled, and read by what there is: JSON and YAML of Python, ruby,
rpmspec, CMake, conan, rattler-build. With --build they make packages, too: rpmbuild without its dependencies, conan with Highway of
the system, the formula and the port with a few lines in place of Homebrew and vcpkg."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
import make  # noqa: E402

HIGHWAY = '''
from conan import ConanFile
class Highway(ConanFile):
    name, version = "highway", "1.0.3"
    def package_info(self):
        self.cpp_info.components["hwy"].set_property("pkg_config_name", "libhwy")
        self.cpp_info.components["hwy"].system_libs = ["hwy"]
        self.cpp_info.components["hwy"].includedirs = self.cpp_info.components["hwy"].libdirs = []
'''
USER = '''
from conan import ConanFile
from conan.tools.cmake import CMake, cmake_layout
class User(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain", "CMakeDeps"
    def requirements(self):
        self.requires(self.tested_reference_str)
    def layout(self):
        cmake_layout(self)
    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()
    def test(self):
        self.run(f"{self.cpp.build.bindir}/consumer", env="conanrun")
'''
FORMULA = '''
class Formula
  def self.method_missing(name, *values) = (@said ||= {})[name] = values
  def self.respond_to_missing?(*) = true
  def self.said = @said
  def self.test(&block) = @test = block
  def self.test_block = @test
  def initialize(prefix) = @prefix = Pathname(prefix)
  def bin = @prefix/"bin"
  def testpath = Pathname.pwd
  def std_cmake_args = ["-DCMAKE_INSTALL_PREFIX=#{@prefix}", "-DCMAKE_BUILD_TYPE=Release"]
  def system(*command) = Kernel.system({"LD_LIBRARY_PATH" => "#{@prefix}/lib"}, *command.map(&:to_s)) || abort("failed: #{command}")
end
require "pathname"
load ARGV[0]
%i[desc url sha256 license version].each { |name| Cj2k.said[name] or abort "no #{name}" }
if ARGV[1]
  Dir.chdir(ARGV[1]) { Cj2k.new(ARGV[2]).install }
  Dir.chdir(ARGV[2]) { Cj2k.new(ARGV[2]).instance_eval(&Cj2k.test_block) }
end
'''
PORT = '''
set(CURRENT_PACKAGES_DIR ${OUT}/package)
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_download_distfile out)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILENAME;SHA512" "URLS")
  file(DOWNLOAD ${arg_URLS} ${OUT}/${arg_FILENAME} EXPECTED_HASH SHA512=${arg_SHA512})
  set(${out} ${OUT}/${arg_FILENAME} PARENT_SCOPE)
endfunction()
function(vcpkg_extract_source_archive out)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHIVE" "")
  file(ARCHIVE_EXTRACT INPUT ${arg_ARCHIVE} DESTINATION ${OUT}/source)
  file(GLOB source ${OUT}/source/*)
  set(${out} ${source} PARENT_SCOPE)
endfunction()
function(vcpkg_find_acquire_program name)
  find_program(${name} pkg-config REQUIRED)
endfunction()
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${OUT}/build -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_LIBDIR=lib
      -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} ${arg_OPTIONS})
endfunction()
function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build ${OUT}/build --target install -j 2)
endfunction()
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  file(GLOB files ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*)
  list(LENGTH files count)
  if(NOT count EQUAL 4)
    message(FATAL_ERROR "${arg_CONFIG_PATH}: ${files}")
  endif()
endfunction()
function(vcpkg_fixup_pkgconfig)
  file(SIZE ${CURRENT_PACKAGES_DIR}/lib/pkgconfig/cj2k.pc size)
endfunction()
function(vcpkg_install_copyright)
  file(COPY ${ARGV1} DESTINATION ${CURRENT_PACKAGES_DIR}/share/cj2k)
endfunction()
include(${PORTFILE})
'''


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    if done.returncode:
        sys.exit(f"{done.stdout[-3000:]}\nfailed: {command}")
    return done.stdout


def has(program):
    found = shutil.which(program)
    print(f"{program}: {'yes' if found else 'not here'}")
    return found


def read_all(out):
    """@return versions by recipe"""
    found = {"vcpkg": json.loads((out / "vcpkg/vcpkg.json").read_text())["version"]}
    compile((out / "conan/conanfile.py").read_text(), "conanfile.py", "exec")
    if importlib.util.find_spec("yaml"):
        import yaml
        found["conda-forge"] = yaml.safe_load((out / "conda-forge/recipe.yaml").read_text())["context"]["version"]
    if has("ruby"):
        run("ruby", "-e", FORMULA, out / "homebrew/cj2k.rb")
    if has("rpmspec"):
        found["rpm"] = run("rpmspec", "-q", "--srpm", "--qf", "%{VERSION}", out / "rpm/cj2k.spec")
    if has("conan"):
        found["conan"] = json.loads(subprocess.run(["conan", "inspect", "-f", "json", out / "conan"], stdout=subprocess.PIPE,
                                                   check=True, env=conan_home(out)).stdout)["version"]
    if importlib.util.find_spec("rattler_build"):
        import rattler_build
        recipe = rattler_build.Stage0Recipe.from_file(out / "conda-forge/recipe.yaml")
        (variant,) = recipe.render(rattler_build.VariantConfig({"c_stdlib": ["sysroot"], "c_stdlib_version": ["2.34"]}))
        found["conda-forge, rendered"] = str(variant.recipe.package.version)
    return found


def conan_home(out):
    return {**os.environ, "CONAN_HOME": str(out / "conan-home")}


def build_rpm(out):
    top = out / "rpmbuild"
    (top / "SOURCES").mkdir(parents=True)
    shutil.copy(next(out.glob("*.tar.gz")), top / "SOURCES")
    run("rpmbuild", "-bb", "--nodeps", "--define", f"_topdir {top}", out / "rpm/cj2k.spec")
    packages = sorted(path.name for path in top.glob("RPMS/*/*.rpm"))
    assert len([name for name in packages if "debug" not in name]) == 3, packages
    return packages


def build_conan(out):
    env, test = conan_home(out), out / "conan" / "test_package"
    (out / "highway").mkdir()
    (out / "highway/conanfile.py").write_text(HIGHWAY)
    test.mkdir()
    (test / "conanfile.py").write_text(USER)
    for name in "consumer.c", "CMakeLists.txt":
        shutil.copy(ROOT / "tests/package" / name, test)
    run("conan", "profile", "detect", env=env)
    with (out / "conan-home/profiles/default").open("a") as profile:
        profile.write("[platform_tool_requires]\ncmake/3.25.1\n[conf]\ntools.gnu:pkg_config=pkg-config\n")
    run("conan", "create", out / "highway", env=env)
    for shared in "False", "True":
        said = run("conan", "create", out / "conan", "-nr", "-o", f"cj2k/*:shared={shared}", "-s:a", "compiler.cppstd=20", env=env)
        assert "Testing the package" in said
    return ["static", "shared"]


def build_vcpkg(out):
    (out / "port.cmake").write_text(PORT)
    run("cmake", f"-DOUT={out}/vcpkg-out", f"-DPORTFILE={out}/vcpkg/portfile.cmake", "-P", out / "port.cmake")
    return ["installed"]


def build_homebrew(out):
    run("tar", "-xf", next(out.glob("cj2k-*.tar.gz")), cwd=out)
    (out / "cellar").mkdir()
    run("ruby", "-e", FORMULA, out / "homebrew/cj2k.rb", next(out.glob("cj2k-*/")), out / "cellar")
    return ["installed, tested"]


BUILDS = {"vcpkg": ("cmake", build_vcpkg), "homebrew": ("ruby", build_homebrew), "rpm": ("rpmbuild", build_rpm),
          "conan": ("conan", build_conan)}


def main(is_building, names):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        if is_building:
            make.main(out)
        else:
            archive = out / "cj2k.tar.gz"
            archive.write_bytes(b"")
            make.fill(out, archive, archive.as_uri())
        for name, version in read_all(out).items():
            assert version == make.version(), f"{name}: {version}"
        assert sorted(path.parent.name + "/" + path.name for path in (ROOT / "packaging").glob("*/*")) == sorted(make.RECIPES)
        for name in (names or BUILDS) if is_building else ():
            program, build = BUILDS[name]
            if has(program):
                print(f"{name}:", *build(out))


if __name__ == "__main__":
    main(sys.argv[1:2] == ["--build"], sys.argv[2:])
