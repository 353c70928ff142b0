# Installs the program, the library, its headers and what find_package and pkg-config need.
# The warden installs itself (src/process/warden). Two components, which are also the two Debian
# packages: runtime is the program, development the library.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS patchbay EXPORT patchbay ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/patchbay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.h")
if(TARGET patchbay_cli)
  install(TARGETS patchbay_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)

  # The program writes its own manual page and completions: one table of flags makes them all.
  set(written ${PROJECT_BINARY_DIR}/share)
  file(MAKE_DIRECTORY ${written})
  add_custom_command(
    OUTPUT ${written}/patchbay.1 ${written}/patchbay.bash ${written}/_patchbay ${written}/patchbay.fish
    COMMAND patchbay_cli man > ${written}/patchbay.1
    COMMAND patchbay_cli completion bash > ${written}/patchbay.bash
    COMMAND patchbay_cli completion zsh > ${written}/_patchbay
    COMMAND patchbay_cli completion fish > ${written}/patchbay.fish
    DEPENDS patchbay_cli
    COMMENT "Writing the manual page and the completions"
    VERBATIM)
  add_custom_target(patchbay_share ALL DEPENDS ${written}/patchbay.1)
  install(FILES ${written}/patchbay.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime)
  install(FILES ${written}/patchbay.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME patchbay
    COMPONENT runtime)
  install(FILES ${written}/_patchbay DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT runtime)
  install(FILES ${written}/patchbay.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT runtime)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/patchbay)
install(EXPORT patchbay NAMESPACE patchbay:: FILE patchbayTargets.cmake DESTINATION ${package_dir}
  COMPONENT development)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/patchbayConfig.cmake.in ${PROJECT_BINARY_DIR}/patchbayConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/patchbayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/patchbayConfig.cmake ${PROJECT_BINARY_DIR}/patchbayConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT development)

file(RELATIVE_PATH PATCHBAY_PC_TO_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(${CMAKE_CURRENT_LIST_DIR}/patchbay.pc.in ${PROJECT_BINARY_DIR}/patchbay.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/patchbay.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# Each component with its own copy of the terms, because each may come alone.
foreach(pair runtime=patchbay development=libpatchbay-dev)
  string(REGEX MATCH "^([a-z]+)=(.*)$" matched ${pair})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CMAKE_MATCH_2}
    COMPONENT ${CMAKE_MATCH_1})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/patchbay COMPONENT runtime)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libpatchbay-dev
  COMPONENT development)
