#include "control/tls.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/fd.hpp"
#include "control/openssl.hpp"
#include "control/pki.hpp"

namespace sumac::control {
namespace {

constexpr std::size_t kFileMax = 1 << 20;

/// Names a file in messages, together with the option that selected it.
std::string layer_of(const TlsFiles& files, const char* option, const std::string& path) {
  return fmt::format("--{} {}", files.directory.empty() ? option : "tls-dir", path);
}

/// Returns NAME of the only file ROLE-NAME.crt in the directory, for a manager or a person, who have no name in the
/// fabric.
Result<std::string> only_name(const std::string& directory, CertRole role) {
  const auto head = fmt::format("{}-", to_string(role));
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const auto file = entry.path().filename().string();
    if (file.starts_with(head) && file.ends_with(".crt"))
      names.push_back(file.substr(head.size(), file.size() - head.size() - 4));
  }
  if (error) return fail(Errc::not_found, "--tls-dir {}: {}", directory, error.message());
  if (names.size() == 1) return names[0];
  if (names.empty())
    return fail(Errc::not_found, "--tls-dir {}: no {}NAME.crt is there: `sumac pki issue DIR {} NAME` makes it",
                directory, head, to_string(role));
  std::sort(names.begin(), names.end());
  return fail(Errc::invalid, "--tls-dir {}: {} certificates of role {} are there ({}): leave one of them there",
              directory, names.size(), to_string(role), fmt::join(names, ", "));
}

/// Fills in the three file names if only the directory was given.
Result<TlsFiles> resolve(TlsFiles files, CertRole role, std::string_view name) {
  if (files.directory.empty()) return files;
  if (!files.ca.empty() || !files.cert.empty() || !files.key.empty())
    return fail(Errc::invalid, "--tls-dir names all files: leave --tls-ca, --tls-cert and --tls-key away");
  std::string own(name);
  if (own.empty()) {
    auto only = only_name(files.directory, role);
    if (!only) return tl::unexpected(only.error());
    own = *std::move(only);
  }
  const auto stem = fmt::format("{}/{}-{}", files.directory, to_string(role), own);
  files.ca = files.directory + "/ca.crt";
  files.cert = stem + ".crt";
  files.key = stem + ".key";
  return files;
}

Result<std::string> read_file(const std::string& layer, const std::string& path, bool is_key) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    const int error = errno;
    if (error == ENOENT)
      return fail(Errc::not_found, "{}: there is no such file: `sumac pki` makes it, see docs/security.md", layer);
    if (error == EACCES)
      return fail(Errc::denied, "{}: not readable for user {}: chown it to the user that the daemon runs as", layer,
                  ::geteuid());
    errno = error;
    return within(layer, fail_errno("open").value());
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return within(layer, fail_errno("stat").value());
  if (!S_ISREG(info.st_mode)) return fail(Errc::invalid, "{}: it is no file", layer);
  if (is_key && (info.st_mode & 027) != 0)
    return fail(Errc::denied, "{}: others may read or change this key (mode {:04o}): chmod 600 it", layer,
                info.st_mode & 07777);
  if (static_cast<std::size_t>(info.st_size) > kFileMax)
    return fail(Errc::invalid, "{}: {} bytes are too long for PEM", layer, info.st_size);
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  for (std::size_t have = 0; have < text.size();) {
    const auto got = ::read(fd.get(), text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return within(layer, fail_errno("read").value());
    if (got == 0) text.resize(have);
    have += static_cast<std::size_t>(got);
  }
  return text;
}

/// No passphrase is asked for: daemons start without a person to type it.
int no_passphrase(char*, int, int, void*) { return -1; }

/// The callback of TLS for the protocol inside it, of which gRPC speaks only HTTP/2. `offered` holds names, each after
/// its length in a byte.
int choose_http2(SSL*, const unsigned char** chosen, unsigned char* chosen_bytes, const unsigned char* offered,
                 unsigned offered_bytes, void*) {
  static constexpr unsigned char kHttp2[] = {2, 'h', '2'};  // `chosen` points into it after the return.
  unsigned char* found = nullptr;
  const int result = SSL_select_next_proto(&found, chosen_bytes, kHttp2, sizeof kHttp2, offered, offered_bytes);
  if (result != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

Result<> verify(const std::string& ca_text, X509* certificate, CertRole role, const std::string& ca_layer,
                const std::string& layer) {
  const Openssl<X509_STORE> store(X509_STORE_new());
  const auto bio = memory_of(ca_text);
  int authorities = 0;
  while (const Openssl<X509> one{PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr)}) {
    X509_STORE_add_cert(store.get(), one.get());
    ++authorities;
  }
  ERR_clear_error();  // Clears the error that reports the end of the file.
  if (authorities == 0) return fail(Errc::invalid, "{}: it holds no certificate in PEM", ca_layer);
  const Openssl<X509_STORE_CTX> context(X509_STORE_CTX_new());
  if (!context || X509_STORE_CTX_init(context.get(), store.get(), certificate, nullptr) != 1)
    return fail(Errc::internal, "{}: OpenSSL: {}", layer, openssl_words());
  X509_STORE_CTX_set_purpose(context.get(),
                             role == CertRole::manager ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT);
  if (X509_verify_cert(context.get()) == 1) return {};
  const int error = X509_STORE_CTX_get_error(context.get());
  const bool of_authority = X509_STORE_CTX_get_error_depth(context.get()) > 0;
  const auto& whose = of_authority ? ca_layer : layer;
  const X509* current = X509_STORE_CTX_get_current_cert(context.get());
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return fail(Errc::denied, "{}: it expired on {}: {}", whose, date_text(X509_get0_notAfter(current)),
                  of_authority ? "make a new authority with `sumac pki init`"
                               : "make a new one with `sumac pki issue --renew`");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return fail(Errc::denied, "{}: it is valid from {} on: is this machine's clock right?", whose,
                  date_text(X509_get0_notBefore(current)));
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return fail(Errc::denied, "{}: it is not of the authority in {}: take both from one `sumac pki` directory", layer,
                  ca_layer);
    default:
      return fail(Errc::denied, "{}: {}: make a new one with `sumac pki issue --renew`", whose,
                  X509_verify_cert_error_string(error));
  }
}

}  // namespace

Result<std::pair<Tls::Texts, Identity>> Tls::read(const TlsFiles& files, std::optional<CertRole> role,
                                                  std::string_view name) {
  const struct {
    const char* option;
    const std::string& path;
  } wanted[] = {{"tls-ca", files.ca}, {"tls-cert", files.cert}, {"tls-key", files.key}};
  for (const auto& one : wanted)
    if (one.path.empty())
      return fail(Errc::invalid, "--{} is missing: TLS needs --tls-ca, --tls-cert and --tls-key together, or --tls-dir",
                  one.option);
  Texts texts;
  for (auto [option, path, text] : {std::tuple{"tls-ca", &files.ca, &texts.ca},
                                    {"tls-cert", &files.cert, &texts.cert},
                                    {"tls-key", &files.key, &texts.key}}) {
    auto read = read_file(layer_of(files, option, *path), *path, text == &texts.key);
    if (!read) return tl::unexpected(read.error());
    *text = *std::move(read);
  }
  const auto ca_layer = layer_of(files, "tls-ca", files.ca), cert_layer = layer_of(files, "tls-cert", files.cert),
             key_layer = layer_of(files, "tls-key", files.key);
  const auto cert_bio = memory_of(texts.cert), key_bio = memory_of(texts.key);
  const Openssl<X509> certificate(PEM_read_bio_X509(cert_bio.get(), nullptr, no_passphrase, nullptr));
  if (!certificate) {
    ERR_clear_error();
    return fail(Errc::invalid, "{}: it holds no certificate in PEM", cert_layer);
  }
  const Openssl<EVP_PKEY> key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, no_passphrase, nullptr));
  if (!key) {
    ERR_clear_error();
    return fail(Errc::invalid, "{}: it holds no private key in PEM without a passphrase", key_layer);
  }
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return fail(Errc::invalid, "{}: it is not the key of {}", key_layer, cert_layer);
  }
  auto self = identity_in(certificate.get());
  if (!self) return within(cert_layer, self.error());
  if (role && (self->role != *role || (!name.empty() && self->name != name))) {
    const auto expected =
        name.empty() ? fmt::format("{} NAME", to_string(*role)) : describe({*role, std::string(name)});
    return fail(Errc::denied, "{}: it is for {}, this is {}: `sumac pki issue DIR {}` makes the right one", cert_layer,
                describe(*self), expected, expected);
  }
  if (auto good = verify(texts.ca, certificate.get(), self->role, ca_layer, cert_layer); !good)
    return tl::unexpected(good.error());
  return std::pair{std::move(texts), *std::move(self)};
}

Result<std::shared_ptr<Tls>> Tls::load(const TlsFiles& files, CertRole role, std::string_view name) {
  if (files.none()) return std::shared_ptr<Tls>();
  auto resolved = resolve(files, role, name);
  if (!resolved) return tl::unexpected(resolved.error());
  auto read = Tls::read(*resolved, role, name);
  if (!read) return tl::unexpected(read.error());
  return std::shared_ptr<Tls>(new Tls(*std::move(resolved), std::move(read->first), std::move(read->second)));
}

Result<std::shared_ptr<Tls>> Tls::of_environment() {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const TlsFiles files{set("SUMAC_TLS_CA"), set("SUMAC_TLS_CERT"), set("SUMAC_TLS_KEY"), set("SUMAC_TLS_DIR")};
  if (files.none()) return std::shared_ptr<Tls>();
  auto resolved = resolve(files, CertRole::admin, "");
  if (!resolved) return within("SUMAC_TLS_DIR", resolved.error());
  auto read = Tls::read(*resolved, std::nullopt, "");
  if (!read) return within("the SUMAC_TLS_ variables", read.error());
  return std::shared_ptr<Tls>(new Tls(*std::move(resolved), std::move(read->first), std::move(read->second)));
}

std::optional<std::time_t> Tls::end() const {
  const std::lock_guard lock(mutex_);
  const auto when = validity_of(texts_.cert);
  return when ? std::optional(when->until) : std::nullopt;
}

Result<std::unique_ptr<SSL_CTX, SslDelete>> Tls::for_server() const {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<SSL_CTX, SslDelete> context(SSL_CTX_new(TLS_server_method()));
  if (!context) return fail(Errc::internal, "OpenSSL: {}", openssl_words());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  // A daemon connects for days, so a session to resume would only cost memory. Idle connections keep no buffers.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_http2, nullptr);
  const auto authorities = memory_of(texts_.ca), certificates = memory_of(texts_.cert), keys = memory_of(texts_.key);
  while (const Openssl<X509> one{PEM_read_bio_X509(authorities.get(), nullptr, no_passphrase, nullptr)}) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), one.get());
    SSL_CTX_add_client_CA(context.get(), one.get());
  }
  const Openssl<X509> own(PEM_read_bio_X509(certificates.get(), nullptr, no_passphrase, nullptr));
  const Openssl<EVP_PKEY> key(PEM_read_bio_PrivateKey(keys.get(), nullptr, no_passphrase, nullptr));
  if (!own || !key || SSL_CTX_use_certificate(context.get(), own.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1)
    return fail(Errc::internal, "OpenSSL: {}", openssl_words());
  while (const Openssl<X509> issuer{PEM_read_bio_X509(certificates.get(), nullptr, no_passphrase, nullptr)})
    SSL_CTX_add1_chain_cert(context.get(), issuer.get());
  ERR_clear_error();  // Clears the errors that report the ends of the texts.
  return context;
}

std::shared_ptr<grpc::ChannelCredentials> Tls::for_client() {
  const std::lock_guard lock(mutex_);
  if (auto again = read(files_, self_.role, self_.name)) texts_ = std::move(again->first);
  return grpc::SslCredentials(
      {.pem_root_certs = texts_.ca, .pem_private_key = texts_.key, .pem_cert_chain = texts_.cert});
}

}  // namespace sumac::control
