#include "sparsebit/platforms/platform.h"

#include "core/temp_dir.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::platforms::platform_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Platforms, AllOfThem) {
  EXPECT_THAT(
      platforms().names(),
      testing::IsSupersetOf({"academic", "academic_nlp", "ncnn", "nnie", "onnxruntime", "openvino",
                             "ppl_cuda", "ppl_w8a16", "qdq", "qnn", "snpe", "stpu", "tengine_u8",
                             "tensorrt", "tensorrt_explicit", "tensorrt_nlp", "virtual", "vitis"}));
  EXPECT_THAT([] { find_platform("onnxruntme"); },
              ThrowsMessage<Error>(HasSubstr("did you mean 'onnxruntime'")));
}

/// The text of a platform, saved as a file, is read as an equal platform.
TEST(Platforms, AFileDescribesOneAsWell) {
  const sparsebit::test::TempDir dir;
  for (const std::string& name : platforms().names()) {
    const auto file = dir / (name + ".yaml");
    write_file_atomically(file, platforms().get(name)->text);
    EXPECT_EQ(*find_platform(file.string()), *platforms().get(name)) << name;
  }
  EXPECT_THROW(find_platform((dir / "none.yaml").string()), Error);
}

}  // namespace
}  // namespace sparsebit::platforms::platform_test
