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

# sparsebit_add_test(fx SOURCES graph_test.cpp DEPENDS sparsebit::fx)
# One test binary and one ctest entry per folder: starting a libtorch process costs half a second.
# Its files are compiled together, so each has a namespace of its own, called like the file.
function(sparsebit_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;DEPENDS;LABELS;FIXTURES")
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  add_executable(${name}_test ${arg_SOURCES})
  target_link_libraries(${name}_test PRIVATE sparsebit_test_support ${arg_DEPENDS})
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
  target_precompile_headers(${name}_test REUSE_FROM sparsebit_test_pch)
  sparsebit_compile_together(${name}_test)
  add_test(NAME ${name} COMMAND ${name}_test --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
                       FIXTURES_REQUIRED "${arg_FIXTURES}")
endfunction()
