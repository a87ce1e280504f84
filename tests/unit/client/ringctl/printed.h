// What a function of the client's views prints.
#ifndef RINGSHIFT_TESTS_UNIT_CLIENT_RINGCTL_PRINTED_H_
#define RINGSHIFT_TESTS_UNIT_CLIENT_RINGCTL_PRINTED_H_

#include <string>

#include "client/ringctl/json_writer.h"
#include "client/ringctl/output.h"
#include "tests/unit/client/ringctl/scratch_file.h"

namespace ringshift::testing {

// All that `print(output)` writes.
template <typename Print>
std::string Printed(const Print& print) {
  const ScratchFile file;
  Output output(file.fd());
  print(output);
  output.Flush();
  return file.Contents();
}

// The line that `write(json)` makes.
template <typename Write>
std::string Json(const Write& write) {
  JsonWriter json;
  write(json);
  return json.TakeLine();
}

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_CLIENT_RINGCTL_PRINTED_H_
