class Cj2k < Formula
  desc "JPEG 2000 and HTJ2K encoder with an exact byte cap per frame"
  url "@URL@"
  version "@VERSION@"
  sha256 "@SHA256@"
  license "BSD-2-Clause"

  depends_on "cmake" => :build
  depends_on "pkgconf" => :build
  depends_on "ffmpeg"
  depends_on "highway"
  depends_on "libtiff"
  depends_on :linux

  def install
    system "cmake", "-S", ".", "-B", "build", "-DBUILD_SHARED_LIBS=ON", "-DCJ2K_BUILD_SAMPLES=OFF",
           "-DCJ2K_BUILD_TESTS=OFF", "-DCJ2K_CUDA=OFF", "-DCJ2K_TOOLS=ON", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    (testpath/"a.pgm").binwrite "P5 64 64 255\n" + ("\x40\x80" * 2048)
    system bin/"cj2k", "-i", "a.pgm", "-o", "a.jp2", "--lossless", "1"
    system bin/"cj2k-check", "a.jp2"
  end
end
