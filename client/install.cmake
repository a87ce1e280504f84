# `cmake --install BUILD --component client` puts the client library where find_package(ringshift) looks.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ringshift)
# ringshift::proto is what the archive of the client needs to be linked with; its headers stay here.
install(TARGETS ringshift_client ringshift_fake_client ringshift_proto
        EXPORT ringshiftTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT client
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT client)
install(EXPORT ringshiftTargets NAMESPACE ringshift:: DESTINATION ${package_dir} COMPONENT client)

configure_package_config_file(ringshiftConfig.cmake.in ringshiftConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change what users see, after it only a major one.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(ringshiftConfigVersion.cmake COMPATIBILITY ${compatibility})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ringshiftConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/ringshiftConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT client)
