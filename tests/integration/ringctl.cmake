# ringctl against a real router, against one that answers what a test wants, or alone.
function(ringctl_test NAME)
  ringshift_test(${NAME} SOURCES ${NAME}.cc LABELS integration
                 DEPS ringshift_testing ringshift::proto ${ARGN})
  add_dependencies(${NAME} ringctl)
endfunction()

ringctl_test(ringctl_test ringshift_test_process ringshift::routing)
ringctl_test(ringctl_agreement_test ringshift_test_router ringshift::migration)
foreach(name IN ITEMS online topology)
  ringctl_test(ringctl_${name}_test ringshift_test_router)
endforeach()
foreach(name IN ITEMS admin document holders mapping migration planning)
  ringctl_test(ringctl_${name}_test ringshift_test_process)
endforeach()
