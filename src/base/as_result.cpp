#include "base/as_result.h"

#include <boost/asio/error.hpp>
#include <boost/asio/multiple_exceptions.hpp>
#include <boost/system/system_error.hpp>

namespace patchbay {

Error error_from(std::exception_ptr exception) {
  try {
    std::rethrow_exception(std::move(exception));
  } catch (const Error& error) {
    return error;
  } catch (const boost::system::system_error& error) {
    if (error.code() == asio::error::operation_aborted) return Error(Errc::cancelled, "cancelled");
    if (error.code() == asio::error::eof || error.code() == asio::error::broken_pipe ||
        error.code() == asio::error::connection_reset) {
      return Error(Errc::closed, error.code().message());
    }
    return Error(Errc::internal, error.code().message());
  } catch (const asio::multiple_exceptions& error) {
    // Several things that were raced all failed: that is what cancelling a race looks like
    // when it had not yet begun.
    return error_from(error.first_exception());
  } catch (const std::bad_alloc&) {
    return Error(Errc::limit, "out of memory");
  } catch (const std::exception& error) {
    return Error(Errc::internal, error.what());
  } catch (...) {
    return Error(Errc::internal, "a function threw something that is not a std::exception");
  }
}

}  // namespace patchbay
