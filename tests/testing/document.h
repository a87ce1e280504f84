// Files of the repository as tests read them: whole, and the code blocks of a page.
#ifndef RINGSHIFT_TESTS_TESTING_DOCUMENT_H_
#define RINGSHIFT_TESTS_TESTING_DOCUMENT_H_

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace ringshift::testing {

// All of it; "" if it cannot be read.
inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

// The code blocks of a Markdown page in `language`.
inline std::vector<std::string> Blocks(const std::string& page, const std::string& language) {
  const std::string begin = "\n```" + language + "\n";
  std::vector<std::string> blocks;
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at + 1)) {
    const std::size_t from = at + begin.size();
    blocks.push_back(page.substr(from, page.find("\n```", from) + 1 - from));
  }
  return blocks;
}

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_TESTING_DOCUMENT_H_
