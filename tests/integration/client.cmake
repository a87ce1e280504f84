ringshift_test(client_stub_test SOURCES client_stub_test.cc LABELS integration
               DEPS ringshift_testing ringshift::client ringshift::proto absl::synchronization)
ringshift_test(client_router_test SOURCES client_router_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_router ringshift::fake_client ringshift::proto)

# docs/client.md, by an installation of the library.
ringshift_test(client_document_test SOURCES client_document_test.cc LABELS integration TIMEOUT 600
               DEPS ringshift_testing ringshift_test_router)
target_compile_definitions(client_document_test PRIVATE RINGSHIFT_BUILD_DIR="${CMAKE_BINARY_DIR}"
                                                        RINGSHIFT_CXX_COMPILER="${CMAKE_CXX_COMPILER}"
                                                        RINGSHIFT_CXX_FLAGS="${CMAKE_CXX_FLAGS}")
add_dependencies(client_document_test ringshift_client ringshift_fake_client)
