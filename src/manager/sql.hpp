#pragma once
// Wraps SQLite's C interface with owners and Results: statements that bind and read by position, and transactions that
// roll back.
#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace sumac::manager::sql {

inline Errc code_of(int sqlite) noexcept {
  switch (sqlite & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return Errc::exists;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_SCHEMA:
    case SQLITE_ERROR: return Errc::invalid;  // Our statements are correct, so the file lacks a table or a column.
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY: return Errc::denied;
    case SQLITE_NOMEM: return Errc::no_memory;
    default: return Errc::io;
  }
}

inline tl::unexpected<Error> failure(sqlite3* db, std::string_view what) {
  // The message must be one line, even if the statement has several, or if names in the file contain line ends.
  std::string text;
  for (const char c : fmt::format("{:.200}: {}", what, sqlite3_errmsg(db)))
    if (const bool blank = static_cast<unsigned char>(c) <= ' '; !blank || (!text.empty() && text.back() != ' '))
      text += blank ? ' ' : c;
  return fail(code_of(sqlite3_errcode(db)), "{}", text);
}

inline Result<> execute(sqlite3* db, const char* text) {
  if (sqlite3_exec(db, text, nullptr, nullptr, nullptr) != SQLITE_OK) return failure(db, text);
  return {};
}

/// One statement, to be used once.
class Statement {
 public:
  Statement(sqlite3* db, std::string_view text) : db_(db), text_(text) {
    sqlite3_stmt* raw = nullptr;
    sqlite3_prepare_v2(db, text_.data(), static_cast<int>(text_.size()), &raw, nullptr);
    statement_.reset(raw);  // If there is no statement, step() reports the reason.
  }
  /// SQLite's integers are signed; the 64 bits are stored unchanged.
  Statement& bind(std::uint64_t value) {
    sqlite3_bind_int64(statement_.get(), ++bound_, static_cast<sqlite3_int64>(value));
    return *this;
  }
  Statement& bind(std::string_view value) {
    sqlite3_bind_text(statement_.get(), ++bound_, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind(std::span<const std::uint8_t> value) {
    ++bound_;
    if (value.empty())  // For an empty value the data pointer is null, which SQLite would store as NULL.
      sqlite3_bind_zeroblob(statement_.get(), bound_, 0);
    else
      sqlite3_bind_blob(statement_.get(), bound_, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
    return *this;
  }
  /// Executes one step. Returns true for a row, and false at the end.
  Result<bool> step() {
    if (!statement_) return failure(db_, text_);
    const int rc = sqlite3_step(statement_.get());
    if (rc == SQLITE_ROW) return true;
    if (rc == SQLITE_DONE) return false;
    return failure(db_, text_);
  }
  Result<> run() {
    auto done = step();
    if (!done) return tl::unexpected(done.error());
    return {};
  }
  std::uint64_t number(int column) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_.get(), column));
  }
  std::uint32_t small(int column) const { return static_cast<std::uint32_t>(number(column)); }
  std::string text(int column) const {
    const auto* raw = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
    return raw == nullptr ? ""
                          : std::string(raw, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)));
  }
  std::vector<std::uint8_t> blob(int column) const {
    const auto* raw = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_.get(), column));
    if (raw == nullptr) return {};
    return {raw, raw + sqlite3_column_bytes(statement_.get(), column)};
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* s) const noexcept { sqlite3_finalize(s); }
  };
  sqlite3* db_;
  std::string_view text_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

/// Rolls back unless commit() has succeeded.
class Transaction {
 public:
  static Result<Transaction> begin(sqlite3* db) {
    if (auto begun = execute(db, "BEGIN IMMEDIATE"); !begun) return tl::unexpected(begun.error());
    return Transaction(db);
  }
  Transaction(Transaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction() {
    if (db_ != nullptr) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Result<> commit() {
    auto done = execute(db_, "COMMIT");
    if (done) db_ = nullptr;
    return done;
  }

 private:
  explicit Transaction(sqlite3* db) : db_(db) {}
  sqlite3* db_;
};

}  // namespace sumac::manager::sql
