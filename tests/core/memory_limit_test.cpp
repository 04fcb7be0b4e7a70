#include "sparsebit/core/memory_limit.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <malloc.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace sparsebit::memory_limit_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr int64_t kMegabyte = 1'000'000;

/// A limit of 100 MB above what earlier tests left, for one test.
class MemoryLimit : public testing::Test {
 protected:
  MemoryLimit() { limit_memory(memory_in_use() + 100 * kMegabyte); }
  ~MemoryLimit() override { limit_memory(available_memory()); }
};

TEST(ParseBytes, ReadsSizesWithUnits) {
  struct Case {
    const char* text;
    std::optional<int64_t> bytes;
  };
  const std::array<Case, 13> cases = {{{"1000000", 1000000},
                                       {"8GB", 8000000000},
                                       {"8 gb", 8000000000},
                                       {"512M", 512000000},
                                       {"2GiB", int64_t{2} << 30},
                                       {"1.5k", 1500},
                                       {"100 bytes", 100},
                                       {"", std::nullopt},
                                       {"GB", std::nullopt},
                                       {"-1GB", std::nullopt},
                                       {"8XB", std::nullopt},
                                       {"8GBs", std::nullopt},
                                       {"1e30", std::nullopt}}};
  for (const Case& c : cases) EXPECT_EQ(parse_bytes(c.text), c.bytes) << c.text;
}

TEST(BytesText, HasThreeDigitsAndDecimalUnits) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(999), "999 bytes");
  EXPECT_EQ(bytes_text(3783134), "3.78 MB");
  EXPECT_EQ(bytes_text(999'600), "1 MB");
  EXPECT_EQ(bytes_text(17.6e12), "17.6 TB");
}

TEST_F(MemoryLimit, TensorsCountWhileTheyLive) {
  const int64_t before = memory_in_use();
  {
    const at::Tensor tensor = at::empty({20 * kMegabyte}, at::kByte);
    EXPECT_GE(memory_in_use() - before, 20 * kMegabyte);
    EXPECT_LT(memory_in_use() - before, 21 * kMegabyte);
  }
  EXPECT_EQ(memory_in_use(), before);
}

TEST_F(MemoryLimit, ATensorBeyondTheLimitIsRefused) {
  const at::Tensor first = at::empty({60 * kMegabyte}, at::kByte);
  const int64_t before = memory_in_use();
  try {
    at::empty({60 * kMegabyte}, at::kByte);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::TooLarge);
    EXPECT_THAT(e.what(), AllOf(HasSubstr("a tensor needs 60 MB of memory; the limit is"),
                                HasSubstr("--max-memory or SPARSEBIT_MAX_MEMORY raises it")));
  }
  EXPECT_EQ(memory_in_use(), before);
}

TEST_F(MemoryLimit, ReservationsAndTensorsShareIt) {
  const MemoryReservation unpacked(60 * kMegabyte, "images.npz: record 'x'");
  EXPECT_THROW(at::empty({60 * kMegabyte}, at::kByte), Error);
  EXPECT_THAT([] { check_memory(50 * kMegabyte, "images.npz: record 'y'"); },
              ThrowsMessage<Error>(HasSubstr("images.npz: record 'y' needs 50 MB of memory")));
  EXPECT_NO_THROW(check_memory(30 * kMegabyte, "images.npz: record 'y'"));
}

TEST_F(MemoryLimit, WhatIsRefusedTakesNoRoomFromOthers) {
  std::atomic<bool> stop = false;
  std::thread refused([&] {
    while (!stop) EXPECT_FALSE(detail::take_memory(SIZE_MAX / 8));
  });
  int failures = 0;
  for (int i = 0; i < 100'000; ++i) {
    const bool taken = detail::take_memory(kMegabyte);
    if (taken) detail::return_memory(kMegabyte);
    failures += taken ? 0 : 1;
  }
  stop = true;
  refused.join();
  EXPECT_EQ(failures, 0);
}

TEST_F(MemoryLimit, SizesThatOverflowAreRefused) {
  EXPECT_THROW(check_memory(INT64_MAX, "a record"), Error);
  EXPECT_FALSE(detail::take_memory(SIZE_MAX));
}

TEST_F(MemoryLimit, SmallBlocksFindRoomToReportAFailure) {
  const MemoryReservation nearly_all(memory_limit() - memory_in_use(), "everything");
  EXPECT_FALSE(detail::take_memory(kMegabyte));
  ASSERT_TRUE(detail::take_memory(1000));
  detail::return_memory(1000);
}

TEST(AvailableMemory, IsWhatAllCgroupsLeave) {
  const test::TempDir mount;
  const auto write = [&](const std::string& group, const std::string& name,
                         const std::string& text) {
    std::filesystem::create_directories(mount / group);
    write_file_atomically(mount / (group + name), text);
  };
  EXPECT_EQ(detail::left_in_cgroups(mount.path(), "/"), INT64_MAX);
  write("all/", "memory.max", "1000\n");
  write("all/", "memory.current", "800\n");
  write("all/", "memory.stat", "anon 500\ninactive_file 300\nactive_file 0\n");
  write("all/job/", "memory.max", "max\n");
  EXPECT_EQ(detail::left_in_cgroups(mount.path(), "/all/job"), 500);
  write("all/job/", "memory.max", "400\n");
  EXPECT_EQ(detail::left_in_cgroups(mount.path(), "/all/job"), 400);
  write("all/job/", "memory.current", "400\n");
  EXPECT_EQ(detail::left_in_cgroups(mount.path(), "/all/job"), 1);
  EXPECT_EQ(detail::left_in_cgroups(mount.path(), "/all"), 500);
}

TEST(AvailableMemory, IsLessThanTheMachineHas) {
  EXPECT_GT(available_memory(), 10 * kMegabyte);
  EXPECT_LT(available_memory(), int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE));
}

/// The blocks of freed tensors are used again, although small blocks stay between them: otherwise
/// the heap grows with every sample whose results are kept.
TEST_F(MemoryLimit, TheHeapDoesNotGrowAroundSmallBlocks) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);  // as the command does
  std::vector<std::unique_ptr<char[]>> kept;
  const auto round = [&] {
    const at::Tensor tensor = at::empty({1'000'000});
    kept.push_back(std::make_unique<char[]>(100));
  };
  round();
  const size_t before = mallinfo2().arena;
  for (int i = 0; i < 40; ++i) round();
  EXPECT_LT(mallinfo2().arena - before, 8e6);
}

}  // namespace
}  // namespace sparsebit::memory_limit_test
