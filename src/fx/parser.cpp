#include "sparsebit/fx/parser.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/ops/value_text.h"

#include <array>
#include <string>
#include <unordered_map>

namespace sparsebit::fx {
namespace {

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

struct Call {
  std::vector<Argument> args;
  Kwargs kwargs;
};

class Parser {
 public:
  std::unique_ptr<Graph> parse(std::string_view text) {
    for (int line = 1; !text.empty(); ++line) {
      const size_t end = std::min(text.find('\n'), text.size());
      parse_located_line(trim(text.substr(0, end)), "line " + std::to_string(line));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(graph_);
  }

 private:
  /// Errors about a value's content have no position; this adds the line.
  void parse_located_line(std::string_view line, const std::string& where) {
    try {
      parse_line(line, where);
    } catch (Error& e) {
      if (e.details().where.empty()) e.add_context("in " + where);
      throw;
    }
  }

  void parse_line(std::string_view line, const std::string& where) {
    if (line.empty() || line.starts_with("#") || line == "graph:" || line == "graph():") return;
    const auto lookup = [this](std::string_view name) -> std::optional<Value> {
      const auto it = nodes_.find(std::string(name));
      if (it == nodes_.end()) return std::nullopt;
      return Value(it->second);
    };
    if (line.starts_with("return")) {
      ValueReader reader(line, where, lookup, ValueReader::Names::Bare);
      reader.expect("return");
      graph_->output(reader.read_value());
      expect_end(reader);
      return;
    }
    ValueReader reader(line, where, lookup);
    reader.expect("%");
    const std::string name(reader.read_name());
    if (name.empty()) reader.fail("a node name");
    if (reader.try_consume(":")) skip_user_count(reader);
    reader.expect("=");
    Node& node = parse_definition(reader, name);
    expect_end(reader);
    SPARSEBIT_CHECK(node.name() == name, InvalidArgument, "'", name,
                    "' cannot be a node name: it is taken or reserved");
    nodes_.emplace(name, &node);
  }

  static void expect_end(ValueReader& reader) {
    if (!reader.at_end()) reader.fail("the end of the line");
  }

  static void skip_user_count(ValueReader& reader) {
    reader.expect("[#users=");
    reader.read_value();
    reader.expect("]");
  }

  Node& parse_definition(ValueReader& reader, const std::string& name) {
    static constexpr std::array kOpcodes = {Opcode::Placeholder, Opcode::GetAttr,
                                            Opcode::CallFunction, Opcode::CallMethod,
                                            Opcode::CallModule};
    for (const Opcode op : kOpcodes) {
      if (reader.try_consume(std::string(to_string(op)) + "[target=")) {
        return parse_long_form(reader, op, name);
      }
    }
    return parse_short_form(reader, name);
  }

  /// After `call_module[target=`.
  Node& parse_long_form(ValueReader& reader, Opcode op, const std::string& name) {
    const size_t length = reader.rest().find(']');
    if (length == std::string_view::npos) reader.fail("']'");
    const std::string target(reader.rest().substr(0, length));
    reader.expect(target);
    reader.expect("]");
    Call call;
    if (reader.try_consume("(")) {
      while (!reader.try_consume(")")) {
        parse_section(reader, call);
        reader.try_consume(",");
      }
    }
    return graph_->create_node(op, target, std::move(call.args), std::move(call.kwargs), name);
  }

  /// `args=(...)`, `kwargs={...}` or `default=...`
  static void parse_section(ValueReader& reader, Call& call) {
    if (reader.try_consume("kwargs")) {
      reader.expect("=");
      const Value value = reader.read_value();
      SPARSEBIT_CHECK(value.is<Dict>(), InvalidArgument, "kwargs must be written as {name: value}");
      call.kwargs = value.get<Dict>().items;
    } else if (reader.try_consume("args")) {
      reader.expect("=");
      const Value value = reader.read_value();
      if (!value.is_sequence()) reader.fail("args as a tuple, such as (%x,)");
      call.args = value.items();
    } else {
      reader.expect("default");
      reader.expect("=");
      call.args = {reader.read_value()};
    }
  }

  Node& parse_short_form(ValueReader& reader, const std::string& name) {
    if (reader.try_consume("%")) {  // %x.view(2, -1)
      const std::string text(reader.read_name());
      const size_t dot = text.rfind('.');
      const auto self = nodes_.find(text.substr(0, dot));
      if (dot == std::string::npos || self == nodes_.end()) reader.fail("%node.method(...)");
      Call call = parse_call(reader);
      call.args.insert(call.args.begin(), *self->second);
      return graph_->create_node(Opcode::CallMethod, text.substr(dot + 1), std::move(call.args),
                                 std::move(call.kwargs), name);
    }
    const std::string target(reader.read_name());
    if (target.starts_with("self.")) {
      const std::string path = target.substr(5);
      if (reader.peek() != '(') return graph_->create_node(Opcode::GetAttr, path, {}, {}, name);
      Call call = parse_call(reader);
      return graph_->create_node(Opcode::CallModule, path, std::move(call.args),
                                 std::move(call.kwargs), name);
    }
    if (target.empty()) reader.fail("a definition");
    Call call = parse_call(reader);
    if (target == "input") {
      return graph_->create_node(Opcode::Placeholder, name, std::move(call.args), {}, name);
    }
    return graph_->create_node(Opcode::CallFunction, target, std::move(call.args),
                               std::move(call.kwargs), name);
  }

  /// `(%x, 2, alpha=3)`
  static Call parse_call(ValueReader& reader) {
    Call call;
    reader.expect("(");
    bool comma = true;
    while (!reader.try_consume(")")) {
      if (!comma) reader.fail("',' or ')'");
      if (const std::string keyword = try_read_keyword(reader); !keyword.empty()) {
        call.kwargs.emplace_back(keyword, reader.read_value());
      } else {
        call.args.push_back(reader.read_value());
      }
      comma = reader.try_consume(",");
    }
    return call;
  }

  /// Consumes `name=` if that is next.
  static std::string try_read_keyword(ValueReader& reader) {
    reader.skip_space();
    const std::string_view rest = reader.rest();
    size_t length = 0;
    while (length < rest.size() &&
           (std::isalnum(static_cast<unsigned char>(rest[length])) || rest[length] == '_')) {
      ++length;
    }
    if (length == 0 || length >= rest.size() || rest[length] != '=') return {};
    std::string keyword(rest.substr(0, length));
    reader.expect(keyword);
    reader.expect("=");
    return keyword;
  }

  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  std::unordered_map<std::string, Node*> nodes_;
};

}  // namespace

std::unique_ptr<Graph> parse_graph(std::string_view text) { return Parser().parse(text); }

}  // namespace sparsebit::fx
