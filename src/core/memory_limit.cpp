#include "sparsebit/core/memory_limit.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>

namespace sparsebit {

uint64_t available_memory() {
  struct sysinfo machine = {};
  ::sysinfo(&machine);
  const uint64_t memory = (uint64_t{machine.totalram} + machine.totalswap) * machine.mem_unit;
  uint64_t container = 0;
  std::ifstream limit("/sys/fs/cgroup/memory.max");  // a number, or "max"
  return limit >> container ? std::min(memory, container) : memory;
}

void fail_beyond_available_memory() {
#ifndef __SANITIZE_ADDRESS__  // its own bookkeeping maps far more than there is
  struct rlimit limit = {};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, available_memory());
  ::setrlimit(RLIMIT_DATA, &limit);
#endif
}

}  // namespace sparsebit
