#pragma once
// The table of connections and the queue of their events, which the backends share. An id is (generation << 16 | slot).
// Free slots are reused in the order in which they were freed, so that a late call with the id of a closed connection
// finds no connection, rather than a new one.
#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "net/transport.hpp"

namespace sumac::net {

/// `Connection` must have `ConnId id`, `bool is_disowned()` (closed by its user while bytes are still going out) and
/// `Error take_why()`, which says how it ended.
template <class Connection>
class ConnTable {
 public:
  static constexpr std::uint32_t kSlotBits = 16, kSlotMask = (1u << kSlotBits) - 1;

  explicit ConnTable(std::size_t limit) : limit_(std::min<std::size_t>(limit, kSlotMask - 1)) {}

  bool full() const noexcept { return size_ >= limit_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t limit() const noexcept { return limit_; }

  Connection* find(ConnId conn) const noexcept {
    const std::uint32_t slot = conn.value & kSlotMask;
    if (slot == 0 || slot > slots_.size()) return nullptr;
    const Slot& s = slots_[slot - 1];
    return s.conn != nullptr && s.conn->id == conn ? s.conn.get() : nullptr;
  }

  /// Adds a connection. make(ConnId) must return its unique_ptr.
  template <class Make>
  Connection& add(Make&& make) {
    std::uint32_t slot;
    if (slots_.size() < limit_ || free_.empty()) {  // Slots that were never used come first.
      slots_.emplace_back();
      slot = static_cast<std::uint32_t>(slots_.size());
    } else {
      slot = free_.front();
      free_.pop_front();
    }
    Slot& s = slots_[slot - 1];
    s.conn = make(ConnId{static_cast<std::uint32_t>(s.generation) << kSlotBits | slot});
    ++size_;
    return *s.conn;
  }

  void erase(Connection& conn) {
    const std::uint32_t slot = conn.id.value & kSlotMask;
    Slot& s = slots_[slot - 1];
    s.conn.reset();
    ++s.generation;
    free_.push_back(slot);
    --size_;
  }

  /// Visits every connection. `visit` must not add or erase any.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const Slot& slot : slots_)
      if (slot.conn != nullptr) visit(*slot.conn);
  }

 private:
  struct Slot {
    std::unique_ptr<Connection> conn;
    std::uint16_t generation = 0;
  };
  std::size_t limit_, size_ = 0;
  std::vector<Slot> slots_;
  std::deque<std::uint32_t> free_;
};

/// The events that are not delivered yet. I/O fills the queue and deliver() empties it, so a callback may close any
/// connection.
class EventQueue {
 public:
  enum class Kind : std::uint8_t { accepted, connected, message, placed, closed, writable };

  bool empty() const noexcept { return next_ == events_.size(); }
  std::size_t size() const noexcept { return events_.size() - next_; }
  void note(Kind kind, ConnId conn, BufferRef frame = {}) { events_.push_back(Event{kind, conn, std::move(frame)}); }
  struct Event {
    Kind kind;
    ConnId conn;
    BufferRef frame;
  };
  /// This connection's `placed` event, of which at most one waits; null if it has none.
  Event* placed(ConnId conn) noexcept {
    for (std::size_t i = next_; i < events_.size(); ++i)
      if (events_[i].kind == Kind::placed && events_[i].conn == conn) return &events_[i];
    return nullptr;
  }

  /// drop(Connection&) frees a connection after its end was delivered.
  template <class Connection, class Drop>
  std::size_t deliver(const ConnTable<Connection>& table, TransportEvents& to, std::size_t budget, Drop&& drop) {
    std::size_t delivered = 0;
    while (next_ < events_.size() && delivered < budget) {
      Event event = std::move(events_[next_++]);
      Connection* conn = table.find(event.conn);
      if (conn == nullptr) continue;  // The user of the connection has closed it meanwhile.
      if (conn->is_disowned()) {
        if (event.kind == Kind::closed) drop(*conn);
        continue;
      }
      ++delivered;
      switch (event.kind) {
        case Kind::accepted: to.on_accepted(event.conn); break;
        case Kind::connected: to.on_connected(event.conn); break;
        case Kind::message: to.on_message(event.conn, std::move(event.frame)); break;
        case Kind::placed: to.on_placed(event.conn, std::move(event.frame)); break;
        case Kind::writable: to.on_writable(event.conn); break;
        case Kind::closed: {
          const Error why = conn->take_why();
          drop(*conn);
          to.on_closed(event.conn, why);
          break;
        }
      }
    }
    if (empty()) {
      events_.clear();
      next_ = 0;
    }
    return delivered;
  }

 private:
  std::vector<Event> events_;
  std::size_t next_ = 0;
};

}  // namespace sumac::net
