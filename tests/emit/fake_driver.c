/* As much of a CUDA driver as the launch path asks for, without a GPU: memory is the host's, calls are noted, nothing is computed.
   Whoever loads it may say what a launch does: `fake_on_launch` is called with the code, the name, the grid and the parameters. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct { char *code, *name; size_t size; } Kernel;
typedef struct Node { Kernel *kernel; unsigned grid, block, shared; uint64_t values[128]; struct Node *next; } Node;
typedef void (*Launched)(const char *code, size_t size, const char *name, unsigned grid, unsigned block, unsigned shared,
                         uintptr_t stream, uintptr_t context, const uint64_t *values);

enum { DEVICES = 2, NAMES = 64 };
static char contexts[DEVICES];
static _Thread_local uintptr_t current;
static _Thread_local int mode;
static char noted[1 << 16];
static size_t length;
static int refuses, capturing, illegal, words = 16, maps, unmapped;
static uintptr_t captured;
static Node *first, *last;
Launched fake_on_launch;

static void note(const char *name) {
  if (length + NAMES < sizeof noted) length = stpcpy(stpcpy(noted + length, name), " ") - noted;
  /* what a driver refuses while a stream is captured, unless the thread has said otherwise */
  static const char *never[] = {"cuMemAlloc", "cuMemFree", "cuStreamSynchronize", "cuCtxSynchronize", "cuLibraryLoadData", "cuMemcpy"};
  for (unsigned k = 0; capturing && mode != 2 && k < sizeof never / sizeof *never; k++) illegal += !strncmp(name, never[k], strlen(never[k]));
}
const char *fake_noted(void) { return noted; }
void fake_forget(void) { noted[0] = 0; length = 0; illegal = 0; }
int fake_illegal(void) { return illegal; }
void fake_refuse(int error) { refuses = error; }
void fake_words(int count, int last) { words = count; maps = last; } /* of which so many, the last, are maps of tensors */
void fake_unmapped(int error) { unmapped = error; }
uintptr_t fake_context(int device) { return (uintptr_t)&contexts[device]; }

int cuInit(unsigned flags) { return 0; }
int cuDriverGetVersion(int *version) { *version = 13040; return 0; }
int cuDeviceGetCount(int *count) { *count = DEVICES; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal < DEVICES ? 0 : 101; }
int cuDeviceGetName(char *name, int size, int device) { strncpy(name, "no GPU at all", size); return 0; }
int cuDeviceGetUuid_v2(char *uuid, int device) { memset(uuid, device, 16); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)1 << 34; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 132 : attribute == 38 ? 1 << 16 : attribute == 36 ? 2619000
         : attribute == 37 ? 5120 : attribute == 13 ? 1980000 : attribute == 97 ? 227 << 10 : 1;
  return 0;
}
int cuDevicePrimaryCtxRetain(uintptr_t *context, int device) { *context = fake_context(device); return 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return 0; }
int cuCtxGetCurrent(uintptr_t *context) { *context = current; return 0; }
int cuCtxSetCurrent(uintptr_t context) { note("cuCtxSetCurrent"); current = context; return 0; }
int cuCtxPushCurrent_v2(uintptr_t context) { current = context; return 0; }
int cuCtxPopCurrent_v2(uintptr_t *context) { if (context) *context = current; current = 0; return 0; }
int cuCtxGetDevice(int *device) { *device = current == fake_context(1); return current ? 0 : 201; }
int cuCtxGetDevice_v2(int *device, uintptr_t context) { *device = context == fake_context(1); return 0; }
int cuCtxSynchronize(void) { note("cuCtxSynchronize"); return 0; }
int cuCtxGetStreamPriorityRange(int *least, int *greatest) { *least = *greatest = 0; return 0; }
int cuPointerGetAttribute(void *data, int attribute, uintptr_t pointer) { note("cuPointerGetAttribute"); *(int *)data = pointer >> 60; return 0; }
int cuThreadExchangeStreamCaptureMode(int *wanted) { int before = mode; mode = *wanted; *wanted = before; return 0; }
int cuGetErrorName(int error, const char **text) { *text = "CUDA_ERROR"; return 0; }
int cuGetErrorString(int error, const char **text) { *text = "an error"; return 0; }

int cuMemAlloc_v2(uintptr_t *pointer, size_t bytes) { note("cuMemAlloc"); return posix_memalign((void **)pointer, 256, bytes ? bytes : 1) ? 2 : 0; }
int cuMemFree_v2(uintptr_t pointer) { note("cuMemFree"); free((void *)pointer); return 0; }
int cuMemGetInfo_v2(size_t *unused, size_t *total) { *unused = *total = (size_t)1 << 34; return 0; }
int cuMemsetD8_v2(uintptr_t pointer, unsigned char value, size_t count) { memset((void *)pointer, value, count); return 0; }
int cuMemcpyHtoD_v2(uintptr_t to, const void *from, size_t bytes) { note("cuMemcpyHtoD"); memcpy((void *)to, from, bytes); return 0; }
int cuMemcpyDtoH_v2(void *to, uintptr_t from, size_t bytes) { note("cuMemcpyDtoH"); memcpy(to, (void *)from, bytes); return 0; }

int cuTensorMapEncodeTiled(uint64_t *map, int type, unsigned rank, uintptr_t address, const uint64_t *extents, const uint64_t *strides,
                           const unsigned *box, const unsigned *steps, int interleave, int swizzle, int promotion, int outside) {
  note("cuTensorMapEncodeTiled");
  if (unmapped || !current || (uintptr_t)map % 64) return unmapped ? unmapped : !current ? 201 : 1;
  uint64_t made[16] = {address, type, rank, swizzle, promotion, interleave | outside};
  for (unsigned k = 0; k < rank; k++) {
    made[6 + k] = extents[k] << 16 | box[k] << 4 | steps[k];
    if (k + 1 < rank) made[11 + k] = strides[k];
  }
  memcpy(map, made, sizeof made);
  return 0;
}
int cuStreamCreate(uintptr_t *stream, unsigned flags) { *stream = (uintptr_t)malloc(1); return 0; }
int cuStreamCreateWithPriority(uintptr_t *stream, unsigned flags, int priority) { return cuStreamCreate(stream, flags); }
int cuStreamDestroy_v2(uintptr_t stream) { return 0; }
int cuStreamSynchronize(uintptr_t stream) { note("cuStreamSynchronize"); return 0; }
int cuEventCreate(uintptr_t *event, unsigned flags) { *event = (uintptr_t)malloc(1); return 0; }
int cuEventDestroy_v2(uintptr_t event) { return 0; }
int cuEventRecord(uintptr_t event, uintptr_t stream) { return 0; }
int cuEventSynchronize(uintptr_t event) { return 0; }
int cuEventElapsedTime_v2(float *milliseconds, uintptr_t from, uintptr_t to) { *milliseconds = 1.0f; return 0; }

int cuLibraryLoadData(char **library, const void *code, void *a, void *b, unsigned c, void *d, void *e, unsigned f) {
  note("cuLibraryLoadData");
  *library = strdup((const char *)code);
  return 0;
}
int cuLibraryUnload(char *library) { return 0; }
int cuLibraryGetKernel(Kernel **kernel, char *library, const char *name) {
  *kernel = malloc(sizeof **kernel);
  **kernel = (Kernel){library, strdup(name), strlen(library)};
  return 0;
}
int cuKernelGetFunction(Kernel **function, Kernel *kernel) { note("cuKernelGetFunction"); *function = kernel; return 0; }
int cuKernelSetAttribute(int attribute, int value, Kernel *kernel, int device) { note("cuKernelSetAttribute"); return refuses; }
int cuFuncSetAttribute(Kernel *function, int attribute, int value) { note("cuFuncSetAttribute"); return refuses; }
int cuKernelGetParamInfo(Kernel *kernel, size_t index, size_t *offset, size_t *size) { return 1; }
int cuKernelGetAttribute(int *value, int attribute, Kernel *kernel, int device) { *value = 0; return 0; }

static void run(Node *n, uintptr_t stream) {
  if (!n->kernel) memcpy((void *)n->values[0], (void *)n->values[1], n->values[2]);
  else if (fake_on_launch) fake_on_launch(n->kernel->code, n->kernel->size, n->kernel->name, n->grid, n->block, n->shared, stream, current, n->values);
}
static int captures(Node *n, uintptr_t stream) { /* whether it is for later, as that stream is captured */
  if (!capturing || stream != captured) return 0;
  if (last) last->next = n; else first = n;
  last = n;
  return 1;
}
int cuMemcpyDtoDAsync_v2(uintptr_t to, uintptr_t from, size_t bytes, uintptr_t stream) {
  Node *n = calloc(1, sizeof *n);
  n->values[0] = to; n->values[1] = from; n->values[2] = bytes;
  if (captures(n, stream)) return 0;
  run(n, stream);
  free(n);
  return refuses;
}
int cuLaunchKernel(Kernel *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   uintptr_t stream, void **parameters, void **extra) {
  note("cuLaunchKernel");
  if (refuses) return refuses;
  if (!fake_on_launch && !(capturing && stream == captured)) return 0;
  Node *n = calloc(1, sizeof *n);
  n->kernel = kernel; n->grid = gx; n->block = bx; n->shared = shared;
  uint64_t *to = n->values;
  for (int k = 0; k < words && parameters[k]; k++, to++) {
    memcpy(to, parameters[k], k < words - maps ? 8 : 128);
    if (k >= words - maps) to += 15;
  }
  if (captures(n, stream)) return 0;
  illegal += capturing && stream <= 1 && mode != 2; /* the legacy stream would wait for the one that is captured */
  run(n, stream);
  free(n);
  return 0;
}
typedef struct { unsigned gx, gy, gz, bx, by, bz, shared; uintptr_t stream; unsigned *attributes, count; } Config;
unsigned fake_cluster[4];
int cuLaunchKernelEx(Config *c, Kernel *kernel, void **parameters, void **extra) {
  note("cuLaunchKernelEx");
  if (c->count == 1 && c->attributes[0] == 4) memcpy(fake_cluster, c->attributes + 2, 12), fake_cluster[3]++; /* 4 is the extents of a cluster */
  if (c->gx % fake_cluster[0]) return 1;
  return cuLaunchKernel(kernel, c->gx, c->gy, c->gz, c->bx, c->by, c->bz, c->shared, c->stream, parameters, extra);
}
int cuStreamBeginCapture_v2(uintptr_t stream, int how) { capturing = 1; captured = stream; first = last = 0; mode = how; return 0; }
int cuStreamEndCapture(uintptr_t stream, Node ***graph) { capturing = 0; captured = 0; *graph = malloc(sizeof **graph); **graph = first; return 0; }
int cuGraphInstantiateWithFlags(Node ***exec, Node **graph, unsigned long long flags) { *exec = graph; return 0; }
int cuGraphLaunch(Node **exec, uintptr_t stream) { for (Node *n = *exec; n; n = n->next) run(n, stream); return 0; }
int cuGraphUpload(Node **exec, uintptr_t stream) { return 0; }
int cuGraphExecDestroy(Node **exec) { return 0; }
int cuGraphDestroy(Node **graph) { return 0; }

int cuGetProcAddress_v2(const char *symbol, void **function, int version, unsigned long long flags, int *status) {
  static const char *ends[] = {"_v2", "", "_v3"};
  char name[128];
  void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  *function = 0;
  for (int k = 0; !*function && k < 3; k++) {
    strncpy(name, symbol, sizeof name - 4);
    *function = dlsym(self, strcat(name, ends[k]));
  }
  if (status) *status = *function ? 0 : 1;
  return *function ? 0 : 500;
}
int cuGetProcAddress(const char *symbol, void **function, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, 0);
}
