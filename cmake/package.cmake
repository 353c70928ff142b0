# Two Debian packages, made by `cpack -G DEB` in a build tree: patchbay (the program) and
# libpatchbay-dev (the library). ./test --only=package builds and uses them.
set(PATCHBAY_PACKAGE_CONTACT "Patchbay maintainers <maintainers@patchbay.invalid>" CACHE STRING
  "Maintainer named in the Debian packages")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT ${PATCHBAY_PACKAGE_CONTACT})
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
# Only programs are stripped by that; the archive keeps its symbols and loses its line numbers.
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/package_finish.cmake)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME patchbay)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
# Loaded by name when HTTP is used, which dpkg-shlibdeps does not see.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS libcurl4)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS bubblewrap)  # sandboxes: docs/sandbox.md
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "libsecret-1-0, libzstd1")  # the system keyring, docs/adr/0022; smaller results, docs/adr/0026
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "connects agents and people to MCP servers
Starts the servers that a configuration names, finds out which revision of
the Model Context Protocol each speaks, lists their tools, resources and
prompts, calls them, and leaves no process behind. A server with tools for
files, search and commands is built in.")

# A static library is linked where it is used, so whoever installs it needs what it was
# compiled against: the same versions, as far as their interfaces are bound to them.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libpatchbay-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# same_version(VARIABLE PACKAGE VERSION): "PACKAGE (>= VERSION), PACKAGE (<< the next one)".
function(same_version variable package version)
  string(REGEX MATCH "^(.*\\.)?([0-9]+)$" matched ${version})
  math(EXPR next "${CMAKE_MATCH_2} + 1")
  set(${variable} "${package} (>= ${version}), ${package} (<< ${CMAKE_MATCH_1}${next})" PARENT_SCOPE)
endfunction()
string(REGEX MATCH "^[0-9]+" fmt_major ${fmt_VERSION})
same_version(fmt_package libfmt-dev ${fmt_major})
string(REGEX MATCH "^[0-9]+\\.[0-9]+" simdjson_minor ${simdjson_VERSION})
same_version(simdjson_package libsimdjson-dev ${simdjson_minor})
# RE2 counts in dates, and only its package knows which one it is.
set(re2_package "libre2-dev (>= 20220601)")
find_program(PATCHBAY_DPKG_QUERY dpkg-query)
if(PATCHBAY_DPKG_QUERY)
  execute_process(COMMAND ${PATCHBAY_DPKG_QUERY} -W -f "\${Version}" libre2-dev OUTPUT_VARIABLE re2_version ERROR_QUIET)
  if(re2_version MATCHES "^([0-9]+)")
    same_version(re2_package libre2-dev ${CMAKE_MATCH_1})
  endif()
endif()
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libboost${Boost_VERSION_MAJOR}.${Boost_VERSION_MINOR}-dev, ${fmt_package}, \
${simdjson_package}, ${re2_package}, libpcre2-dev (>= 10.40), libyaml-dev (>= 0.2.5), libssl-dev (>= 3.0)")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "libcurl4, libsecret-1-0, libzstd1")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "patchbay, clang-19, pkg-config, cmake")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "connects programs to MCP servers (static library)
Headers and static library of Patchbay: any number of servers of the Model
Context Protocol behind one catalog of tools, with coroutines (clang 19, g++ 14)
or without (g++ 12 too). CMake and pkg-config find it.")

# What Debian expects beside every package's files.
string(TIMESTAMP package_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(debian_dir ${PROJECT_BINARY_DIR}/debian)
configure_file(${CMAKE_CURRENT_LIST_DIR}/debian/changelog.in ${debian_dir}/changelog.Debian @ONLY)
find_program(PATCHBAY_GZIP gzip)
if(PATCHBAY_GZIP)
  add_custom_command(OUTPUT ${debian_dir}/changelog.Debian.gz
    COMMAND ${PATCHBAY_GZIP} -9nkf changelog.Debian WORKING_DIRECTORY ${debian_dir}
    DEPENDS ${debian_dir}/changelog.Debian VERBATIM)
  add_custom_target(patchbay_debian_files ALL DEPENDS ${debian_dir}/changelog.Debian.gz)
endif()
# Laid into the package only: other installs have no use for them.
set(CPACK_PATCHBAY_DEBIAN_FILES ${debian_dir}/changelog.Debian.gz ${CMAKE_CURRENT_LIST_DIR}/debian/copyright)
include(CPack)
