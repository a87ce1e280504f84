#include "server/watch_methods.h"

#include <string>

#include "server/migration_proto.h"
#include "server/read_message.h"
#include "server/watch_messages.h"

namespace ringshift {

WatchCalls::Method WatchRoutingMethod(RoutingService& service, const Lifecycle& lifecycle,
                                      const RoutingDirectory& directory) {
  WatchCalls::Method method;
  method.expect = [&service](grpc::ServerContext* context, grpc::ByteBuffer* request,
                             grpc::ServerAsyncWriter<grpc::ByteBuffer>* writer,
                             grpc::ServerCompletionQueue* queue, void* tag) {
    service.RequestWatchRouting(context, request, writer, queue, queue, tag);
  };
  method.read = [&lifecycle,
                 &directory](const grpc::ByteBuffer& bytes) -> absl::StatusOr<WatchCalls::Query> {
    v1::WatchRoutingRequest request;
    if (absl::Status read = ReadMessage(bytes, request); !read.ok()) return read;
    if (absl::Status ready = lifecycle.CheckAnswering(); !ready.ok()) return ready;
    WatchCalls::Query query;
    query.cursor = request.cursor();
    for (const std::string& name : request.data_centers()) {
      if (absl::Status named = CheckDataCenterIsNamed(name); !named.ok()) return named;
      if (!query.names.insert(name).second) continue;
      if (auto table = directory.Find(name); !table.ok()) return table.status();
    }
    return query;
  };
  method.write = WatchRoutingMessage;
  return method;
}

WatchCalls::Method WatchMigrationsMethod(MigrationService& service, const Lifecycle& lifecycle) {
  WatchCalls::Method method;
  method.expect = [&service](grpc::ServerContext* context, grpc::ByteBuffer* request,
                             grpc::ServerAsyncWriter<grpc::ByteBuffer>* writer,
                             grpc::ServerCompletionQueue* queue, void* tag) {
    service.RequestWatchMigrations(context, request, writer, queue, queue, tag);
  };
  method.read = [&lifecycle](const grpc::ByteBuffer& bytes) -> absl::StatusOr<WatchCalls::Query> {
    v1::WatchMigrationsRequest request;
    if (absl::Status read = ReadMessage(bytes, request); !read.ok()) return read;
    if (absl::Status ready = lifecycle.CheckAnswering(); !ready.ok()) return ready;
    return WatchCalls::Query{{}, request.cursor()};
  };
  method.write = WatchMigrationsMessage;
  return method;
}

}  // namespace ringshift
