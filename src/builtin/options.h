// What whoever starts the built-in server decides about it, and the bounds of its tools.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>

#include "base/runtime.h"

namespace patchbay {

struct BuiltinLimits {
  // every file tool
  std::chrono::milliseconds file_time{60'000};
  // read_file
  std::size_t read_lines = 2000;
  std::size_t read_bytes = 256u << 10;
  std::size_t read_through = 1u << 30;  // for the first line that is asked for
  std::size_t image_bytes = 5u << 20;
  // write_file, edit_file
  std::size_t edit_bytes = 16u << 20;  // before and after
  // list_dir, glob, grep
  std::size_t entries = 1000;           // shown
  std::size_t visited = 200'000;        // directory entries looked at in one call
  std::size_t depth = 100;              // of directories
  std::size_t matches = 200;            // of grep, unless it asks for more
  std::size_t most_matches = 2000;      // that it can ask for
  std::size_t search_file = 64u << 20;  // larger files are not searched
  std::size_t search_total = 1u << 30;  // read by one search
  std::size_t search_output = 256u << 10;
  std::size_t line_bytes = 500;  // of a line that grep shows
  // run_command
  std::size_t run_output = 100'000;  // kept of stdout and of stderr
  std::chrono::seconds run_time{120};
  std::chrono::seconds most_run_time{600};
};

struct BuiltinOptions {
  std::filesystem::path root;  // every path of every tool lies beneath it
  bool allow_run = false;      // offers run_command, which is not confined to the root
  BuiltinLimits limits;
  Runtime runtime;
};

}  // namespace patchbay
