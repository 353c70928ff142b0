#include "auth/store/key_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "base/crypto.h"

namespace patchbay {

KeyMemory::KeyMemory(std::size_t size) {
  if (size == 0) return;
  void* pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  // Both are best effort: a process may have no right to lock memory, and its keys still work.
  (void)::madvise(pages, size, MADV_DONTDUMP);
  (void)::mlock(pages, size);
  data_ = static_cast<std::uint8_t*>(pages);
  size_ = size;
}

KeyMemory::KeyMemory(std::string_view content) : KeyMemory(content.size()) {
  std::ranges::copy(content, reinterpret_cast<char*>(data_));
}

KeyMemory& KeyMemory::operator=(KeyMemory&& other) noexcept {
  if (this == &other) return *this;
  release();
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

KeyMemory::~KeyMemory() { release(); }

void KeyMemory::release() noexcept {
  if (data_ == nullptr) return;
  wipe(bytes());
  (void)::munmap(data_, size_);
  data_ = nullptr;
  size_ = 0;
}

}  // namespace patchbay
