#pragma once
// The ways in which a record of a log can be wrong, and what the import says of each.

#include <string>
#include <vector>

#include "ingest_fixture.h"

namespace difr::testing {

struct Broken {
  const char* name;
  std::string text;
  const char* kind;
  bool kept = false;        ///< remarked only
  bool lines_only = false;  ///< cannot stand inside a list without ending it
};

inline std::string with_output(const std::string& ids) {
  return R"({"id": "x", "prompt_token_ids": [1, 5], "seed": 3, "outputs": [{"token_ids": )" + ids + "}]}";
}
inline std::string with(const std::string& members) {
  return R"({"id": "x", "prompt_token_ids": [1, 5], "seed": 3, "output_token_ids": [4, 2], )" + members + "}";
}

/// The forty ways; vocabulary 2048.
inline std::vector<Broken> broken_records() {
  return {
      {"negative id", with_output("[1, -4]"), "ids-negative"},
      {"id at V", with_output("[1, 2048]"), "ids-out-of-range"},
      {"id above int32", with_output("[1, 4294967296]"), "ids-out-of-range"},
      {"id above int64", with_output("[1, 18446744073709551615]"), "ids-out-of-range"},
      {"id above uint64", with_output("[1, 99999999999999999999999]"), "bad-number"},
      {"fractional id", with_output("[1, 2.5]"), "ids-not-integers"},
      {"float id", with_output("[1, 2.0]"), "ids-not-integers"},
      {"string id", with_output("[1, \"2\"]"), "ids-not-integers"},
      {"null id", with_output("[1, null]"), "ids-not-integers"},
      {"nan id", with_output("[1, NaN]"), "ids-not-integers"},
      {"infinite id", with_output("[1, -Infinity]"), "ids-not-integers"},
      {"nested ids", with_output("[[1, 2]]"), "ids-not-integers"},
      {"bool id", with_output("[1, true]"), "ids-not-integers"},
      {"ids a string", with_output("\"1 2\""), "ids-wrong-type"},
      {"ids an object", with_output("{\"0\": 1}"), "ids-wrong-type"},
      {"ids a number", with_output("7"), "ids-wrong-type"},
      {"no ids in output", R"({"id": "x", "prompt_token_ids": [1], "outputs": [{"text": "hello"}]})",
       "missing-output-ids"},
      {"empty ids", with_output("[]"), "empty-output"},
      {"no outputs", R"({"id": "x", "prompt_token_ids": [1], "outputs": []})", "empty-outputs"},
      {"outputs missing", R"({"id": "x", "prompt_token_ids": [1], "seed": 4})", "missing-output-ids"},
      {"outputs a string", R"({"id": "x", "prompt_token_ids": [1], "outputs": "hello"})", "wrong-type"},
      {"output a string", R"({"id": "x", "prompt_token_ids": [1], "outputs": ["hello"]})", "wrong-type"},
      {"prompt missing", R"({"id": "x", "outputs": [{"token_ids": [1]}]})", "missing-prompt-ids"},
      {"prompt empty", R"({"id": "x", "prompt_token_ids": [], "outputs": [{"token_ids": [1]}]})", "empty-prompt"},
      {"prompt a string", R"({"id": "x", "prompt_token_ids": "hi", "outputs": [{"token_ids": [1]}]})",
       "ids-wrong-type"},
      {"prompt id at V", R"({"id": "x", "prompt_token_ids": [2048], "outputs": [{"token_ids": [1]}]})",
       "ids-out-of-range"},
      {"id an object", R"({"id": {}, "prompt_token_ids": [1], "outputs": [{"token_ids": [1]}]})", "wrong-type"},
      {"seed a string", R"({"id": "x", "prompt_token_ids": [1], "seed": "7", "outputs": [{"token_ids": [1]}]})",
       "wrong-type"},
      {"seed a fraction", R"({"id": "x", "prompt_token_ids": [1], "seed": 7.5, "outputs": [{"token_ids": [1]}]})",
       "wrong-type"},
      {"no seed", R"({"id": "x", "prompt_token_ids": [1], "outputs": [{"token_ids": [1]}]})", "missing-seed", true},
      {"seed -1", R"({"id": "x", "prompt_token_ids": [1], "seed": -1, "outputs": [{"token_ids": [1]}]})",
       "seed-minus-one", true},
      {"seed 2^63",
       R"({"id": "x", "prompt_token_ids": [1], "seed": 9223372036854775808, "outputs": [{"token_ids": [1]}]})",
       "seed-out-of-range", true},
      {"temperature negative", with(R"("temperature": -1)"), "bad-parameter"},
      {"temperature 1e400", with(R"("temperature": 1e400)"), "bad-number"},
      {"temperature NaN", with(R"("temperature": NaN)"), "wrong-type"},
      {"temperature a string", with(R"("temperature": "1.0")"), "wrong-type"},
      {"top_p 1.5", with(R"("top_p": 1.5)"), "bad-parameter"},
      {"top_p 0", with(R"("top_p": 0)"), "bad-parameter"},
      {"top_k -7", with(R"("top_k": -7)"), "bad-parameter"},
      {"top_k fraction", with(R"("top_k": 0.5)"), "wrong-type"},
      {"min_p 2", with(R"("min_p": 2)"), "bad-parameter"},
      {"penalty 0", with(R"("repetition_penalty": 0)"), "bad-parameter"},
      {"bias of no token", with(R"("logit_bias": {"hello": 1})"), "bad-parameter"},
      {"beam search", with(R"("use_beam_search": true)"), "unmodelled-parameter", true},
      {"guided json", with(R"("guided_json": {"type": "object"})"), "unmodelled-parameter", true},
      {"record a number", "12", "wrong-type", false, false},
      {"record a list", "[1, 2]", "wrong-type"},
      {"record a string", "\"hello\"", "wrong-type"},
      {"record null", "null", "wrong-type"},
      {"unknown record", R"({"id": "x", "hello": "world"})", "unknown-record"},
      {"empty object", "{}", "unknown-record"},
      {"bare word", R"({"id": "x", "prompt_token_ids": [1], "a": tru, "outputs": []})", "invalid-json"},
      {"number 01", R"({"id": "x", "prompt_token_ids": [01], "outputs": []})", "bad-number"},
      {"bad escape", R"({"id": "\q", "prompt_token_ids": [1], "outputs": []})", "bad-string"},
      {"control character", "{\"id\": \"a\x01\", \"prompt_token_ids\": [1]}", "bad-string"},
      {"bad utf8", "{\"id\": \"\xff\xfe\", \"prompt_token_ids\": [1]}", "invalid-utf8"},
      {"deep nesting", R"({"id": "x", "a": )" + std::string(5000, '[') + std::string(5000, ']') + "}",
       "nesting-too-deep"},
      {"missing comma", R"({"id": "x" "prompt_token_ids": [1]})", "invalid-json"},
      {"missing colon", R"({"id" "x", "prompt_token_ids": [1]})", "invalid-json"},
      {"missing quote", R"({"id": "x, "prompt_token_ids": [1], "outputs": [{"token_ids": [2]}]})", "invalid-json"},
      {"missing bracket", R"({"id": "x", "prompt_token_ids": [1, "outputs": [{"token_ids": [2]}]})", "invalid-json"},
      {"wrong bracket", R"({"id": "x", "prompt_token_ids": [1}, "outputs": [{"token_ids": [2]}]})", "invalid-json"},
      {"missing brace", R"({"id": "x", "prompt_token_ids": [1], "outputs": [{"token_ids": [2]}])", "invalid-json"},
      {"trailing comma", R"({"id": "x", "prompt_token_ids": [1],})", "invalid-json"},
      {"cut", R"({"id": "x", "prompt_token_ids": [1, 2, 3)", "invalid-json"},
      {"duplicate", good_record(0), "duplicate-record"},
      {"id used twice", R"({"id": "q0", "prompt_token_ids": [9], "seed": 1, "outputs": [{"token_ids": [1]}]})",
       "duplicate-id", true},
  };
}

}  // namespace difr::testing
