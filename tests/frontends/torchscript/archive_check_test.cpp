#include "frontends/torchscript/archive_check.h"

#include "frontends/torchscript/reference.h"

#include <caffe2/serialize/inline_container.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace sparsebit::frontends::torchscript::archive_check_test {
namespace {

using namespace std::string_literals;
using ::testing::StartsWith;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ArchiveCheck, RealFilesAreSound) {
  for (const auto& entry : std::filesystem::directory_iterator(TORCHSCRIPT_FIXTURES)) {
    SCOPED_TRACE(entry.path());
    if (entry.path().extension() != ".pt") continue;
    Checksums checksums;
    EXPECT_EQ(zip_problem(read(entry.path()), checksums), "");
    caffe2::serialize::PyTorchStreamReader reader(entry.path().string());
    for (const std::string& name : reader.getAllRecords()) {
      const auto [data, size] = reader.getRecord(name);
      const std::string_view bytes(static_cast<const char*>(data.get()), size);
      EXPECT_EQ(checksum_problem(name, bytes, checksums), "") << name;
      EXPECT_EQ(name.ends_with("pkl") ? pickle_problem(bytes) : "", "") << name;
      EXPECT_EQ(name.ends_with(".py") ? source_problem(bytes) : "", "") << name;
      EXPECT_EQ(name.ends_with(".py") ? definitions_problem(bytes) : "", "") << name;
    }
  }
}

/// Lists in which each contains the next one twice; the outer ones are filled first.
std::string doubling(char count) {
  std::string lists, fillings;
  for (char i = 0; i <= count; ++i) lists += "]q"s + i;
  for (char i = 0; i < count; ++i)
    fillings += "h"s + i + "(h" + char(i + 1) + "h" + char(i + 1) + "e";
  return "\x80\x02" + lists + fillings + ".";
}

TEST(ArchiveCheck, PicklesThatLibtorchWouldTrust) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\x80\x02X\xff\xff\xff\x7fxy"s, "a string longer than the record at byte 7"},
      {"\x80\x02Nr\xff\xff\xff\x7f."s, "a memo index beyond the record's size at byte 8"},
      {"\x80\x02q\x00."s, "an instruction without its operands at byte 4"},
      {"\x80\x02R."s, "an instruction without its operands at byte 3"},
      {"\x80\x02N(\x85."s, "an instruction without its operands at byte 5"},
      {"\x80\x02Nt."s, "a collection without a start at byte 4"},
      {"\x80\x02}(Nu."s, "a key without a value at byte 6"},
      {"\x80\x02(Ne."s, "a collection without a container at byte 5"},
      {"\x80\x02]q\x01(h\x01"
       "e."s,
       "a value contains itself"},
      {"\x80\x02]" + std::string(2000, '\x85') + "."s, "its values are nested too deeply"},
      {doubling(10), ""},
      {doubling(60), "its shared values expand to too many values"},
      {"\x80\x02}(NNu."s, ""},
      {"\x80\x02(NNt\x85."s, ""},
      {"\x80\x02X\x02\x00\x00\x00xy."s, ""},
      {""s, ""},
  };
  for (const auto& [pickle, problem] : cases) EXPECT_EQ(pickle_problem(pickle), problem);
}

TEST(ArchiveCheck, RecordsThatTheFileDoesNotHave) {
  const std::string file = read(TORCHSCRIPT_FIXTURES "/containers.traced.pt");
  const size_t entry = file.find("PK\x01\x02");
  ASSERT_NE(entry, std::string::npos);
  Checksums checksums;
  std::string large = file;
  large.replace(entry + 24, 4, "\xf0\xff\xff\x7f");
  EXPECT_THAT(zip_problem(large, checksums),
              StartsWith("a record of 2147483632 bytes is not in the file"));
  std::string damaged = file;
  damaged[entry] = 'X';
  EXPECT_EQ(zip_problem(damaged, checksums), "its table of records is damaged");
  EXPECT_EQ(zip_problem(file.substr(0, entry), checksums),
            "its table of records is missing; is the file complete?");
}

TEST(ArchiveCheck, ChecksumsAreCompared) {
  const Checksums checksums = {{"data.pkl", 0xCBF43926}};
  EXPECT_EQ(checksum_problem("data.pkl", "123456789", checksums), "");
  EXPECT_EQ(checksum_problem("data.pkl", "12345678", checksums), "its checksum does not match");
  EXPECT_EQ(checksum_problem("other", "123456789", checksums), "its checksum does not match");
}

TEST(ArchiveCheck, CodeOfAnyDepthAPersonWrites) {
  const auto nested = [](size_t depth, const std::string& open) {
    std::string text = "x = ";
    for (size_t i = 0; i < depth; ++i) text += open;
    return text + "1";
  };
  for (const char* open : {"(", "[", "-", "not ", "a if b else "}) {
    EXPECT_EQ(source_problem(nested(50, open)), "") << open;
    EXPECT_EQ(source_problem(nested(5000, open)), "its code is nested too deeply") << open;
  }
  for (const char* more : {" + 1", "[0]", ".T", " and 1", "(2, 3)", "(')', 2) + 1"}) {
    std::string row = "x = y";
    for (int i = 0; i < 5000; ++i) row += more;
    EXPECT_EQ(source_problem(row), "its code is nested too deeply") << more;
  }
  EXPECT_EQ(source_problem("x = '" + std::string(5000, '(') + "'"), "");
  EXPECT_EQ(source_problem(std::string(5000, ' ') + "x = 1"), "its code is nested too deeply");
  std::string list = "x = [";
  for (int i = 0; i < 5000; ++i) list += "-1, not a, (b), ";
  EXPECT_EQ(source_problem(list + "1]"), "");
}

TEST(ArchiveCheck, DepthAddsUpOverFunctions) {
  const std::string one = "def f(x):\n  if x:\n    y = (1, 2)\n  return x\n";
  const int64_t depth = source_depth(one);
  EXPECT_GE(depth, 5);  // a call, the function, the if, its statement, its brackets
  EXPECT_LE(depth, 10);
  EXPECT_EQ(source_depth(one + one + one) - source_depth(one + one),
            source_depth(one + one) - depth);
  EXPECT_GT(source_depth(one + one), depth + 4);
  EXPECT_EQ(source_depth("def f(x):\n  if x:\n    y = 1\n  elif x:\n    y = 2\n  return x\n"),
            source_depth("def f(x):\n  if x:\n    y = 1\n  return x\n") + 1);
}

}  // namespace
}  // namespace sparsebit::frontends::torchscript::archive_check_test
