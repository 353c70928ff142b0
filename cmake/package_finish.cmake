# Run by CPack between laying the files of the packages out and packing them.
file(GLOB_RECURSE archives ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*.a)
foreach(archive ${archives})
  execute_process(COMMAND strip --strip-debug --enable-deterministic-archives ${archive} COMMAND_ERROR_IS_FATAL ANY)
endforeach()

foreach(pair runtime=patchbay development=libpatchbay-dev)
  string(REGEX MATCH "^([a-z]+)=(.*)$" matched ${pair})
  set(doc ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${CMAKE_MATCH_1}/usr/share/doc/${CMAKE_MATCH_2})
  if(NOT IS_DIRECTORY ${doc})
    message(FATAL_ERROR "nothing was laid out in ${doc}")
  endif()
  file(COPY ${CPACK_PATCHBAY_DEBIAN_FILES} DESTINATION ${doc}
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  # The terms are in copyright, as Debian has it.
  file(REMOVE ${doc}/LICENSE)
endforeach()

# The warden is static on purpose: it must run whatever libraries a server's environment names.
file(WRITE ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/runtime/usr/share/lintian/overrides/patchbay
  "patchbay: statically-linked-binary [usr/libexec/patchbay/patchbay-warden]\n")

file(GLOB_RECURSE pages ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*.1)
file(GLOB_RECURSE changes ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/CHANGELOG.md)
foreach(file ${changes})
  get_filename_component(directory ${file} DIRECTORY)
  file(RENAME ${file} ${directory}/changelog)
  list(APPEND pages ${directory}/changelog)
endforeach()
if(pages)
  execute_process(COMMAND gzip -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()
