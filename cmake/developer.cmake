# Targets for people working on Patchbay: format, format-check, tidy.
file(GLOB_RECURSE PATCHBAY_FORMATTED CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/include/*.h ${PROJECT_SOURCE_DIR}/src/*.h ${PROJECT_SOURCE_DIR}/src/*.cpp ${PROJECT_SOURCE_DIR}/src/*.c
  ${PROJECT_SOURCE_DIR}/tests/*.h ${PROJECT_SOURCE_DIR}/tests/*.cpp ${PROJECT_SOURCE_DIR}/bench/*.cpp ${PROJECT_SOURCE_DIR}/examples/*.cpp)
find_program(CLANG_FORMAT NAMES clang-format-19)
if(CLANG_FORMAT)
  add_custom_target(format COMMAND ${CLANG_FORMAT} -i ${PATCHBAY_FORMATTED})
  add_custom_target(format-check COMMAND ${CLANG_FORMAT} --dry-run --Werror ${PATCHBAY_FORMATTED})
endif()
find_program(RUN_CLANG_TIDY NAMES run-clang-tidy-19)
if(RUN_CLANG_TIDY)
  add_custom_target(tidy COMMAND ${RUN_CLANG_TIDY} -quiet -p ${PROJECT_BINARY_DIR} "${PROJECT_SOURCE_DIR}/src/.*")
endif()
