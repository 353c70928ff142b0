// `--output FILE`: where a command puts what is not text, instead of on stdout.
#pragma once

#include <string>
#include <vector>

#include <patchbay/types.h>

#include "cli/io.h"

namespace patchbay::cli {

struct OutputPart {
  std::string bytes;
  std::string kind;  // "image/png"
};

// What of a result is not text: images, sound and files, decoded. Errc::protocol when one is not base64.
std::vector<OutputPart> binary_parts(const std::vector<Content>& content);
// How many there are, decoded or not.
std::size_t binary_count(const std::vector<Content>& content);
OutputPart binary_part(const ResourceContents& contents);

// Before the call is made: nothing is carried out whose result could not be kept.
void check_output(const std::string& file);
// The first part to out.png, which is replaced, others to out.2.png and so on, which must be new; says so on stderr.
void write_output(const std::string& file, const std::vector<OutputPart>& parts, Io& io, bool quiet);

}  // namespace patchbay::cli
