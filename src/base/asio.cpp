// Boost.Asio's own code, compiled here once for the whole library.
#include <boost/asio/impl/src.hpp>
