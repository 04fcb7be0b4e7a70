#pragma once

#include "frontends/torchscript/aten.h"

namespace sparsebit::frontends::torchscript {

// Rules of write_special() that have a file of their own, aten_resampling.cpp.
std::optional<ScriptValues> write_upsample(GraphBuilder& builder, const AtenCall& call);
std::optional<ScriptValues> write_grid_sampler(GraphBuilder& builder, const AtenCall& call);
std::optional<ScriptValues> write_affine_grid(GraphBuilder& builder, const AtenCall& call);

}  // namespace sparsebit::frontends::torchscript
