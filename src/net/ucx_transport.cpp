// The set-up of the ucx backend, its connections and its passes; ucx_messages.cpp has the messages.
#include "net/ucx_transport.hpp"

#include <net/if.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>

#include "base/bytes.hpp"
#include "base/host_name.hpp"
#include "base/secret.hpp"
#include "net/address.hpp"
#include "wire/host.hpp"

namespace sumac::net {
namespace {

inline constexpr int kProgressPerPass = 32;

struct ConfigRelease {
  void operator()(ucp_config_t* config) const noexcept { ucx().ucp_config_release(config); }
};

/// UCX trusts any address that it is given. Ours begins with a checksum, so that a truncated or mistyped one is an
/// error and not a crash.
std::uint32_t sum_of(std::span<const std::byte> bytes) {
  std::uint32_t sum = 2166136261u;  // This is the offset basis of FNV-1a.
  for (const std::byte b : bytes) sum = (sum ^ std::to_integer<std::uint32_t>(b)) * 16777619u;
  return sum;
}

bool set_by_user(const char* name) {
  return std::getenv((std::string("UCX_") + name).c_str()) != nullptr ||
         std::getenv((std::string("SUMAC_UCX_") + name).c_str()) != nullptr;
}

/// Returns the device that has the address to publish, or the best of this host.
Result<std::string> default_device(const std::optional<SocketAddress>& publish) {
  if (publish) {
    auto device = interface_with(*publish);
    if (!device) return tl::unexpected(device.error());
    if (*device) return **std::move(device);
  }
  const auto all = list_interfaces();
  if (!all) return tl::unexpected(all.error());
  auto best = best_interface(*all, "", AF_UNSPEC);
  if (!best) return tl::unexpected(best.error());
  return best->name;
}

/// UCX says nothing of a network interface that is not there: it just reaches nobody.
bool is_no_device(const std::string& name) {
  const bool is_one = name.find_first_of(",:") == std::string::npos && name != "all";
  return is_one && if_nametoindex(name.c_str()) == 0 && access(("/sys/class/infiniband/" + name).c_str(), F_OK) != 0;
}

Error ucx_error(ucs_status_t status, std::string_view what) {
  const Errc code = status == UCS_ERR_NO_MEMORY   ? Errc::no_memory
                    : status == UCS_ERR_NO_DEVICE ? Errc::unsupported
                                                  : Errc::io;
  return Error{code, fmt::format("{}: {}", what, ucx().ucs_status_string(status))};
}

}  // namespace

Result<std::unique_ptr<Transport>> UcxTransport::make(const TransportConfig& config, BufferPool& pool) {
  std::unique_ptr<UcxTransport> transport(new UcxTransport(config, pool));
  if (auto r = transport->open(); !r) return within("ucx", r.error());
  return std::unique_ptr<Transport>(std::move(transport));
}

Result<> UcxTransport::open() {
  // Not by std::random_device, whose arc4random needs a newer C library than the rest of us.
  const auto drawn = draw_secret();
  if (!drawn) return within("keys of connections", drawn.error());
  std::seed_seq seed(drawn->begin(), drawn->end());
  random_.seed(seed);
  // UCX's variables under our prefix (SUMAC_UCX_TLS, ...) win over the plain ones, which belong to the program's own
  // MPI.
  ucp_config_t* raw = nullptr;
  if (const auto st = ucx().ucp_config_read("SUMAC", nullptr, &raw); st != UCS_OK)
    return tl::unexpected(ucx_error(st, "ucp_config_read"));
  const std::unique_ptr<ucp_config_t, ConfigRelease> config(raw);
  // One device is always named: otherwise an endpoint uses lanes over loopback and eth0 together, and another host
  // cannot be reached over loopback.
  device_ = config_.device;
  if (device_.empty() && !set_by_user("NET_DEVICES")) {
    auto device = default_device(config_.publish);
    if (!device) return tl::unexpected(device.error());
    device_ = *std::move(device);
  }
  if (!device_.empty() && is_no_device(device_)) return fail(Errc::invalid, "this host has no device {}", device_);
  if (!device_.empty())
    if (const auto st = ucx().ucp_config_modify(config.get(), "NET_DEVICES", device_.c_str()); st != UCS_OK)
      return tl::unexpected(ucx_error(st, fmt::format("device {}", device_)));
  // Whoever places messages announces them itself, and another announcement of UCX's costs a round trip: more than the
  // one copy that it saves, where no adapter moves the bytes.
  if (config_.place_from != 0 && if_nametoindex(device_.c_str()) != 0 && !set_by_user("RNDV_THRESH"))
    if (const auto st = ucx().ucp_config_modify(config.get(), "RNDV_THRESH", "inf"); st != UCS_OK)
      return tl::unexpected(ucx_error(st, "RNDV_THRESH inf"));
  // Over shared memory UCX notices a peer's death only by a keepalive of 20 s, over other transports within
  // milliseconds. Ranks of one host use our own segments anyway.
  if (!set_by_user("TLS"))
    if (const auto st = ucx().ucp_config_modify(config.get(), "TLS", "^sm"); st != UCS_OK)
      return tl::unexpected(ucx_error(st, "TLS ^sm"));
  return open_worker(config.get());
}

Result<> UcxTransport::open_worker(const ucp_config_t* config) {
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  ucp_context_h context = nullptr;
  if (const auto st = ucx().ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context); st != UCS_OK)
    return tl::unexpected(
        ucx_error(st, fmt::format("ucp_init (device {})", device_.empty() ? "of UCX_NET_DEVICES" : device_)));
  context_.reset(context);
  ucp_worker_params_t worker_params{};
  worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker_params.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // A lock of the user's may pass it from thread to thread.
  ucp_worker_h worker = nullptr;
  if (const auto st = ucx().ucp_worker_create(context, &worker_params, &worker); st != UCS_OK)
    return tl::unexpected(ucx_error(st, fmt::format("ucp_worker_create (device {})", device_)));
  worker_.reset(worker);
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kUcxAmId;
  handler.cb = on_am;
  handler.arg = this;
  if (const auto st = ucx().ucp_worker_set_am_recv_handler(worker, &handler); st != UCS_OK)
    return tl::unexpected(ucx_error(st, "ucp_worker_set_am_recv_handler"));
  if (const auto st = ucx().ucp_worker_get_efd(worker, &wake_fd_); st != UCS_OK)
    return tl::unexpected(ucx_error(st, "ucp_worker_get_efd"));
  return publish();
}

Result<> UcxTransport::publish() {
  ucp_address_t* raw = nullptr;
  std::size_t length = 0;
  if (const auto st = ucx().ucp_worker_get_address(worker_.get(), &raw, &length); st != UCS_OK)
    return tl::unexpected(ucx_error(st, "ucp_worker_get_address"));
  const auto* bytes = reinterpret_cast<const std::byte*>(raw);
  worker_address_.assign(bytes, bytes + length);
  ucx().ucp_worker_release_address(worker_.get(), raw);
  std::array<std::byte, 4> sum;
  store_le<std::uint32_t>(sum.data(), sum_of(worker_address_));
  if (!config_.listen.empty()) address_ = "ucx:" + hex(sum, "") + hex(worker_address_, "");
  if (address_.size() >= wire::kAddressMax)
    return fail(Errc::unsupported, "the worker's address has {} characters, at most {} travel: name one device",
                address_.size(), wire::kAddressMax - 1);
  name_ = fmt::format("{}:{}", host_name().substr(0, 47), getpid()).substr(0, 63);
  return {};
}

UcxTransport::~UcxTransport() {
  if (worker_ == nullptr) return;
  for (auto& held : held_) release(held);
  held_.clear();
  table_.each([&](UcxConnection& conn) { give_up_endpoint(conn, false); });
  for (auto& closing : closing_) closing.deadline = Time{};
  for (auto& [endpoint, flush] : to_close_) flush = false;
  // Endpoints are destroyed before the worker: in the other order UCX writes into freed connections.
  const Time deadline = monotonic_now() + std::min(config_.linger, Millis{500});
  do {
    close_endpoints();
    ucx().ucp_worker_progress(worker_.get());
    take_failures();
  } while ((in_flight_ > 0 || !closing_.empty() || !to_close_.empty()) && monotonic_now() < deadline);
}

// ---- connections

UcxConnection& UcxTransport::add(bool connector) {
  UcxConnection& conn = table_.add([](ConnId id) { return std::make_unique<UcxConnection>(id); });
  conn.is_connector = connector;
  conn.our_key = random_();
  if (connector || config_.stranger_bytes != 0) {
    conn.deadline = deadline_after(monotonic_now(), config_.handshake_timeout);
    due_by(conn.deadline);
  }
  return conn;
}

Result<ucp_ep_h> UcxTransport::make_endpoint(UcxConnection& conn, std::span<const std::byte> address) {
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = on_error;
  params.err_handler.arg = this;
  if (const auto st = ucx().ucp_ep_create(worker_.get(), &params, &conn.endpoint); st != UCS_OK) {
    conn.endpoint = nullptr;
    // UCX reaches an address only from a suitable device: loopback does not lead to eth0.
    return tl::unexpected(
        ucx_error(st, fmt::format("ucp_ep_create from device {}", device_.empty() ? "of UCX_NET_DEVICES" : device_)));
  }
  return conn.endpoint;
}

Result<ConnId> UcxTransport::connect_by(std::string_view, std::string_view address) {
  if (!address.starts_with("ucx:")) return fail(Errc::invalid, "{} is no ucx address: ucx:<hex>", address);
  const auto bytes = from_hex(address.substr(4));
  if (!bytes || bytes->size() < 8 || load_le<std::uint32_t>(bytes->data()) != sum_of(std::span(*bytes).subspan(4)))
    return fail(Errc::invalid, "{} is no ucx address, or was cut or changed on its way", address);
  if (table_.full()) return fail(Errc::exhausted, "connect: all {} connections are in use", table_.limit());
  UcxConnection& conn = add(true);
  conn.peer_name = "ucx peer";
  auto endpoint = make_endpoint(conn, std::span(*bytes).subspan(4));
  if (!endpoint) {
    end(conn, Errc::lost, endpoint.error().context);
    return conn.id;
  }
  // The first message carries our own address, so that the other side can answer.
  if (post(conn, greeting(conn, UcxKind::hello, worker_address_)) != Errc::ok)
    end(conn, Errc::lost, "greeting was not sent");
  return conn.id;
}

bool UcxTransport::is_stranger(const UcxConnection& conn) const noexcept {
  return config_.stranger_bytes != 0 && !conn.is_connector && !conn.dead && !conn.disowned && conn.deadline != kNever;
}

/// All strangers may stay equally long, so the oldest has the earliest deadline.
void UcxTransport::make_room_for_stranger() {
  std::size_t count = 0;
  UcxConnection* oldest = nullptr;
  table_.each([&](UcxConnection& conn) {
    if (!is_stranger(conn)) return;
    ++count;
    if (oldest == nullptr || conn.deadline < oldest->deadline) oldest = &conn;
  });
  if (oldest == nullptr || count < config_.strangers_max) return;
  ++stats_.displaced;
  end(*oldest, Errc::timeout, "displaced by others before it proved its identity");
}

void UcxTransport::answer_hello(const UcxHello& hello) {
  make_room_for_stranger();
  if (table_.full()) return;  // A connector that gets no answer notices by its time limit.
  UcxConnection& conn = add(false);
  conn.peer_id = hello.header.from;
  conn.peer_key = hello.greeting.key;
  conn.peer_message_max = hello.greeting.message_max;
  conn.peer_name = hello.greeting.name.data();
  conn.open = true;
  if (!make_endpoint(conn, hello.address) || post(conn, greeting(conn, UcxKind::welcome, {})) != Errc::ok)
    return drop(conn);
  events_.note(Kind::accepted, conn.id);
}

void UcxTransport::take_welcome(UcxConnection& conn, const UcxHeader& header, const UcxGreeting& greeting) {
  conn.peer_id = header.from;
  conn.peer_key = greeting.key;
  conn.peer_message_max = greeting.message_max;
  conn.peer_name = greeting.name.data();
  conn.open = true;
  if (!conn.disowned) {
    conn.deadline = kNever;
    events_.note(Kind::connected, conn.id);
  }
  while (!conn.waiting.empty() && !conn.dead) {
    auto send = std::move(conn.waiting.front());
    conn.waiting.pop_front();
    conn.out_bytes -= send->bytes;  // post() counts it again.
    --conn.out_count;
    send->front().to = conn.peer_id;
    send->front().key = conn.peer_key;
    if (post(conn, std::move(send)) != Errc::ok) return end(conn, Errc::lost, "message was not sent");
  }
  if (conn.disowned) say_bye(conn);
}

void UcxTransport::admit(ConnId id) {
  if (UcxConnection* conn = table_.find(id); conn != nullptr && !conn->disowned) conn->deadline = kNever;
}

void UcxTransport::end(UcxConnection& conn, Errc code, std::string text, bool flush) {
  if (conn.dead) return;
  conn.dead = true;
  conn.deadline = kNever;
  conn.why = Error{code, fmt::format("{}: {}", conn.peer_name, text)};
  conn.waiting.clear();
  conn.tell_writable = false;
  for (auto& held : held_)
    if (held.conn == conn.id) release(held);
  forget_offered(conn);
  give_up_endpoint(conn, flush);
  if (conn.lent == 0) events_.note(Kind::closed, conn.id);  // Otherwise give_back() does.
}

void UcxTransport::drop(UcxConnection& conn) {
  forget_offered(conn);
  give_up_endpoint(conn, false);
  if (conn.disowned) --flushing_;
  beats_.forget(conn.heartbeat);
  table_.erase(conn);
}

void UcxTransport::give_up_endpoint(UcxConnection& conn, bool flush) {
  if (conn.endpoint != nullptr) to_close_.push_back({conn.endpoint, flush});
  conn.endpoint = nullptr;
}

void UcxTransport::close_endpoints() {
  std::vector<ToClose> begin;
  begin.swap(to_close_);
  for (const auto& [endpoint, flush] : begin) {
    Closing closing{endpoint, nullptr, nullptr, kNever};
    if (flush) {
      const ucp_request_param_t param{};
      const ucs_status_ptr_t request = ucx().ucp_ep_flush_nbx(endpoint, &param);
      closing.flush = UCS_PTR_IS_PTR(request) ? request : nullptr;
      closing.deadline = monotonic_now() + config_.linger;
      due_by(closing.deadline);
    }
    closing_.push_back(closing);
  }
  std::erase_if(closing_, [&](Closing& closing) { return closed(closing); });
}

void* UcxTransport::force_close(ucp_ep_h endpoint) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  const ucs_status_ptr_t request = ucx().ucp_ep_close_nbx(endpoint, &param);
  return UCS_PTR_IS_PTR(request) ? request : nullptr;
}

/// Returns true when all requests of the endpoint are finished.
bool UcxTransport::closed(Closing& closing) {
  if (closing.flush != nullptr && ucx().ucp_request_check_status(closing.flush) != UCS_INPROGRESS) {
    ucx().ucp_request_free(closing.flush);
    closing.flush = nullptr;
  }
  if (closing.endpoint != nullptr && (closing.flush == nullptr || monotonic_now() >= closing.deadline))
    closing.close = force_close(std::exchange(closing.endpoint, nullptr));  // This ends the flush as well.
  if (closing.close != nullptr && ucx().ucp_request_check_status(closing.close) != UCS_INPROGRESS) {
    ucx().ucp_request_free(closing.close);
    closing.close = nullptr;
  }
  return closing.endpoint == nullptr && closing.flush == nullptr && closing.close == nullptr;
}

void UcxTransport::close(ConnId id, bool flush) {
  UcxConnection* conn = table_.find(id);
  if (conn == nullptr) return;
  take_back(*conn);
  if (conn->dead || (!flush && (conn->disowned || !conn->open))) return drop(*conn);
  if (conn->disowned) return;
  forget_offered(*conn);
  conn->disowned = true;
  ++flushing_;
  conn->tell_writable = false;
  conn->deadline = deadline_after(monotonic_now(), config_.linger);
  due_by(conn->deadline);
  if (conn->open) say_bye(*conn);  // Otherwise the bye is sent after the messages that wait for the welcome.
}

void UcxTransport::say_bye(UcxConnection& conn) {
  conn.bye_sent = true;
  if (say(conn, UcxKind::bye) != Errc::ok) end(conn, Errc::lost, "farewell was not sent");
}

Errc UcxTransport::say(UcxConnection& conn, UcxKind kind) {
  auto send = take_send();
  send->conn = conn.id;
  UcxHeader header;
  header.kind = kind;
  header.to = conn.peer_id;
  header.key = conn.peer_key;
  header.from = conn.id.value;
  header.sequence = kind == UcxKind::bye ? conn.next_out++ : 0;
  std::memcpy(send->header.data(), &header, sizeof header);
  send->header_bytes = sizeof header;
  return post(conn, std::move(send));
}

// ---- heartbeats

Errc UcxTransport::watch(ConnId id, Millis every, Millis silent_after) {
  UcxConnection* conn = table_.find(id);
  if (conn == nullptr || conn->dead) return Errc::lost;
  if (every.count() < 0 || silent_after.count() < 0) return Errc::invalid;
  beats_.set(conn->heartbeat, every, silent_after, monotonic_now());
  due_by(beats_.next());
  return Errc::ok;
}

Duration UcxTransport::silence(ConnId id) const {
  const UcxConnection* conn = table_.find(id);
  const bool is_silent = conn != nullptr && !conn->dead && drained_ && conn->held_bytes == 0 && !conn->heartbeat.heard;
  return is_silent ? conn->heartbeat.silence : Duration{0};
}

void UcxTransport::answer_pings() {
  for (const ConnId id : std::exchange(pinged_, {}))
    if (UcxConnection* conn = table_.find(id); conn != nullptr && conn->open && !conn->dead)
      if (say(*conn, UcxKind::pong) != Errc::ok) end(*conn, Errc::lost, "an answer was not sent");
}

void UcxTransport::beat(UcxConnection& conn, Duration passed) {
  if (!conn.open || conn.disowned) return;
  if (!drained_ || conn.held_bytes > 0) conn.heartbeat.heard = true;  // Unread messages may contain signs of life.
  const bool is_silent = conn.heartbeat.beat(passed);
  if (conn.heartbeat.tells() && say(conn, UcxKind::ping) != Errc::ok)
    return end(conn, Errc::lost, "message was not sent");
  if (!is_silent) return;
  const auto silent = std::chrono::duration_cast<Millis>(conn.heartbeat.silence);
  end(conn, Errc::timeout, fmt::format("silent for {} ms", silent.count()));
}

std::string UcxTransport::peer(ConnId id) const {
  const UcxConnection* conn = table_.find(id);
  return conn == nullptr ? "closed connection" : conn->peer_name;
}

// ---- passes

void UcxTransport::on_error(void* self, ucp_ep_h endpoint, ucs_status_t status) {
  static_cast<UcxTransport*>(self)->failed_.emplace_back(endpoint, status);
}

void UcxTransport::take_failures() {
  for (const auto& [endpoint, status] : failed_) {
    table_.each([&, e = endpoint, s = status](UcxConnection& conn) {
      if (conn.endpoint == e) end(conn, Errc::lost, fmt::format("connection lost: {}", ucx().ucs_status_string(s)));
    });
    for (Closing& closing : closing_)
      if (closing.endpoint == endpoint) closing.deadline = Time{};  // Without this its flush would wait for ever.
  }
  failed_.clear();
}

void UcxTransport::check_times(Time now) {
  next_due_ = kNever;
  const bool is_beat = now >= beats_.next();
  const Duration passed = is_beat ? beats_.take(now) : Duration{0};
  table_.each([&](UcxConnection& conn) {
    if (conn.dead) return;
    if (now >= conn.deadline)
      return end(conn, Errc::timeout,
                 fmt::format("{} in {} ms", conn.open ? "it did not prove its identity" : "no greeting",
                             config_.handshake_timeout.count()));
    due_by(conn.deadline);
    if (is_beat && conn.heartbeat.on()) beat(conn, passed);
  });
  due_by(beats_.next());
  for (const Closing& closing : closing_) due_by(closing.deadline);
}

std::size_t UcxTransport::progress(TransportEvents& events, std::size_t budget) {
  if (!held_.empty()) retry_held();
  drained_ = false;
  std::size_t delivered = 0;
  const auto deliver = [&] {
    delivered += events_.deliver(table_, events, budget - delivered, [&](UcxConnection& conn) { drop(conn); });
  };
  for (int i = 0; i < kProgressPerPass && delivered + events_.size() < budget && !drained_; ++i) {
    receiver_ = config_.place_from != 0 ? &events : nullptr;
    drained_ = ucx().ucp_worker_progress(worker_.get()) == 0;
    // A message is placed only when all before it are delivered.
    if (std::exchange(receiver_, nullptr) != nullptr) deliver();
  }
  if (!pinged_.empty()) answer_pings();
  if (!failed_.empty()) take_failures();
  for (const auto& hello : hellos_) answer_hello(hello);
  hellos_.clear();
  if (next_due_ != kNever)
    if (const Time now = monotonic_now(); now >= next_due_) check_times(now);
  deliver();
  while (!offered_.empty() && place_offered(events)) deliver();
  if (!to_close_.empty() || !closing_.empty()) close_endpoints();
  return delivered;
}

bool UcxTransport::arm() {
  if (!events_.empty() || !hellos_.empty() || !pinged_.empty() || !failed_.empty() || !to_close_.empty()) return false;
  if (next_due_ != kNever && monotonic_now() >= next_due_) return false;
  if (!held_.empty() && pool_.acquire(held_.front().head.size() + held_.front().body_bytes)) return false;
  return ucx().ucp_worker_arm(worker_.get()) == UCS_OK;
}

bool UcxTransport::wait(Duration at_most) {
  pollfd wake{wake_fd(), POLLIN, 0};
  const timespec exactly = wait_time(at_most);
  return ppoll(&wake, 1, &exactly, nullptr) != 0;  // An error or a signal counts as an early return.
}

}  // namespace sumac::net
