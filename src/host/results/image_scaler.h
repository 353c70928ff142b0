// Makes images of results smaller, so that a model can be given them: each by a process of its own, patchbay-images
// (src/images), which may do nothing but read, compute and write. Looked for as the warden is: the file that
// PATCHBAY_IMAGES names, then libexec/patchbay beside the program or library. Where there is none, or it fails, nothing
// is scaled and a line stands for the image. Used by HostResults; loop thread only.
#pragma once

#include <optional>
#include <string>

#include <patchbay/task.h>

#include "base/runtime.h"
#include "results/scaling.h"

namespace patchbay {

// Empty where there is none.
std::string images_program();

// Nothing when it cannot be made smaller, whatever the reason; the log has it. Bounded in time and size.
Task<std::optional<ScaledImage>> scale_image(std::string program, std::string bytes, ImageToScale wish,
                                             Runtime runtime);

// What images_program() wrote: a line "TYPE WIDTH HEIGHT" and the image. Pure.
std::optional<ScaledImage> read_scaled(const std::string& output, const ImageToScale& wish);

}  // namespace patchbay
