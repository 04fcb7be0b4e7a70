# find_package(sparsebit) + target sparsebit::sparsebit for other projects.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(modules GLOBAL PROPERTY SPARSEBIT_MODULES)
list(REMOVE_ITEM modules sparsebit_cli)  # the command, not part of the library

add_library(sparsebit_all INTERFACE)
target_link_libraries(sparsebit_all INTERFACE ${modules})
set_target_properties(sparsebit_all PROPERTIES EXPORT_NAME sparsebit)
add_library(sparsebit::sparsebit ALIAS sparsebit_all)

install(TARGETS sparsebit RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# The launcher looks for it there, beside the folder of the launcher.
install(TARGETS sparsebit_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}/../libexec/sparsebit)
install(TARGETS sparsebit_all sparsebit_flags ${modules} EXPORT sparsebit-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
get_property(command_files TARGET sparsebit PROPERTY SPARSEBIT_COMMAND_FILES)
install(FILES ${command_files}/sparsebit.bash RENAME sparsebit
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${command_files}/_sparsebit DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${command_files}/sparsebit.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
# `sparsebit certify` looks for ONNX Runtime, and names this script where there is none.
install(PROGRAMS ${PROJECT_SOURCE_DIR}/scripts/install_onnxruntime.sh
        DESTINATION ${CMAKE_INSTALL_DATADIR}/sparsebit)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        PATTERN cli EXCLUDE)
install(EXPORT sparsebit-targets NAMESPACE sparsebit::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sparsebit)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/sparsebit-config.cmake.in
  ${PROJECT_BINARY_DIR}/sparsebit-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sparsebit)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sparsebit-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sparsebit-config.cmake
              ${PROJECT_BINARY_DIR}/sparsebit-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sparsebit)

# sparsebit.pc for builds without CMake. Modules are listed in the order of add_subdirectory(), each
# after those it uses; a linker wants static libraries the other way round.
set(SPARSEBIT_PC_LIBS "")
foreach(module IN LISTS modules)
  string(PREPEND SPARSEBIT_PC_LIBS " -l${module}")
endforeach()
foreach(folder IN LISTS TORCH_INCLUDE_DIRS)
  if(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    string(APPEND SPARSEBIT_PC_CFLAGS " -isystem ${folder}")
  endif()
endforeach()
get_filename_component(torch_folder "${TORCH_LIBRARY}" DIRECTORY)
if(NOT torch_folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
  string(APPEND SPARSEBIT_PC_LIBS " -L${torch_folder}")
endif()
# These have no .pc files of their own.
string(APPEND SPARSEBIT_PC_LIBS
  " -lonnx -lonnx_proto -lopencv_imgcodecs -lopencv_imgproc -lopencv_core"
  " -ltorch -ltorch_cpu -lc10 -lglog -lgflags")
file(RELATIVE_PATH SPARSEBIT_PC_INCLUDEDIR
  /${CMAKE_INSTALL_LIBDIR}/pkgconfig /${CMAKE_INSTALL_INCLUDEDIR})
configure_file(${PROJECT_SOURCE_DIR}/cmake/sparsebit.pc.in ${PROJECT_BINARY_DIR}/sparsebit.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/sparsebit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
