# Installs the program, the library, its headers and what find_package and pkg-config need.
# The warden installs itself (src/net/warden).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS patchbay EXPORT patchbay ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/patchbay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
if(TARGET patchbay_cli)
  install(TARGETS patchbay_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/patchbay)
install(EXPORT patchbay NAMESPACE patchbay:: FILE patchbayTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/patchbayConfig.cmake.in ${PROJECT_BINARY_DIR}/patchbayConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/patchbayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/patchbayConfig.cmake ${PROJECT_BINARY_DIR}/patchbayConfigVersion.cmake
  DESTINATION ${package_dir})

file(RELATIVE_PATH PATCHBAY_PC_TO_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(${CMAKE_CURRENT_LIST_DIR}/patchbay.pc.in ${PROJECT_BINARY_DIR}/patchbay.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/patchbay.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
