/* SPDX-FileCopyrightText: The libcj2k authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Prints the CUDA devices of this machine. The driver is found at run time. Each device has a line
 * "ordinal<TAB>architecture<TAB>CUDA version of the driver<TAB>MiB<TAB>name". If there is none, the
 * exit status is 77 and one line gives the reason.
 *
 * With --hold it keeps a context open on each of them until it is killed, or until its parent ends,
 * and says so by a line. Without any open context the driver initialises the device anew for each
 * process, unless its persistence mode is on.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int hold(void* driver, int devices) {
  int (*get)(int*, int) = (int (*)(int*, int))dlsym(driver, "cuDeviceGet");
  int (*retain)(void**, int) = (int (*)(void**, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
  int (*attribute)(int*, int, int) = (int (*)(int*, int, int))dlsym(driver, "cuDeviceGetAttribute");
  int held = 0;
  for (int i = 0; retain && i < devices; ++i) {
    int device = 0, mode = 0;
    void* context = NULL;
    if (get(&device, i) != 0) continue;
    /* CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: other than 0, one process alone may use the device. */
    if (attribute(&mode, 20, device) == 0 && mode != 0) continue;
    if (retain(&context, device) == 0) ++held;
  }
  printf("%d of %d devices held open\n", held, devices);
  fflush(stdout);
  if (held == 0) return 1;
  while (1) pause();
}

int main(int argc, char** argv) {
  const int holds = argc > 1 && strcmp(argv[1], "--hold") == 0;
  if (holds) {
    const pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) return 1;
  }
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) {
    printf("no NVIDIA driver (libcuda.so.1)\n");
    return 77;
  }
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int (*version)(int*) = (int (*)(int*))dlsym(driver, "cuDriverGetVersion");
  int (*count)(int*) = (int (*)(int*))dlsym(driver, "cuDeviceGetCount");
  int (*get)(int*, int) = (int (*)(int*, int))dlsym(driver, "cuDeviceGet");
  int (*name_of)(char*, int, int) = (int (*)(char*, int, int))dlsym(driver, "cuDeviceGetName");
  int (*attribute)(int*, int, int) = (int (*)(int*, int, int))dlsym(driver, "cuDeviceGetAttribute");
  int (*memory)(size_t*, int) = (int (*)(size_t*, int))dlsym(driver, "cuDeviceTotalMem_v2");
  if (!init || !version || !count || !get || !name_of || !attribute || !memory) {
    printf("the NVIDIA driver is too old\n");
    return 77;
  }
  int devices = 0, cuda = 0, error = init(0);
  if (error == 0) error = count(&devices);
  if (error != 0 || devices == 0) {
    printf("no CUDA device (driver error %d)\n", error);
    return 77;
  }
  if (holds) return hold(driver, devices);
  version(&cuda);
  for (int i = 0; i < devices; ++i) {
    int device = 0, major = 0, minor = 0;
    size_t bytes = 0;
    char name[128] = "?";
    if (get(&device, i) != 0) continue;
    name_of(name, sizeof name, device);
    attribute(&major, 75, device); /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR */
    attribute(&minor, 76, device);
    memory(&bytes, device);
    printf("%d\t%d%d\t%d.%d\t%zu\t%s\n", i, major, minor, cuda / 1000, cuda % 1000 / 10,
           bytes >> 20, name);
  }
  return 0;
}
