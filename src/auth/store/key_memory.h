// Memory for keys and for what they open: pages of its own that are kept out of core files (MADV_DONTDUMP), out of swap
// as far as the limits of the process allow it (mlock), and wiped before they are given back. Covered are the keys, the
// key file, and the open content of the encrypted file. A Secret that is handed out is ordinary memory, wiped when it
// goes: a program that must have no secret in its core files has to switch them off. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace patchbay {

class KeyMemory {
 public:
  KeyMemory() = default;
  explicit KeyMemory(std::size_t size);  // zeros
  explicit KeyMemory(std::string_view content);
  KeyMemory(KeyMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  KeyMemory& operator=(KeyMemory&& other) noexcept;
  ~KeyMemory();

  std::span<std::uint8_t> bytes() noexcept { return {data_, size_}; }
  std::span<const std::uint8_t> bytes() const noexcept { return {data_, size_}; }
  std::string_view text() const noexcept { return {reinterpret_cast<const char*>(data_), size_}; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

 private:
  void release() noexcept;

  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace patchbay
