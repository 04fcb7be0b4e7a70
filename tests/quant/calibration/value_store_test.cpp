#include "quant/calibration/value_store.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace sparsebit::quant::value_store_test {
namespace {

TEST(ValueStore, GivesBackWhatWasPutIn) {
  ValueStore store(100);  // bytes
  const at::Tensor small = at::randn({20}), large = at::randn({7, 3}).t();
  const int64_t a = store.put(small), b = store.put(large), c = store.put("text");
  const int64_t d = store.put(at::arange(30), ValueStore::Where::Memory);
  EXPECT_EQ(store.bytes_in_memory(), 80 + 240);
  EXPECT_EQ(store.bytes_in_file(), 84);
  EXPECT_EQ(store.get(a).tensor().data_ptr(), small.data_ptr());
  EXPECT_TRUE(at::equal(store.get(b).tensor(), large));
  EXPECT_EQ(store.get(c).string(), "text");
  EXPECT_EQ(store.get(d).tensor().scalar_type(), at::kLong);
}

TEST(ValueStore, PlacesInTheFileAreUsedAgain) {
  ValueStore store(0);
  std::vector<int64_t> ids;
  for (int round = 0; round < 5; ++round) {
    for (const int64_t id : ids) store.drop(id);
    ids.clear();
    for (int i = 0; i < 4; ++i) ids.push_back(store.put(at::full({10}, i)));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(store.get(ids[i]).tensor()[9].item<int>(), i);
  }
  EXPECT_EQ(store.bytes_in_file(), 4 * 80);
  EXPECT_EQ(store.bytes_in_memory(), 0);
}

TEST(ValueStore, MemoryIsFreeAgain) {
  ValueStore store(100);
  const int64_t first = store.put(at::randn({20}));
  store.drop(first);
  store.put(at::randn({20}));
  EXPECT_EQ(store.bytes_in_file(), 0);
}

TEST(ValueStore, AFolderThatIsMissingIsNamed) {
  const char* before = std::getenv("TMPDIR");
  const std::string old = before ? before : "";
  setenv("TMPDIR", "/proc", 1);
  ValueStore store(0);
  EXPECT_THAT([&] { store.put(at::randn({2})); },
              testing::ThrowsMessage<Error>(
                  testing::AllOf(testing::HasSubstr("cannot create a temporary file in '/proc'"),
                                 testing::HasSubstr("set TMPDIR to use another folder"))));
  before ? setenv("TMPDIR", old.c_str(), 1) : unsetenv("TMPDIR");
}

}  // namespace
}  // namespace sparsebit::quant::value_store_test
