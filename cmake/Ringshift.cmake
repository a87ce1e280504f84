include(GoogleTest)

set(RINGSHIFT_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(RINGSHIFT_WERROR)
  list(APPEND RINGSHIFT_WARNINGS -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND RINGSHIFT_WARNINGS -Wno-restrict)  # false on `"literal" + std::string` (GCC bug 105651)
endif()

# ringshift_library(NAME SOURCES file... [DEPS target...]): a folder's library, `ringshift::NAME`.
function(ringshift_library NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(ringshift_${NAME} STATIC ${ARG_SOURCES})
  add_library(ringshift::${NAME} ALIAS ringshift_${NAME})
  target_include_directories(ringshift_${NAME} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_options(ringshift_${NAME} PRIVATE ${RINGSHIFT_WARNINGS})
  target_link_libraries(ringshift_${NAME} PUBLIC ${ARG_DEPS})
endfunction()

# ringshift_binary(NAME SOURCES file... [DEPS target...]): a program in bin/.
function(ringshift_binary NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${NAME} ${ARG_SOURCES})
  target_compile_options(${NAME} PRIVATE ${RINGSHIFT_WARNINGS})
  target_link_libraries(${NAME} PRIVATE ${ARG_DEPS})
endfunction()

# ringshift_test(NAME SOURCES file... [DEPS target...] [LABELS label...] [TIMEOUT seconds]): one
# executable, its cases listed one by one in ctest. RINGSHIFT_SOURCE_DIR and RINGSHIFT_BIN_DIR are
# defined for test data and for the binaries under test. RINGSHIFT_TEST_OPTIONS are for the compiler.
function(ringshift_test NAME)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${NAME} ${ARG_SOURCES})
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/bin)
  target_compile_options(${NAME} PRIVATE ${RINGSHIFT_WARNINGS} ${RINGSHIFT_TEST_OPTIONS})
  target_compile_definitions(${NAME} PRIVATE RINGSHIFT_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                             RINGSHIFT_BIN_DIR="${CMAKE_BINARY_DIR}/bin")
  target_link_libraries(${NAME} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${NAME} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
