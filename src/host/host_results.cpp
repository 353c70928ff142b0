// Results for a model, and reading in kept ones: what of it concerns the host as a whole.
#include <patchbay/host.h>

#include "host/host_impl.h"

namespace patchbay {

Task<void> Host::Impl::insert_results(Payload& arguments, std::string principal) const {
  arguments = co_await results_.inserted(arguments, std::move(principal), runtime_.limits.message);
  check_running();
}

Task<ModelResult> Host::for_model(std::string tool, CallToolResult result, std::string principal) {
  auto impl = impl_;
  const auto entry = impl->find_now(tool);
  auto meta = entry ? entry->tool->meta : Json();
  if (entry) tool = entry->name;
  co_return co_await impl->results_.for_model(std::move(tool), std::move(meta), std::move(result), std::move(principal),
                                              impl->runtime_);
}

Task<ResultPart> Host::read_result(ResultQuery query, std::string principal) {
  auto impl = impl_;
  co_return co_await impl->results_.read(std::move(query), std::move(principal));
}

void Host::set_conversation(std::string conversation) { impl_->results_.set_conversation(std::move(conversation)); }

}  // namespace patchbay
