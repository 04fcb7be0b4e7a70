#pragma once

#include <filesystem>

namespace sparsebit::cli::test {

/// A detector of red (class 0) and blue (class 1) squares in images of 64x64, BGR, 0 to 255, in
/// YOLOX's format: [1, 84, 7]. Only cells of stride 16 detect objects, and boxes are the cells.
void save_tiny_detector(const std::filesystem::path& file);

/// A YOLO data set: FOLDER/images/*.bmp, 128x64 and 64x64, and FOLDER/labels/*.txt. After a
/// letterbox to 64x64 in the top left corner, every square covers a cell of the detector.
void save_squares(const std::filesystem::path& folder, int images);

}  // namespace sparsebit::cli::test
