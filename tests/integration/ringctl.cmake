ringshift_test(ringctl_test SOURCES ringctl_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_process ringshift::routing ringshift::proto)
add_dependencies(ringctl_test ringctl)

ringshift_test(ringctl_online_test SOURCES ringctl_online_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_router ringshift::proto)
add_dependencies(ringctl_online_test ringctl)

ringshift_test(ringctl_topology_test SOURCES ringctl_topology_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_router ringshift::proto)
add_dependencies(ringctl_topology_test ringctl)

ringshift_test(ringctl_admin_test SOURCES ringctl_admin_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_process ringshift::proto)
add_dependencies(ringctl_admin_test ringctl)

ringshift_test(ringctl_migration_test SOURCES ringctl_migration_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_process ringshift::proto)
add_dependencies(ringctl_migration_test ringctl)

ringshift_test(ringctl_holders_test SOURCES ringctl_holders_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_process ringshift::proto)
add_dependencies(ringctl_holders_test ringctl)

ringshift_test(ringctl_document_test SOURCES ringctl_document_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_process ringshift::proto)
add_dependencies(ringctl_document_test ringctl)

ringshift_test(ringctl_mapping_test SOURCES ringctl_mapping_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_process ringshift::proto)
add_dependencies(ringctl_mapping_test ringctl)

ringshift_test(ringctl_agreement_test SOURCES ringctl_agreement_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_router ringshift::migration ringshift::proto)
add_dependencies(ringctl_agreement_test ringctl)

ringshift_test(ringctl_planning_test SOURCES ringctl_planning_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_process ringshift::proto)
add_dependencies(ringctl_planning_test ringctl)
