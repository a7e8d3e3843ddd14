#pragma once
// A vector whose memory is inside the object: a step of a machine returns its actions in one, without touching the
// heap. The code that chooses the capacity proves that it is enough (a node's step emits at most fanout + 1 actions).
// One more element is a mistake of ours and fails an assertion.
#include <cassert>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <utility>

namespace sumac {

template <class T, std::size_t N>
class InlineVec {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  InlineVec() noexcept = default;
  InlineVec(std::initializer_list<T> items) {
    for (const auto& item : items) push_back(item);
  }
  InlineVec(const InlineVec& other) {
    for (const auto& item : other) push_back(item);
  }
  InlineVec(InlineVec&& other) noexcept {
    for (auto& item : other) push_back(std::move(item));
    other.clear();
  }
  InlineVec& operator=(const InlineVec& other) {
    if (this == &other) return *this;
    clear();
    for (const auto& item : other) push_back(item);
    return *this;
  }
  InlineVec& operator=(InlineVec&& other) noexcept {
    if (this == &other) return *this;
    clear();
    for (auto& item : other) push_back(std::move(item));
    other.clear();
    return *this;
  }
  ~InlineVec() { clear(); }

  template <class... Args>
  T& emplace_back(Args&&... args) {
    assert(size_ < N && "InlineVec is full");
    T* slot = std::construct_at(data() + size_, std::forward<Args>(args)...);
    ++size_;
    return *slot;
  }
  void push_back(const T& item) { emplace_back(item); }
  void push_back(T&& item) { emplace_back(std::move(item)); }
  void pop_back() noexcept {
    assert(size_ > 0);
    std::destroy_at(data() + --size_);
  }
  void clear() noexcept {
    while (size_ > 0) pop_back();
  }

  static constexpr std::size_t capacity() noexcept { return N; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  bool full() const noexcept { return size_ == N; }
  T* data() noexcept { return std::launder(reinterpret_cast<T*>(storage_)); }
  const T* data() const noexcept { return std::launder(reinterpret_cast<const T*>(storage_)); }
  T& operator[](std::size_t i) noexcept { return assert(i < size_), data()[i]; }
  const T& operator[](std::size_t i) const noexcept { return assert(i < size_), data()[i]; }
  T& back() noexcept { return (*this)[size_ - 1]; }
  const T& back() const noexcept { return (*this)[size_ - 1]; }
  iterator begin() noexcept { return data(); }
  iterator end() noexcept { return data() + size_; }
  const_iterator begin() const noexcept { return data(); }
  const_iterator end() const noexcept { return data() + size_; }

  friend bool operator==(const InlineVec& a, const InlineVec& b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (!(a[i] == b[i])) return false;
    return true;
  }

 private:
  alignas(T) std::byte storage_[N * sizeof(T)];
  std::size_t size_ = 0;
};

}  // namespace sumac
