# Compiler flags shared by every target of ours.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
set(CMAKE_C_FLAGS_DEBUG "-O0 -g1")

# Symbols are looked up when a program starts, not in the middle of its work, and nobody can write where they stand then.
add_link_options(-Wl,-z,relro,-z,now)

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
    -Wno-missing-field-initializers -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 19)
    add_compile_options(-Wno-missing-designated-field-initializers)
  endif()
  find_program(PATCHBAY_LLD NAMES ld.lld-19 ld.lld)
  if(PATCHBAY_LLD)
    add_link_options(-fuse-ld=${PATCHBAY_LLD} -Wl,--gc-sections)
    add_compile_options(-ffunction-sections -fdata-sections)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wall -Wextra -Wpedantic -Wno-missing-field-initializers -fno-omit-frame-pointer)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>" "$<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>")
  # clang's -Wshadow means locals. Two warnings of g++ 14 are wrong about coroutine frames and std::expected once
  # functions are inlined: Asio's own operator new and delete "mismatch", and members of an empty alternative "may be
  # used uninitialized". clang has neither; the sanitizers look for the real thing.
  add_compile_options(-Wshadow=local -Wno-maybe-uninitialized "$<$<COMPILE_LANGUAGE:CXX>:-Wno-mismatched-new-delete>")
endif()
if(PATCHBAY_WERROR)
  add_compile_options(-Werror)
endif()
if(PATCHBAY_SANITIZE)
  add_compile_options(-fsanitize=${PATCHBAY_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PATCHBAY_SANITIZE} -fno-sanitize-recover=all)
  if(PATCHBAY_SANITIZE MATCHES "fuzzer")
    add_compile_options(-O1)  # comes behind the -O0 of the build type; inputs per second count here
  endif()
endif()

find_program(PATCHBAY_CCACHE ccache)
if(PATCHBAY_CCACHE)
  # These settings are what ccache asks for where precompiled headers are used.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    CCACHE_PCH_EXTSUM=1 CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    ${CMAKE_CURRENT_LIST_DIR}/through_ccache.sh ${PATCHBAY_CCACHE})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
    # Without the header's own name, which CMake adds with its whole path: ccache takes that for
    # a difference between two checkouts.
    set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
  endif()
endif()

# A precompiled header holds the path it was made in, so two checkouts would never share an
# object that was compiled with it. ccache takes this sum for it instead: ours hold system headers alone, which are
# known by the versions they state.
function(patchbay_share_precompiled_header target)
  set(sum "${CMAKE_CXX_COMPILER_VERSION}")
  foreach(file ${PROJECT_SOURCE_DIR}/src/base/pch.h /usr/include/boost/version.hpp /usr/include/fmt/core.h
          /usr/include/gtest/gtest.h /usr/include/gmock/gmock.h)
    if(EXISTS ${file})
      file(SHA256 ${file} content)
      string(APPEND sum " ${content}")
    endif()
  endforeach()
  string(SHA256 sum "${target} ${sum}")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.pch.sum CONTENT "${sum}\n")
endfunction()
