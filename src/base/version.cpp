#include <patchbay/version.h>

namespace patchbay {
std::string_view version() noexcept { return PATCHBAY_VERSION; }
}  // namespace patchbay
