// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "support/run_tests.h"

int main(int argc, char** argv) { return cj2k::test::run_tests(argc, argv); }
