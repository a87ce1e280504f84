#include "server/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

absl::StatusOr<Settings> Parse(std::string_view text) {
  return ParseSettings(text, "r.conf", {"store", "data-centers", "no-reflection"});
}

TEST(SettingsTest, AVariableIsNamedAsItsFlag) {
  EXPECT_EQ(VariableName("store"), "RINGSHIFTD_STORE");
  EXPECT_EQ(VariableName("public-address"), "RINGSHIFTD_PUBLIC_ADDRESS");
}

TEST(SettingsTest, LinesAreNamesAndValuesWithTheirPlace) {
  ASSERT_OK_AND_ASSIGN(const Settings settings,
                       Parse("# the router\n\n  store = sqlite:/a b#c=\"d\" \r\n\t# more\n"
                             "data-centers=ams,fra"));
  ASSERT_EQ(settings.size(), 2);
  EXPECT_EQ(settings.at("store").value, "sqlite:/a b#c=\"d\"");
  EXPECT_EQ(settings.at("store").source, "r.conf:3: store");
  EXPECT_EQ(settings.at("data-centers").value, "ams,fra");
  EXPECT_EQ(settings.at("data-centers").source, "r.conf:5: data-centers");
}

TEST(SettingsTest, NothingIsNoSettings) {
  for (const char* text : {"", "\n", "\n\n", "#", "  \t\r\n# store=x"}) {
    ASSERT_OK_AND_ASSIGN(const Settings settings, Parse(text));
    EXPECT_TRUE(settings.empty()) << text;
  }
}

TEST(SettingsTest, ALineThatIsNoneIsRefusedWithItsPlace) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"store=a\nsahre=1\n", "r.conf:2: unknown setting \"sahre\""},
      {"--store=a", "r.conf:1: unknown setting \"--store\""},
      {"Store=a", "r.conf:1: unknown setting \"Store\""},
      {"=a", "r.conf:1: unknown setting \"\""},
      {"\nno-reflection\n", "r.conf:2: \"no-reflection\" is not NAME=VALUE"},
      {"store=", "r.conf:1: store: no value"},
      {"store= \t", "r.conf:1: store: no value"},
      {"store=a\n\nstore=a", "r.conf:3: store is there twice: r.conf:1: store"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(Parse(text), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

TEST(SettingsTest, AFileThatCannotBeReadIsNamed) {
  EXPECT_THAT(ReadSettingsFile("/nowhere/r.conf", {}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("/nowhere/r.conf"), HasSubstr("No such file"))));
  EXPECT_THAT(
      ReadSettingsFile("/tmp", {}),
      StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("/tmp"), HasSubstr("Is a directory"))));
  EXPECT_THAT(ReadSettingsFile("/dev/zero", {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("/dev/zero"), HasSubstr("1048576"))));
}

}  // namespace
}  // namespace ringshift
