# Every dependency comes from a distribution package; see deploy/install-deps.sh.
find_package(Threads REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
find_package(SQLite3 REQUIRED)
find_package(yaml-cpp CONFIG REQUIRED)
if(NOT TARGET yaml-cpp::yaml-cpp)  # yaml-cpp before 0.8
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()

if(RINGSHIFT_GRPC)
  # Newer systems have a CONFIG package that names Abseil; Debian 12 has only CMake's module.
  find_package(Protobuf CONFIG QUIET)
  if(NOT Protobuf_FOUND)
    find_package(Protobuf REQUIRED)
  endif()
  find_package(gRPC CONFIG REQUIRED)
  find_package(prometheus-cpp CONFIG REQUIRED)
  find_package(CLI11 CONFIG REQUIRED)
  pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)  # an HTTP client
endif()

if(RINGSHIFT_TESTS)
  find_package(GTest CONFIG REQUIRED)
  if(RINGSHIFT_GRPC)
    find_package(benchmark CONFIG REQUIRED)
  endif()
endif()
