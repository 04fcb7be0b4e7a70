# Whatever ATen's headers instantiate is instantiated again in every file that is compiled, which
# costs as much as a usual file of ours. Eight at a time pay once; one changed file still compiles
# in some twenty seconds.
function(sparsebit_compile_together target)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${SPARSEBIT_UNITY}
    UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# sparsebit_add_module(fx SOURCES node.cpp graph.cpp DEPENDS sparsebit::core)
# One static library per folder of src/, named sparsebit_<name>, used as sparsebit::<name>.
function(sparsebit_add_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS")
  add_library(sparsebit_${name} STATIC ${arg_SOURCES})
  add_library(sparsebit::${name} ALIAS sparsebit_${name})
  set_target_properties(sparsebit_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(sparsebit_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(sparsebit_${name}
    PUBLIC sparsebit_flags ${arg_DEPENDS}
    PRIVATE ${arg_PRIVATE_DEPENDS})
  target_precompile_headers(sparsebit_${name} REUSE_FROM sparsebit_pch)
  sparsebit_compile_together(sparsebit_${name})
  set_property(GLOBAL APPEND PROPERTY SPARSEBIT_MODULES sparsebit_${name})
endfunction()

# A test that takes too long is ended by its CPU time, which a busy machine does not lengthen as it
# does wall time; see tests/support/test_main.cpp. No program takes more than a minute on a usual
# machine (tools/measure_tests.py). The wall time only ends programs that wait forever.
set(SPARSEBIT_TEST_CPU_SECONDS 300)
set(SPARSEBIT_TEST_TIMEOUT 3000)
if(SPARSEBIT_SANITIZE)
  set(SPARSEBIT_TEST_CPU_SECONDS 3000)
  set(SPARSEBIT_TEST_TIMEOUT 12000)
endif()
# OpenMP's threads spin while they wait for one another: on a busy machine, for a whole time slice at
# every loop, which made tests with two threads take six times their CPU time.
set(SPARSEBIT_TEST_ENVIRONMENT
    SPARSEBIT_TEST_CPU_SECONDS=${SPARSEBIT_TEST_CPU_SECONDS} OMP_WAIT_POLICY=passive)

if(SPARSEBIT_SANITIZE STREQUAL "thread")
  list(APPEND SPARSEBIT_TEST_ENVIRONMENT
       TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tools/tsan.supp OMP_NUM_THREADS=1)
endif()

# sparsebit_add_test(fx SOURCES graph_test.cpp DEPENDS sparsebit::fx)
# One test program and one ctest entry per folder, because starting a libtorch process costs half a
# second, or per group of files where a folder's tests take longer than a minute of CPU time.
# Its files are compiled together, so each has a namespace of its own, called like the file.
function(sparsebit_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LABELS;FIXTURES")
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  add_executable(${name}_test ${arg_SOURCES})
  target_link_libraries(${name}_test PRIVATE sparsebit_test_main ${arg_DEPENDS})
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
  target_precompile_headers(${name}_test REUSE_FROM sparsebit_test_pch)
  sparsebit_compile_together(${name}_test)
  add_test(NAME ${name} COMMAND ${name}_test --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABELS}"
    TIMEOUT ${SPARSEBIT_TEST_TIMEOUT}
    ENVIRONMENT "${SPARSEBIT_TEST_ENVIRONMENT}"
    FIXTURES_REQUIRED "${arg_FIXTURES}")
endfunction()
