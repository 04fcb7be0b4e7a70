#pragma once

#include "frontends/torchscript/aten.h"

#include <map>

namespace sparsebit::frontends::torchscript {

/// The result of a call; empty when the rule does not apply to its arguments.
using AtenRule = std::optional<ScriptValues> (*)(GraphBuilder&, const AtenCall&);
/// By the name of the operator.
using AtenRules = std::map<std::string, AtenRule>;

/// `x[:, :, part]` for the axis 2, `x[..., part]` for -1. Throws InvalidModel for an axis beyond
/// the maximum rank.
fx::Value index_of_axis(int64_t axis, fx::Value part);

// Rules of write_special() that have a file of their own.
const AtenRules& attention_rules();  ///< aten_attention.cpp
const AtenRules& core_rules();       ///< aten_core.cpp
const AtenRules& newer_rules();      ///< aten_newer.cpp
// aten_resampling.cpp
std::optional<ScriptValues> write_upsample(GraphBuilder& builder, const AtenCall& call);
std::optional<ScriptValues> write_grid_sampler(GraphBuilder& builder, const AtenCall& call);
std::optional<ScriptValues> write_affine_grid(GraphBuilder& builder, const AtenCall& call);

}  // namespace sparsebit::frontends::torchscript
