#include "migration/etcd/etcd_client.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/internal/quote.h"

namespace ringshift {
namespace {

using internal::QuotePath;

constexpr int kKeepaliveMs = 10'000;  // etcd refuses more often than every 5 s
constexpr int kKeepaliveTimeoutMs = 5'000;
constexpr int kMinReconnectMs = 100;
constexpr int kMaxReconnectMs = 1'000;
// What an endpoint that could not be connected to is given for a new attempt that is under way.
constexpr std::chrono::milliseconds kReconnectWait{50};

using Deadline = std::chrono::system_clock::time_point;  // gRPC's

// Waits until the channel is connected or an attempt to connect fails, at most until `deadline`.
//
// gRPC connects only while somebody waits in it, and calls fail at once after an attempt has
// failed. So without this an endpoint that came up later might stay unconnected for as long as
// nobody waits.
void AwaitConnection(grpc::Channel& channel, Deadline deadline) {
  grpc_connectivity_state state = channel.GetState(/*try_to_connect=*/true);
  while (state != GRPC_CHANNEL_READY && state != GRPC_CHANNEL_SHUTDOWN) {
    const bool has_failed = state == GRPC_CHANNEL_TRANSIENT_FAILURE;
    const Deadline until =
        has_failed ? std::min(deadline, std::chrono::system_clock::now() + kReconnectWait)
                   : deadline;
    if (!channel.WaitForStateChange(state, until)) return;
    state = channel.GetState(/*try_to_connect=*/true);
    if (!has_failed && state == GRPC_CHANNEL_TRANSIENT_FAILURE) return;
  }
}

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (file.is_open() && !file.bad() && !bytes.empty()) return bytes;
  const int error = file.is_open() ? 0 : errno;
  const std::string message =
      absl::StrCat("cannot read ", QuotePath(path), " for TLS to etcd: ",
                   error == 0 ? "it is empty or no file" : std::generic_category().message(error));
  if (error == ENOENT) return absl::NotFoundError(message);
  if (error == EACCES) return absl::PermissionDeniedError(message);
  return absl::UnavailableError(message);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsFor(
    const EtcdClientOptions& options) {
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return absl::InvalidArgumentError(
        "for TLS to etcd a certificate needs its key and a key its certificate");
  }
  if (options.ca_file.empty()) {
    if (!options.certificate_file.empty()) {
      return absl::InvalidArgumentError(
          "for TLS to etcd a certificate alone does not do: give the CA of etcd's, too");
    }
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions ssl;
  for (const auto& [path, pem] : {std::pair(&options.ca_file, &ssl.pem_root_certs),
                                  std::pair(&options.certificate_file, &ssl.pem_cert_chain),
                                  std::pair(&options.key_file, &ssl.pem_private_key)}) {
    if (path->empty()) continue;
    absl::StatusOr<std::string> bytes = ReadFile(*path);
    if (!bytes.ok()) return bytes.status();
    *pem = *std::move(bytes);
  }
  return grpc::SslCredentials(ssl);
}

// Another token will do.
bool IsTokenBad(const grpc::Status& status) {
  const std::string& message = status.error_message();
  return Has(message, "invalid auth token") || Has(message, "revision of auth store is old");
}

// Another endpoint may answer.
bool IsUnanswered(const absl::Status& status) { return absl::IsUnavailable(status); }

}  // namespace

absl::StatusOr<std::unique_ptr<EtcdClient>> EtcdClient::Create(EtcdClientOptions options) {
  if (options.endpoints.empty()) return absl::InvalidArgumentError("etcd needs an endpoint");
  if (options.user.empty() != options.password.empty()) {
    return absl::InvalidArgumentError("etcd's user needs a password and the password a user");
  }
  const auto credentials = CredentialsFor(options);
  if (!credentials.ok()) return credentials.status();
  return std::unique_ptr<EtcdClient>(new EtcdClient(std::move(options), *credentials));
}

EtcdClient::EtcdClient(EtcdClientOptions options,
                       const std::shared_ptr<grpc::ChannelCredentials>& credentials)
    : options_(std::move(options)) {
  for (const std::string& name : options_.endpoints) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kMinReconnectMs);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectMs);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const std::shared_ptr<grpc::Channel> channel =
        grpc::CreateCustomChannel("dns:///" + name, credentials, arguments);
    endpoints_.push_back(
        {name, channel, etcdserverpb::KV::NewStub(channel), etcdserverpb::Watch::NewStub(channel),
         etcdserverpb::Auth::NewStub(channel), etcdserverpb::Maintenance::NewStub(channel)});
  }
}

absl::StatusOr<etcdserverpb::RangeResponse> EtcdClient::Range(
    const etcdserverpb::RangeRequest& request) {
  etcdserverpb::RangeResponse response;
  absl::Status status = Call([&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.kv->Range(&context, request, &response);
  });
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<etcdserverpb::TxnResponse> EtcdClient::Txn(const etcdserverpb::TxnRequest& request) {
  etcdserverpb::TxnResponse response;
  absl::Status status = Call([&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.kv->Txn(&context, request, &response);
  });
  if (!status.ok()) return status;
  return response;
}

absl::Status EtcdClient::Put(const etcdserverpb::PutRequest& request) {
  etcdserverpb::PutResponse response;
  return Call([&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.kv->Put(&context, request, &response);
  });
}

absl::Status EtcdClient::DeleteRange(const etcdserverpb::DeleteRangeRequest& request) {
  etcdserverpb::DeleteRangeResponse response;
  return Call([&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.kv->DeleteRange(&context, request, &response);
  });
}

absl::Status EtcdClient::Compact(const etcdserverpb::CompactionRequest& request) {
  etcdserverpb::CompactionResponse response;
  absl::Status status = Call([&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.kv->Compact(&context, request, &response);
  });
  return absl::IsOutOfRange(status) ? absl::OkStatus() : status;
}

absl::StatusOr<etcdserverpb::StatusResponse> EtcdClient::Status() {
  etcdserverpb::StatusResponse response;
  absl::Status status = Call([&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.maintenance->Status(&context, etcdserverpb::StatusRequest(), &response);
  });
  if (!status.ok()) return status;
  return response;
}

std::string EtcdClient::EndpointNames() const {
  std::string names;
  for (const Endpoint& endpoint : endpoints_) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", endpoint.name);
  }
  return names;
}

std::size_t EtcdClient::CurrentEndpoint() const {
  MutexLock lock(mutex_);
  return current_;
}

void EtcdClient::MoveOn(std::size_t endpoint) {
  MutexLock lock(mutex_);
  if (current_ == endpoint) current_ = (endpoint + 1) % endpoints_.size();
}

etcdserverpb::Watch::Stub& EtcdClient::WatchStub(std::size_t endpoint) const {
  return *endpoints_[endpoint].watch;
}

absl::Status EtcdClient::Prepare(std::size_t endpoint, grpc::ClientContext& context) {
  // A member that has lost the others says so instead of answering with what it last knew.
  context.AddMetadata("hasleader", "true");
  if (options_.user.empty()) return absl::OkStatus();
  std::string token;
  {
    MutexLock lock(mutex_);
    token = token_;
  }
  if (token.empty()) {
    etcdserverpb::AuthenticateRequest request;
    request.set_name(options_.user);
    request.set_password(options_.password);
    etcdserverpb::AuthenticateResponse response;
    grpc::ClientContext own;
    own.set_deadline(std::chrono::system_clock::now() + options_.call_timeout);
    const grpc::Status status = endpoints_[endpoint].auth->Authenticate(&own, request, &response);
    if (!status.ok()) return ErrorOf(endpoint, status);
    token = response.token();
    MutexLock lock(mutex_);
    token_ = token;
  }
  context.AddMetadata("token", token);
  return absl::OkStatus();
}

absl::Status EtcdClient::ErrorOf(std::size_t endpoint, const grpc::Status& status) {
  if (IsTokenBad(status)) {
    MutexLock lock(mutex_);
    token_.clear();
  }
  auto code = static_cast<absl::StatusCode>(status.error_code());
  std::string advice;
  const std::string& said = status.error_message();
  if (Has(said, "user name is empty")) {
    code = absl::StatusCode::kUnauthenticated;
    advice = "; etcd wants a user and a password";
  } else if (Has(said, "authentication failed") || Has(said, "authentication is not enabled")) {
    code = absl::StatusCode::kUnauthenticated;
    advice = "; see to the user and the password";
  } else if (IsTokenBad(status) || code == absl::StatusCode::kDeadlineExceeded ||
             code == absl::StatusCode::kCancelled) {
    code = absl::StatusCode::kUnavailable;
  } else if (Has(said, "database space exceeded")) {
    advice =
        "; etcd is out of space and takes no change: compact and defragment it (etcdctl compact, "
        "etcdctl defrag), or raise --quota-backend-bytes, then clear the alarm (etcdctl alarm "
        "disarm)";
  } else if (code == absl::StatusCode::kPermissionDenied) {
    advice = "; grant the user reading and writing of all keys with the prefix";
  }
  return absl::Status(code,
                      absl::StrCat("etcd at ", endpoints_[endpoint].name, ": ", said, advice));
}

absl::Status EtcdClient::CallAt(std::size_t endpoint, const Attempt& attempt) {
  const Deadline deadline = std::chrono::system_clock::now() + options_.call_timeout;
  AwaitConnection(*endpoints_[endpoint].channel, deadline);
  for (bool renewed = false;; renewed = true) {
    grpc::ClientContext context;
    if (absl::Status status = Prepare(endpoint, context); !status.ok()) return status;
    context.set_deadline(deadline);
    const grpc::Status status = attempt(endpoints_[endpoint], context);
    if (status.ok()) return absl::OkStatus();
    absl::Status error = ErrorOf(endpoint, status);
    if (renewed || !IsTokenBad(status)) return error;
  }
}

absl::Status EtcdClient::Call(const Attempt& attempt) {
  std::string errors;
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    const std::size_t endpoint = CurrentEndpoint();
    absl::Status status = CallAt(endpoint, attempt);
    if (!IsUnanswered(status)) return status;
    absl::StrAppend(&errors, errors.empty() ? "" : "; ", std::string(status.message()));
    MoveOn(endpoint);
  }
  return absl::UnavailableError(errors);
}

}  // namespace ringshift
