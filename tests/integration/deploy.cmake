# What is in deploy/ and docs/, with the real Prometheus, systemd and nginx.
add_test(NAME PrometheusRules.FireOnWhatTheyAreForAndOnNothingElse
         COMMAND promtool test rules ${CMAKE_CURRENT_SOURCE_DIR}/rules_test.yml)
set_tests_properties(PrometheusRules.FireOnWhatTheyAreForAndOnNothingElse PROPERTIES LABELS integration)

ringshift_test(prometheus_test SOURCES prometheus_test.cc LABELS integration TIMEOUT 300
               DEPS ringshift_testing ringshift_test_router ringshift::proto)

ringshift_test(systemd_test SOURCES systemd_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_router)

ringshift_test(verify_fleet_document_test SOURCES verify_fleet_document_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_process)
add_dependencies(verify_fleet_document_test ringctl)

ringshift_test(migration_document_test SOURCES migration_document_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_router)
add_dependencies(migration_document_test ringctl)

ringshift_test(edge_protocol_document_test SOURCES edge_protocol_document_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_process)

ringshift_test(readme_test SOURCES readme_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_process)
target_compile_definitions(readme_test PRIVATE RINGSHIFT_BUILD_DIR="${CMAKE_BINARY_DIR}")
add_dependencies(readme_test ringctl ringshiftd)

ringshift_test(algorithm_document_test SOURCES algorithm_document_test.cc LABELS integration TIMEOUT 600
               DEPS ringshift_testing ringshift_test_process)
add_dependencies(algorithm_document_test ringctl)

ringshift_test(prometheus_query_test SOURCES prometheus_query_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_process ringshift::prometheus_query PkgConfig::httplib
                    absl::strings)
