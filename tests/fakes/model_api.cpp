// A model API for tests that start processes: what support/model_api.h does, with its script in a file.
//   model-api SCRIPT RECORD
// Prints its port, appends every request to RECORD as one line of JSON (method, path, headers, body) before it is
// answered, and ends when its input does.
#include "support/model_api.h"

#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <mutex>
#include <string>

using patchbay::test::ModelApi;
using patchbay::test::ModelApiRequest;

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: model-api SCRIPT RECORD\n";
    return 2;
  }
  std::ifstream file(argv[1]);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto replies = patchbay::test::read_model_api_script(text);
  if (!replies) {
    std::cerr << argv[1] << ": " << replies.error().message() << "\n";
    return 2;
  }
  std::mutex mutex;
  std::ofstream record(argv[2], std::ios::app);
  ModelApi api(std::move(*replies), [&](const ModelApiRequest& request) {
    const auto line = patchbay::to_text(to_json(request)) + "\n";
    std::lock_guard lock(mutex);
    record << line << std::flush;
  });
  std::cout << api.port() << std::endl;
  std::cin.ignore(std::numeric_limits<std::streamsize>::max());
}
