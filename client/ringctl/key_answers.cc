#include "client/ringctl/key_answers.h"

#include <unistd.h>

#include <string>

#include "client/ringctl/key_reader.h"

namespace ringshift {

ExitCode AnswerKeys(bool hex,
                    const std::function<void(std::string_view key, Output& output)>& write_fields) {
  Output output(STDOUT_FILENO);
  KeyReader reader(STDIN_FILENO, hex, [&output] {
    output.Flush();
    return output.ok();
  });
  while (output.ok() && reader.Next()) {
    output.Write(reader.text());
    write_fields(reader.key(), output);
    output.Write("\n");
  }
  return FinishAnswers(output, reader.status());
}

ExitCode FinishAnswers(Output& output, const absl::Status& read) {
  const ExitCode written = output.Finish();
  if (written != ExitCode::kOk || read.ok()) return written;
  return Fail(ExitCode::kInput, std::string(read.message()),
              "the lines before it are answered; correct the input and run it again");
}

}  // namespace ringshift
