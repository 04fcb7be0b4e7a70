#include "sparsebit/deploy/deploy.h"

#include "core/temp_dir.h"
#include "deploy/deploy_case.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/deploy/artefact_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::deploy::test::deploy_test {
namespace {

using quant::QuantModel;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Property;
using testing::Throws;

TEST(Deploy, WritesTheFilesOfAllFormatsAndAReadme) {
  const QuantModel model = calibrated_net(symmetric_config());
  const sparsebit::test::TempDir dir;
  const auto folder = dir / "out";
  const auto files = deploy(model, {"onnx_clean", "clip_ranges", "tensorrt_cache"}, folder, "net",
                            "Net for TensorRT");
  EXPECT_THAT(files, ElementsAre(folder / "net.onnx", folder / "net_clip_ranges.json",
                                 folder / "net_calibration.cache", folder / "README.md"));
  const DeployModel view(model, "net");
  EXPECT_EQ(read_file(files[1]), artefact_formats().get("clip_ranges").write(view)[0].content);
  EXPECT_EQ(read_file(files[3]), R"(# Net for TensorRT

<!-- sparsebit deploy: net for virtual -->

Quantized: 7 activations and 5 weights. Inputs:

- `x`: Float, batch x 3 x 10 x 10

The vendors' tools were not run here: the files follow their documented formats.

## net.onnx

float ONNX without quantizers, weights clipped to their quantized range, not rounded (format `onnx_clean`).

How to load: the float model that the range files of the other formats refer to

## net_clip_ranges.json

TensorRT: dynamic range of each activation, JSON (format `clip_ranges`).

How to load: parse net.onnx with nvonnxparser::IParser, call ITensor::setDynamicRange(-v, v) with each tensor's v of net_clip_ranges.json, and build with BuilderFlag::kINT8

## net_calibration.cache

TensorRT: calibration cache with the scale of each activation (format `tensorrt_cache`).

How to load: trtexec --onnx=net.onnx --int8 --calib=net_calibration.cache
)");
}

TEST(Deploy, WritesNothingWhenAFormatDoesNotFit) {
  const QuantModel model = calibrated_net(symmetric_config());
  const sparsebit::test::TempDir dir;
  const auto attempt = [&](const std::vector<std::string>& formats, const std::string& name) {
    return [&, formats, name] { deploy(model, formats, dir / "out", name, "Net"); };
  };
  const auto says = [](const std::string& text) {
    return Throws<Error>(Property(&Error::what, HasSubstr(text)));
  };
  EXPECT_THAT(attempt({"onnx_clean", "vitis"}, "net"), says("while writing the format 'vitis'"));
  EXPECT_THAT(attempt({"onnx_clean", "onnx_clean"}, "net"),
              says("format 'onnx_clean' writes 'net.onnx', a file name that is already in use"));
  EXPECT_THAT(attempt({"onnx_clear"}, "net"), says("unknown artefact format 'onnx_clear'"));
  EXPECT_THAT(attempt({}, "net"), says("deploy: no formats given"));
  EXPECT_THAT(attempt({"vitis"}, "a/b"), says("deploy: 'a/b' is not a valid file name"));
  EXPECT_FALSE(std::filesystem::exists(dir / "out"));
}

/// Deploying the same target again replaces the files; those of another target are kept.
TEST(Deploy, AFolderHoldsOneTarget) {
  const QuantModel model = calibrated_net(symmetric_config());
  const sparsebit::test::TempDir dir;
  const auto refused = [&](const std::string& name, const std::string& platform) -> std::string {
    try {
      check_deploy_folder(dir.path(), name, platform);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  deploy(model, {"onnx_clean"}, dir.path(), "net", "Net");
  EXPECT_NO_THROW(deploy(model, {"onnx_clean"}, dir.path(), "net", "Net, once more"));
  EXPECT_THAT(refused("net", "snpe"),
              HasSubstr("this folder has the files of net for virtual; choose"));
  EXPECT_THAT(refused("other", "virtual"),
              HasSubstr("this folder has the files of net for virtual"));
  EXPECT_THROW(deploy(model, {"onnx_clean"}, dir.path(), "other", "Net"), Error);
  write_file_atomically(dir / "README.md", "\n");
  EXPECT_THAT(refused("net", "virtual"), HasSubstr("this README.md was not written by deploy"));
}

TEST(ArtefactFormats, EachSaysWhatItIsAndHowItIsLoaded) {
  EXPECT_EQ(artefact_formats().size(), 15u);
  for (const std::string& name : artefact_formats().names()) {
    const ArtefactFormat& format = artefact_formats().get(name);
    EXPECT_THAT(format.summary, testing::Not(IsEmpty())) << name;
    EXPECT_THAT(format.how_to_load, testing::Not(IsEmpty())) << name;
  }
}

}  // namespace
}  // namespace sparsebit::deploy::test::deploy_test
