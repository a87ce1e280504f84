ringshift_test(ringctl_test SOURCES ringctl_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_process ringshift::routing ringshift::proto)
add_dependencies(ringctl_test ringctl)

ringshift_test(ringctl_online_test SOURCES ringctl_online_test.cc LABELS integration
               DEPS ringshift_testing ringshift_test_router ringshift::proto)
add_dependencies(ringctl_online_test ringctl)
