#include "sparsebit/io/dataset.h"

#include "core/temp_dir.h"
#include "sparsebit/core/error.h"
#include "sparsebit/io/npy.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

namespace sparsebit::io::dataset_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

void write(const fs::path& file, const std::string& bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}

/// A BMP file of one pixel.
std::string bitmap(unsigned char red, unsigned char green, unsigned char blue) {
  std::string bytes("BM", 2);
  const auto number = [&](uint32_t value, int size) {
    for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
  };
  number(58, 4), number(0, 4), number(54, 4), number(40, 4), number(1, 4), number(1, 4);
  number(1, 2), number(24, 2), number(0, 4), number(4, 4);
  number(0, 4), number(0, 4), number(0, 4), number(0, 4);
  bytes += static_cast<char>(blue);
  bytes += static_cast<char>(green);
  bytes += static_cast<char>(red);
  bytes += '\0';
  return bytes;
}

// --- folders of images --------------------------------------------------------------------------

TEST(Dataset, FoldersAreClasses) {
  const test::TempDir folder;
  write(folder.path() / "dog" / "b.bmp", bitmap(1, 2, 3));
  write(folder.path() / "cat" / "z.BMP", bitmap(4, 5, 6));
  write(folder.path() / "cat" / "a.bmp", bitmap(7, 8, 9));
  write(folder.path() / "cat" / "notes.txt", "not an image");
  const auto data = open_dataset(folder.path());
  EXPECT_EQ(data->describe(), "3 image files");
  EXPECT_THAT(data->classes(), ElementsAre("cat", "dog"));
  const Sample first = data->get(0), last = data->get(2);
  EXPECT_EQ(first.name, "cat/a.bmp");
  EXPECT_EQ(first.label, 0);
  EXPECT_EQ(last.label, 1);
  EXPECT_TRUE(at::equal(last.data, at::tensor({1, 2, 3}, at::kByte).view({3, 1, 1})));
  EXPECT_THAT([&] { data->get(3); },
              ThrowsMessage<Error>(HasSubstr("sample 3 is out of range; there are 3")));
}

TEST(Dataset, ImagesWithoutFoldersHaveNoLabels) {
  const test::TempDir folder;
  write(folder.path() / "b.bmp", bitmap(1, 2, 3));
  write(folder.path() / "a.bmp", bitmap(4, 5, 6));
  const auto data = open_dataset(folder.path());
  EXPECT_FALSE(data->has_labels());
  EXPECT_EQ(data->get(0).name, "a.bmp");
}

TEST(Dataset, LabelsOfAFile) {
  const test::TempDir folder;
  for (const char* name : {"a.bmp", "b.bmp", "c.bmp"}) write(folder.path() / name, bitmap(1, 2, 3));
  const fs::path labels = folder.path() / "labels.tsv";
  write(labels, "class_index\twnid\tfile\n7\tn01\tb.bmp\n3\tn02\ta.bmp\r\n");
  const auto data = open_dataset(folder.path(), labels);
  EXPECT_EQ(data->size(), 2);  // only images with a label
  EXPECT_EQ(data->get(0).label, 3);
  EXPECT_EQ(data->get(1).label, 7);
  write(labels, "a.bmp\tcat\n");
  EXPECT_THAT([&] { open_dataset(folder.path(), labels); },
              ThrowsMessage<Error>(HasSubstr("contains no labels")));
  write(labels, "a.bmp,1\nb.bmp,cat\n");
  EXPECT_THAT([&] { open_dataset(folder.path(), labels); },
              ThrowsMessage<Error>(HasSubstr(
                  "labels.tsv:2: expected a file name and a class number, found 'b.bmp,cat'")));
  write(labels, "x.bmp\t1\n");
  EXPECT_THAT([&] { open_dataset(folder.path(), labels); },
              ThrowsMessage<Error>(HasSubstr("no line names an image")));
}

// --- arrays -------------------------------------------------------------------------------------

TEST(Dataset, ArraysAndArchivesOfThem) {
  const test::TempDir folder;
  const at::Tensor x = at::arange(24.).view({4, 2, 3}).to(at::kFloat);
  save_npy(folder.path() / "x.npy", x);
  const auto plain = open_dataset(folder.path() / "x.npy");
  EXPECT_EQ(plain->size(), 4);
  EXPECT_FALSE(plain->has_labels());
  EXPECT_TRUE(at::equal(plain->get(2).data, x[2]));
  // Written by NumPy, uncompressed and compressed.
  for (const char* name : {"stored.npz", "packed.npz"}) {
    SCOPED_TRACE(name);
    const auto data = open_dataset(fs::path(SPARSEBIT_IO_FIXTURES) / name);
    EXPECT_EQ(data->size(), 4);
    EXPECT_EQ(data->get(1).label, 1);
    EXPECT_TRUE(at::equal(data->get(3).data, x[3]));
  }
}

TEST(Dataset, LabelsAreWholeNumbersOfAnyType) {
  const at::Tensor x = at::zeros({3, 4}), y = at::arange(3);
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kFloat, at::kByte, at::kLong})
    EXPECT_EQ(dataset_of(x, y.to(type), "test")->get(2).label, 2) << type;
  for (const at::ScalarType type : {at::kHalf, at::kFloat})
    EXPECT_THROW(dataset_of(x, y.to(type) + 0.5, "test"), Error) << type;
  EXPECT_THROW(dataset_of(x, y.to(at::kComplexFloat), "test"), Error);
  for (const double number : {std::numeric_limits<double>::infinity(), 1e30, std::nan("")})
    EXPECT_THROW(dataset_of(x, at::full({3}, number, at::kDouble), "test"), Error) << number;
}

TEST(Dataset, DamagedArchivesAreErrors) {
  const test::TempDir folder;
  std::ifstream in(fs::path(SPARSEBIT_IO_FIXTURES) / "packed.npz", std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  const fs::path file = folder.path() / "x.npz";
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x41);
    write(file, bad);
    try {
      open_dataset(file)->get(0);
    } catch (const Error&) {  // no error if the changed byte is not read
    }
    write(file, good.substr(0, i));
    EXPECT_THROW(open_dataset(file), Error) << i;
  }
}

// --- single images and lists of them ------------------------------------------------------------

TEST(Dataset, AnImageIsOneSample) {
  const test::TempDir folder;
  write(folder.path() / "a.bmp", bitmap(7, 8, 9));
  write(folder.path() / "no_suffix", bitmap(1, 2, 3));
  const auto data = open_dataset(folder.path() / "a.bmp");
  EXPECT_EQ(data->describe(), "1 image file");
  EXPECT_EQ(data->size(), 1);
  EXPECT_EQ(data->get(0).name, "a.bmp");
  EXPECT_FALSE(data->has_labels());
  EXPECT_EQ(open_dataset(folder.path() / "no_suffix")->get(0).data[0][0][0].item<int64_t>(), 1);
  write(folder.path() / "text.jpg", "hello");
  EXPECT_THAT([&] { open_dataset(folder.path() / "text.jpg")->get(0); },
              ThrowsMessage<Error>(HasSubstr("text.jpg: not a JPEG, PNG or BMP image")));
  write(folder.path() / "l.tsv", "a.bmp\t3\n");
  EXPECT_THAT([&] { open_dataset(folder.path() / "a.bmp", folder.path() / "l.tsv"); },
              ThrowsMessage<Error>(HasSubstr("a label file cannot be given for a single image")));
}

TEST(Dataset, ListsOfImages) {
  const test::TempDir folder;
  write(folder.path() / "images" / "a b.bmp", bitmap(7, 8, 9));
  write(folder.path() / "images" / "c.bmp", bitmap(1, 2, 3));
  const fs::path list = folder.path() / "list.txt", absolute = folder.path() / "images" / "c.bmp";
  write(list, "# two\n\nimages/a b.bmp\n" + absolute.string() + "\r\n");
  EXPECT_TRUE(is_image_list(list));
  const auto plain = open_dataset(list);
  EXPECT_EQ(plain->size(), 2);
  EXPECT_EQ(plain->get(0).name, "images/a b.bmp");
  EXPECT_EQ(plain->get(1).data[2][0][0].item<int64_t>(), 3);
  EXPECT_FALSE(plain->has_labels());
  for (const char* between : {"\t", ",", " ", ", "}) {
    const std::string number = std::string(between) + "17\n";
    write(list, "images/a b.bmp" + number + "images/c.bmp" + number);
    EXPECT_EQ(open_dataset(list)->get(1).label, 17) << between;
    EXPECT_EQ(open_dataset(list)->get(0).name, "images/a b.bmp") << between;
  }
}

TEST(Dataset, AWordIsNoClassNumber) {
  const test::TempDir folder;
  write(folder.path() / "list.tsv", "a.png\tdog\n");
  EXPECT_THAT([&] { open_dataset(folder.path() / "list.tsv"); },
              testing::ThrowsMessage<Error>(
                  testing::HasSubstr("list.tsv:1: expected an image (.jpg, .jpeg, .png, .bmp) and "
                                     "optionally a class number, found 'a.png\tdog'")));
}

TEST(Dataset, WrongListsNameTheirLine) {
  const test::TempDir folder;
  write(folder.path() / "c.bmp", bitmap(1, 2, 3));
  const fs::path list = folder.path() / "list.txt";
  write(list, "c.bmp\nd.bmp\n");
  EXPECT_THAT([&] { open_dataset(list); },
              ThrowsMessage<Error>(HasSubstr("list.txt:2: no such image 'd.bmp'; paths are "
                                             "relative to the folder of the list")));
  write(list, "c.bmp\nc.gif\n");
  EXPECT_THAT(
      [&] { open_dataset(list); },
      ThrowsMessage<Error>(HasSubstr("list.txt:2: expected an image (.jpg, .jpeg, .png, "
                                     ".bmp) and optionally a class number, found 'c.gif'")));
  write(list, "c.bmp 3\nc.bmp\n");
  EXPECT_THAT([&] { open_dataset(list); },
              ThrowsMessage<Error>(HasSubstr("1 of 2 images have a class number")));
}

// --- MNIST and CIFAR-10 -------------------------------------------------------------------------

TEST(Dataset, MnistWithTheLabelsBesideIt) {
  const test::TempDir folder;
  write(folder.path() / "t-images-idx3-ubyte",
        std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02", 16) + "abcd");
  write(folder.path() / "t-labels-idx1-ubyte", std::string("\0\0\x08\x01\0\0\0\x02\x05\x07", 10));
  const auto data = open_dataset(folder.path() / "t-images-idx3-ubyte");
  EXPECT_EQ(data->size(), 2);
  EXPECT_EQ(data->get(1).label, 7);
  EXPECT_TRUE(at::equal(data->get(1).data, at::tensor({'c', 'd'}, at::kByte).view({1, 1, 2})));
  EXPECT_THAT([&] { open_dataset(folder.path() / "t-labels-idx1-ubyte"); },
              ThrowsMessage<Error>(HasSubstr("give the image file (...-images-idx3-ubyte)")));
}

TEST(Dataset, CifarFilesAndFoldersOfThem) {
  const test::TempDir folder;
  const auto record = [](char label, char pixel) {
    return std::string(1, label) + std::string(3072, pixel);
  };
  write(folder.path() / "data_batch_1.bin", record(3, 'a') + record(9, 'b'));
  write(folder.path() / "data_batch_2.bin", record(0, 'c'));
  EXPECT_EQ(open_dataset(folder.path() / "data_batch_1.bin")->size(), 2);
  const auto all = open_dataset(folder.path());
  EXPECT_EQ(all->size(), 3);
  EXPECT_EQ(all->get(1).label, 9);
  EXPECT_EQ(all->get(2).data.sizes(), at::IntArrayRef({3, 32, 32}));
  EXPECT_EQ(all->get(2).data[0][0][0].item<int64_t>(), 'c');
  write(folder.path() / "data_batch_3.bin", record(3, 'a') + record(10, 'b'));
  EXPECT_THAT([&] { open_dataset(folder.path()); },
              ThrowsMessage<Error>(HasSubstr("found class 10")));
}

TEST(Dataset, WhatIsNoneOfTheseIsAnError) {
  const test::TempDir folder;
  EXPECT_THAT([&] { open_dataset(folder.path() / "none"); },
              ThrowsMessage<Error>(HasSubstr("no such file or folder")));
  EXPECT_THAT([&] { open_dataset(folder.path()); },
              ThrowsMessage<Error>(HasSubstr("contains no images")));
  write(folder.path() / "text", "hello");
  EXPECT_THAT(
      [&] { open_dataset(folder.path() / "text"); },
      ThrowsMessage<Error>(HasSubstr("unknown data format; expected an image, a list or folder")));
  write(folder.path() / "empty", "");
  EXPECT_THROW(open_dataset(folder.path() / "empty"), Error);
}

}  // namespace
}  // namespace sparsebit::io::dataset_test
