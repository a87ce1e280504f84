#include "tests/integration/etcd/etcd_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <thread>
#include <utility>

namespace ringshift::testing {
namespace {

// etcd takes no port 0. Ports are told apart by being held until all have been chosen.
class FreePorts {
 public:
  ~FreePorts() {
    for (const int fd : fds_) ::close(fd);
  }
  int Next() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fds_.push_back(fd);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
    return ntohs(address.sin_port);
  }

 private:
  std::vector<int> fds_;
};

std::string Name(std::size_t member) { return "m" + std::to_string(member); }

void MustRun(const std::vector<std::string>& argv) {
  const Completed completed = Run(argv);
  EXPECT_EQ(completed.exit_code, 0) << argv[0] << ": " << completed.out << completed.err;
}

}  // namespace

EtcdServer::EtcdServer(Options options) : options_(std::move(options)) {
  if (options_.tls) MakeCertificates();
  {
    FreePorts ports;
    for (int i = 0; i < options_.members; ++i) {
      Member& member = members_.emplace_back();
      member.client_port = ports.Next();
      member.peer_port = ports.Next();
      member.data = dir_.File(Name(Index(i)));
    }
  }
  for (int i = 0; i < options_.members; ++i) Start(i);
  WaitUntilReady();
}

std::string EtcdServer::Endpoint(int member) const {
  return "127.0.0.1:" + std::to_string(members_.at(Index(member)).client_port);
}

std::string EtcdServer::PeerUrl(const Member& member) const {
  return "http://127.0.0.1:" + std::to_string(member.peer_port);
}

EtcdClientOptions EtcdServer::ClientOptions() const {
  EtcdClientOptions client;
  for (int i = 0; i < member_count(); ++i) client.endpoints.push_back(Endpoint(i));
  if (options_.tls) {
    client.ca_file = dir_.File("ca.pem");
    client.certificate_file = dir_.File("client.pem");
    client.key_file = dir_.File("client.key");
  }
  return client;
}

void EtcdServer::Start(int index) {
  Member& member = members_.at(Index(index));
  std::string cluster;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    cluster += (i == 0 ? "" : ",") + Name(i) + "=" + PeerUrl(members_[i]);
  }
  const std::string client_url = Scheme() + Endpoint(index);
  std::vector<std::string> argv = {"etcd",
                                   "--name=" + Name(Index(index)),
                                   "--data-dir=" + member.data,
                                   "--listen-client-urls=" + client_url,
                                   "--advertise-client-urls=" + client_url,
                                   "--listen-peer-urls=" + PeerUrl(member),
                                   "--initial-advertise-peer-urls=" + PeerUrl(member),
                                   "--initial-cluster=" + cluster,
                                   "--initial-cluster-token=" + cluster_token_,
                                   "--heartbeat-interval=50",
                                   "--election-timeout=500"};
  if (options_.tls) {
    for (const auto& [flag, file] :
         {std::pair("--cert-file=", "server.pem"), std::pair("--key-file=", "server.key"),
          std::pair("--trusted-ca-file=", "ca.pem")}) {
      argv.push_back(flag + dir_.File(file));
    }
    argv.push_back("--client-cert-auth");
  }
  argv.insert(argv.end(), options_.flags.begin(), options_.flags.end());
  member.process = std::make_unique<Process>(argv);
}

void EtcdServer::Kill(int index) {
  Process& process = *members_.at(Index(index)).process;
  process.Signal(SIGKILL);
  EXPECT_TRUE(process.WaitForExit().has_value());
}

void EtcdServer::WaitUntilReady() {
  for (int i = 0; i < member_count(); ++i) {
    EtcdClientOptions options = ClientOptions();
    options.endpoints = {Endpoint(i)};
    const auto client = EtcdClient::Create(options).value();
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    etcdserverpb::RangeRequest request;
    request.set_key("ready");
    for (;;) {
      const absl::Status status = client->Range(request).status();
      // One that wants a password is ready, too.
      if (status.ok() || absl::IsUnauthenticated(status)) break;
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "etcd does not become ready: " << status << "\n"
                      << members_[Index(i)].process->Stderr();
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

std::string EtcdServer::Ctl(const std::vector<std::string>& arguments) const {
  std::vector<std::string> argv = {"env", "ETCDCTL_API=3", "etcdctl",
                                   "--endpoints=" + Scheme() + Endpoint(0)};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  Completed completed = Run(argv);
  EXPECT_EQ(completed.exit_code, 0) << arguments[0] << ": " << completed.out << completed.err;
  return std::move(completed.out);
}

std::string EtcdServer::Backup(const std::string& name) {
  const std::string path = dir_.File(name);
  Ctl({"snapshot", "save", path});
  return path;
}

void EtcdServer::Restore(const std::string& backup) {
  ASSERT_EQ(member_count(), 1);
  Member& member = members_.front();
  std::filesystem::remove_all(member.data);
  MustRun({"env", "ETCDCTL_API=3", "etcdctl", "snapshot", "restore", backup,
           "--data-dir=" + member.data, "--name=" + Name(0),
           "--initial-cluster=" + Name(0) + "=" + PeerUrl(member),
           "--initial-advertise-peer-urls=" + PeerUrl(member),
           "--initial-cluster-token=" + cluster_token_});
  Start(0);
  WaitUntilReady();
}

void EtcdServer::Wipe() {
  cluster_token_ += "-anew";
  for (int i = 0; i < member_count(); ++i) {
    Kill(i);
    std::filesystem::remove_all(members_[Index(i)].data);
  }
  for (int i = 0; i < member_count(); ++i) Start(i);
  WaitUntilReady();
}

void EtcdServer::MakeCertificates() {
  const auto file = [this](const std::string& name) { return dir_.File(name); };
  const std::vector<std::string> new_key = {
      "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout"};
  std::vector<std::string> ca = {"openssl", "req",         "-x509", "-days",       "2",
                                 "-subj",   "/CN=test-ca", "-out",  file("ca.pem")};
  ca.insert(ca.end(), new_key.begin(), new_key.end());
  ca.push_back(file("ca.key"));
  MustRun(ca);
  const std::string extensions = dir_.Write(
      "extensions", "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n");
  for (const std::string name : {"server", "client"}) {
    std::vector<std::string> request = {"openssl",     "req",  "-subj",
                                        "/CN=" + name, "-out", file(name + ".csr")};
    request.insert(request.end(), new_key.begin(), new_key.end());
    request.push_back(file(name + ".key"));
    MustRun(request);
    MustRun({"openssl", "x509", "-req", "-in", file(name + ".csr"), "-CA", file("ca.pem"), "-CAkey",
             file("ca.key"), "-CAcreateserial", "-days", "2", "-out", file(name + ".pem"),
             "-extfile", extensions});
  }
}

}  // namespace ringshift::testing
