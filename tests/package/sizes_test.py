#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""sizes_test.py SCRIPTS: scripts/check_sizes.py finds the functions of a file, and how long they are."""
import sys

TEXT = r"""
extern "C" {
int plain(int a)
{
  const char* s = "}}{";  // }
  return a + '{' + s[0];
}
}
namespace a::b {
const int kTable[] = {plain(1), 2};
constexpr auto kRows = [] {
  return 3;
}();
struct S : T<int> {
 public:
  S(int x)
      : y_(x),
        z_{x} {
    if (x) { y_ = 1; }
  }
  virtual int get() const noexcept override { return 1'000; }

 private:
  int y_ = 0, z_{};
};
template <typename T>
  requires(sizeof(T) > 1)
auto shape(T t) -> int {
#define OPEN(a) { a
  return t; /* } */
}
TEST_CASE("x { y") {
  for (int i : {1, 2}) plain(i);
}
enum class E { kA, kB };
}  // namespace a::b
"""
FUNCTIONS = [
    (3, 5, "int plain(int a)"),
    (16, 5, "S(int x) : y_(x), z_{x}"),
    (21, 1, "virtual int get() const noexcept override"),
    (26, 6, "template <typename T> requires(sizeof(T) > 1) auto shape(T t) -> int"),
    (32, 3, 'TEST_CASE("x { y")'),
]


def main():
    sys.dont_write_bytecode = True
    sys.path.insert(0, sys.argv[1])
    import check_sizes

    found = list(check_sizes.functions(TEXT))
    for wrong in "int f() { return 1;", "int f() { return 1; } }":
        try:
            list(check_sizes.functions(wrong))
            found.append(f"taken for good: {wrong}")
        except ValueError:
            pass
    if found != FUNCTIONS:
        print(*found, sep="\n")
        return 1
    print(f"{len(found)} functions found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
