#include "sparsebit/zoo/yolo.h"

#include "sparsebit/nn/containers.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

namespace sparsebit::zoo {
namespace yolo_parts {

using nn::Args;
using nn::ModulePtr;
using nn::Value;

class ConvBlock : public nn::Cloneable<ConvBlock> {
 public:
  ConvBlock(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1) : Cloneable("Conv", "x") {
    add_module("conv", nn::Conv2d(in, out, kernel,
                                  {{"stride", stride}, {"padding", kernel / 2}, {"bias", false}}));
    add_module("bn", nn::BatchNorm2d(out, {{"eps", 1e-3}, {"momentum", 0.03}}));
    add_module("act", nn::SiLU({{"inplace", true}}));
  }

  Value forward(const Args& in) override { return call("act", call("bn", call("conv", in["x"]))); }
};

ModulePtr conv(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1) {
  return std::make_shared<ConvBlock>(in, out, kernel, stride);
}

/// Half of the channels pass through a residual pair of convolutions.
class CspBlock : public nn::Cloneable<CspBlock> {
 public:
  CspBlock(int64_t in, int64_t out) : Cloneable("C3", "x") {
    add_module("cv1", conv(in, out / 2, 1));
    add_module("cv2", conv(in, out / 2, 1));
    add_module("m1", conv(out / 2, out / 2, 1));
    add_module("m2", conv(out / 2, out / 2, 3));
    add_module("cv3", conv(out, out, 1));
  }

  Value forward(const Args& in) override {
    const Value x = in["x"];
    const Value detour = call("cv1", x);
    const Value residual = detour + call("m2", call("m1", detour));
    return call("cv3", nn::cat({residual, call("cv2", x)}, 1));
  }
};

/// Max pooling at three sizes, concatenated: context without losing resolution.
class SpatialPyramid : public nn::Cloneable<SpatialPyramid> {
 public:
  explicit SpatialPyramid(int64_t channels) : Cloneable("SPPF", "x") {
    add_module("cv1", conv(channels, channels / 2, 1));
    add_module("m", nn::MaxPool2d(5, {{"stride", 1}, {"padding", 2}}));
    add_module("cv2", conv(channels * 2, channels, 1));
  }

  Value forward(const Args& in) override {
    const Value a = call("cv1", in["x"]);
    const Value b = call("m", a);
    const Value c = call("m", b);
    return call("cv2", nn::cat({a, b, c, call("m", c)}, 1));
  }
};

class Yolo : public nn::Cloneable<Yolo> {
 public:
  explicit Yolo(const YoloOptions& options)
      : Cloneable("Yolo", "images"), outputs_(5 + options.num_classes) {
    const int64_t w = options.width;
    add_module("stem", conv(3, w, 3, 2));
    add_module("down2", conv(w, w * 2, 3, 2));
    add_module("down3", conv(w * 2, w * 4, 3, 2));
    add_module("stage3", std::make_shared<CspBlock>(w * 4, w * 4));
    add_module("down4", conv(w * 4, w * 8, 3, 2));
    add_module("stage4", std::make_shared<CspBlock>(w * 8, w * 8));
    add_module("down5", conv(w * 8, w * 16, 3, 2));
    add_module("sppf", std::make_shared<SpatialPyramid>(w * 16));
    add_module("lateral5", conv(w * 16, w * 8, 1));
    add_module("up5", nn::Upsample({{"scale_factor", 2.0}, {"mode", "nearest"}}));
    add_module("fuse4", std::make_shared<CspBlock>(w * 16, w * 8));
    add_module("up4", nn::ConvTranspose2d(w * 8, w * 4, 2, {{"stride", 2}}));
    add_module("fuse3", std::make_shared<CspBlock>(w * 8, w * 4));
    add_module("head", std::make_shared<nn::ModuleList>(std::vector<ModulePtr>{
                           nn::Conv2d(w * 4, outputs_, 1), nn::Conv2d(w * 8, outputs_, 1),
                           nn::Conv2d(w * 16, outputs_, 1)}));
  }

  Value forward(const Args& in) override {
    const Value p2 = call("down2", call("stem", in["images"]));
    const Value p3 = call("stage3", call("down3", p2));
    const Value p4 = call("stage4", call("down4", p3));
    const Value p5 = call("sppf", call("down5", p4));
    const Value n4 = call("fuse4", nn::cat({call("up5", call("lateral5", p5)), p4}, 1));
    const Value n3 = call("fuse3", nn::cat({call("up4", n4), p3}, 1));
    return nn::cat({predict("0", n3), predict("1", n4), predict("2", p5)}, 1);
  }

 private:
  Value predict(const char* scale, const Value& features) {
    const Value raw = child("head").child(scale)(features);
    const Value cells = nn::view(raw, {nn::size(raw, 0), outputs_, -1});
    return nn::call_function("torch.sigmoid", {nn::permute(cells, {0, 2, 1})});
  }

  int64_t outputs_;
};

}  // namespace yolo_parts

nn::ModulePtr yolo(const YoloOptions& options) {
  return std::make_shared<yolo_parts::Yolo>(options);
}

}  // namespace sparsebit::zoo
