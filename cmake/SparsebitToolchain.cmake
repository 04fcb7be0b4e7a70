# Compiler cache, linker, libtorch and the flags every target shares.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # time_macros and pch_defines let ccache serve files that use a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()

find_package(Torch REQUIRED)
include(GNUInstallDirs)

# Identical for all targets: reuse of the precompiled header depends on it.
add_library(sparsebit_flags INTERFACE)
target_compile_features(sparsebit_flags INTERFACE cxx_std_20)
target_compile_options(sparsebit_flags INTERFACE
  $<BUILD_INTERFACE:-Wall -Wextra>
  $<BUILD_INTERFACE:$<$<BOOL:${SPARSEBIT_WERROR}>:-Werror>>
  # gcc 12 reports false positives of these inside libstdc++ and libtorch headers when it optimizes.
  $<BUILD_INTERFACE:-Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-restrict>
  $<BUILD_INTERFACE:-fpch-preprocess>)
target_include_directories(sparsebit_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(sparsebit_flags INTERFACE torch torch_library c10)

find_program(LLD_PROGRAM ld.lld)
if(LLD_PROGRAM)
  target_link_options(sparsebit_flags INTERFACE $<BUILD_INTERFACE:-fuse-ld=lld>)
endif()

if(SPARSEBIT_SANITIZE)
  if(SPARSEBIT_SANITIZE STREQUAL "thread")
    set(sanitize -fsanitize=thread)
  elseif(SPARSEBIT_SANITIZE STREQUAL "address;undefined" OR SPARSEBIT_SANITIZE MATCHES "^(ON|1|TRUE|YES)$")
    set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=undefined)
  else()
    message(FATAL_ERROR "SPARSEBIT_SANITIZE: expected OFF, ON, 'address;undefined' or 'thread', "
                        "found '${SPARSEBIT_SANITIZE}'")
  endif()
  list(APPEND sanitize -fno-omit-frame-pointer)
  target_compile_options(sparsebit_flags INTERFACE $<BUILD_INTERFACE:${sanitize}>)
  target_link_options(sparsebit_flags INTERFACE $<BUILD_INTERFACE:${sanitize}>)
endif()

if(SPARSEBIT_FUZZ)
  target_compile_options(sparsebit_flags INTERFACE
    $<BUILD_INTERFACE:-fsanitize-coverage=trace-pc,trace-cmp>)
endif()

# <ATen/ATen.h> takes seven seconds to parse: once for the whole project, not once per file.
add_library(sparsebit_pch OBJECT ${PROJECT_SOURCE_DIR}/cmake/pch.cpp)
target_link_libraries(sparsebit_pch PRIVATE sparsebit_flags)
target_precompile_headers(sparsebit_pch PRIVATE <ATen/ATen.h>)
