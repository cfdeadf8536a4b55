/* SPDX-FileCopyrightText: The libcj2k authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Prints the parameters of cj2k_params_set as the markdown table in docs/options.md. */
#include <cj2k.h>
#include <stdio.h>
#include <string.h>

static void print_escaped(const char* text) {
  for (; *text != '\0'; ++text) {
    if (*text == '|') putchar('\\');
    putchar(*text);
  }
}

static void print_values(const char* values, const char* between) {
  for (; *values != '\0'; ++values) {
    if (*values == '|')
      printf("%s", between);
    else
      putchar(*values);
  }
}

static void print_range(const cj2k_param_info* info) {
  switch (info->type) {
    case CJ2K_PARAM_BOOL:
      printf("0, 1");
      break;
    case CJ2K_PARAM_ENUM:
    case CJ2K_PARAM_FLAGS:
      print_values(info->values, info->type == CJ2K_PARAM_FLAGS ? " + " : ", ");
      break;
    case CJ2K_PARAM_TEXT:
      printf("text");
      break;
    case CJ2K_PARAM_INT: /* names of single values, such as auto */
      print_values(info->values, ", ");
      if (info->values[0] != '\0') printf(", ");
      printf("%.15g .. %.15g", info->min, info->max);
      break;
    default: /* every bound is exact as a double and has fewer than 15 digits */
      printf("%.15g .. %.15g", info->min, info->max);
  }
}

int main(void) {
  cj2k_param_info info;
  info.struct_size = sizeof info;
  printf("| parameter | values | default | unit | T.800 | what |\n|---|---|---|---|---|---|\n");
  for (int i = 0; cj2k_params_describe(i, &info) == CJ2K_OK; ++i) {
    printf("| `%s` | ", info.name);
    print_range(&info);
    printf(" | ");
    print_escaped(info.default_value);
    printf(" | %s | %s | ", info.unit, info.clause);
    print_escaped(info.help);
    printf(" |\n");
  }
  return 0;
}
