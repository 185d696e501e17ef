package io.jrun.train.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JsonObjectTest {
    private static final JsonObject CONFIG = JsonObject.parse("config.json", """
            {"layers": 12, "negative": -3, "epsilon": 1e-05, "fraction": -0.25, "tied": true, "untied": false,
             "none": null, "name": "gpt2", "list": ["a", "b"], "inner": {"x": 1}}""");

    @Test
    void readsEveryKindOfValue() {
        assertThat(CONFIG.integer("layers")).isEqualTo(12);
        assertThat(CONFIG.integer("negative")).isEqualTo(-3);
        assertThat(CONFIG.number("epsilon", 1)).isEqualTo(1e-5);
        assertThat(CONFIG.number("fraction", 1)).isEqualTo(-0.25);
        assertThat(CONFIG.number("layers", 1)).isEqualTo(12);
        assertThat(CONFIG.flag("tied", false)).isTrue();
        assertThat(CONFIG.flag("untied", true)).isFalse();
        assertThat(CONFIG.has("none")).isFalse();
        assertThat(CONFIG.text("name")).hasValue("gpt2");
        assertThat(CONFIG.texts("list")).containsExactly("a", "b");
        assertThat(CONFIG.object("inner").integer("x")).isEqualTo(1);
    }

    @Test
    void anAbsentValueIsItsDefault() {
        assertThat(CONFIG.integer("absent", 7)).isEqualTo(7);
        assertThat(CONFIG.number("none", 0.5)).isEqualTo(0.5);
        assertThat(CONFIG.flag("absent", true)).isTrue();
        assertThat(CONFIG.text("absent")).isEmpty();
        assertThat(CONFIG.texts("absent")).isEmpty();
    }

    @Test
    void errorsNameSourceAndKey() {
        assertThatThrownBy(() -> CONFIG.integer("heads")).hasMessage("config.json lacks 'heads'");
        assertThatThrownBy(() -> CONFIG.integer("name"))
                .hasMessage("config.json: 'name' is 'gpt2', expected a whole number");
        assertThatThrownBy(() -> CONFIG.object("inner").integer("y")).hasMessage("config.json: inner lacks 'y'");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "[1]                | 1:1: found '[', expected '{'",
                "``                 | 1:1: found the end, expected '{'",
                "hello              | 1:1: found 'hello', expected a value",
                "{                  | 1:2: found the end, expected '}' of the object: it begins at line 1, column 1",
                "{\"a\":1}}         | 1:8: found '}', expected the end of the text",
                "{\"a\":[          | 1:7: found the end, expected ']' of the list: it begins at line 1, column 6",
                "{\"a\":1] x        | 1:7: found ']', expected '}' (for Object starting at line 1, column 1)",
                "{\"a\":1} x        | 1:9: found 'x', expected the end of the text",
                "{\"a\":1} {}       | 1:9: found '{', expected the end of the text",
                "{\"a\":01}         | 1:7: found a number with leading zeros",
                "{\"a\":-}          | 1:7: found '}', expected a digit",
                "{\"a\":1.}         | 1:7: found '}', expected a digit",
                "{\"a\":1e}         | 1:7: found '}', expected a digit",
                "{\"a\":+1}         | 1:7: found '+'",
                "{\"a\":.5}         | 1:6: found '.', expected a value",
                "{\"a\":}           | 1:6: found '}', expected a value",
                "{\"a\":tru}        | 1:6: found 'tru', expected a value",
                "{\"a\":NaN}        | 1:9: the value 'NaN' is not JSON",
                "{\"a\":1e999}      | 1:6: the number 1e999 is beyond 64 bits",
                "{\"a\" 1}          | 1:6: found '1', expected ':'",
                "{\"a\":1 \"b\":2}  | 1:8: found '\"', expected ',' or '}'",
                "{\"a\":[1 2]}      | 1:9: found '2', expected ',' or ']'",
                "{\"a\":[1,]}       | 1:9: found ']', expected a value",
                "{\"a\":null,\"a\":null} | 1:11: key 'a' occurs twice",
                "{\"a\":1,}         | 1:8: found '}', expected a key in double quotes",
                "{a:1}              | 1:2: found 'a', expected a key in double quotes",
                "{\"a\":1 // one    | 1:8: found '/', expected no comment",
                "{\"a\":\"\\x\"}    | 1:8: found an unknown escape behind a backslash: 'x'",
                "{\"a\":\"\\ud8\"}  | 1:11: found '\"', expected four hexadecimal digits",
                "{\"a\":\"\t\"}     | 1:7: found the control character 9 in a string, expected an escape",
                "{\"a\":\"x\\ud83dy\"} | 1:6: the string has half a surrogate pair, \\ud83d",
                "{\"a\":\"\\ude00\\ud83d\"} | 1:6: the string has half a surrogate pair, \\ude00",
                "{\"\\ud83d\":1}    | 1:9: the key has half a surrogate pair",
            })
    void anErrorSaysLineAndColumnWhatStandsThereAndWhatIsExpected(String text, String message) {
        String place = message.replaceFirst("^(\\d+):(\\d+): ", "x.json, line $1, column $2: ");
        assertThatThrownBy(() -> JsonObject.parse("x.json", text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(place);
        String later = place.replace("line 1", "line 3");
        assertThatThrownBy(() -> JsonObject.parse("x.json", "\n\n" + text))
                .hasMessageStartingWith(
                        text.isEmpty() ? "x.json, line 3" : later.replaceFirst("at line 1", "at line 3"));
    }

    @Test
    void aFileMayHaveAByteOrderMarkAndAnErrorNamesTheLineThatIsNotUtf8(@TempDir Path folder) throws IOException {
        Path marked = Files.writeString(folder.resolve("marked.json"), "\uFEFF{\"a\": \"\\ud83d\\ude00\"}");
        assertThat(JsonObject.read(marked).text("a")).hasValue("😀");
        Path latin =
                Files.write(folder.resolve("latin.json"), "{\n\"a\": \"é\"}".getBytes(StandardCharsets.ISO_8859_1));
        assertThatThrownBy(() -> JsonObject.read(latin)).hasMessage(latin + ": line 2 is not UTF-8 text");
    }

    @Test
    void whatIsWrittenIsReadAgain() {
        Map<String, Object> object = new LinkedHashMap<>();
        object.put("text", "\" \\ / \b\f\n\r\t \u001b \u007f é \u2028 😀");
        object.put("list", List.of(1L, Long.MIN_VALUE, true));
        object.put("number", new BigDecimal("0.000000015"));
        String text = JsonWriter.write(object);
        assertThat(text)
                .isEqualTo(
                        "{\"text\":\"\\\" \\\\ / \\b\\f\\n\\r\\t \\u001b \u007f é \u2028 😀\",\"list\":[1,-9223372036854775808,"
                                + "true],\"number\":0.000000015}");
        object.put("number", 1.5e-8);
        assertThat(JsonReader.readObject(text)).isEqualTo(object);
        assertThatThrownBy(() -> JsonWriter.write(Map.of("a", "x\ud83d")))
                .hasMessage("a text has half a surrogate pair, \\ud83d, at character 1: x\ud83d");
    }

    /** Hugging Face writes 10^30 as the longest text of a tokenizer without a limit. */
    @Test
    void aNumberBeyond64BitsIsAnErrorForTheReaderOfItsKeyOnly() {
        JsonObject json =
                JsonObject.parse("x.json", "{\"a\":1000000000000000019884624838656,\"b\":-9223372036854775808}");
        assertThat(json.integer("b")).isEqualTo(Long.MIN_VALUE);
        assertThat(json.number("a")).isEqualTo(1e30);
        assertThatThrownBy(() -> json.integer("a"))
                .hasMessage("x.json: 'a' is 1000000000000000019884624838656, beyond 64 bits, expected a whole number");
    }
}
