/* SPDX-FileCopyrightText: The libcj2k authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * As much of the CUDA driver as gpu_probe asks for: one device, whose contexts are counted in the
 * file FAKE_CONTEXTS.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cuInit(unsigned flags) { return (int)flags; }
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
int cuDeviceGetName(char* name, int size, int device) {
  (void)device;
  snprintf(name, (size_t)size, "fake GPU");
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  const char* mode = getenv("FAKE_COMPUTE_MODE");
  *value = attribute == 75 ? 9 : attribute == 20 && mode != NULL ? atoi(mode) : 0;
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  (void)device;
  *bytes = (size_t)1 << 30;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  static int dummy;
  (void)device;
  *context = &dummy;
  FILE* file = fopen(getenv("FAKE_CONTEXTS"), "a");
  if (file == NULL) return 1;
  fprintf(file, "retained\n");
  return fclose(file);
}
