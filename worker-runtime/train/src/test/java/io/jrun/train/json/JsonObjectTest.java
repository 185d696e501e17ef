package io.jrun.train.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
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
                .hasMessage("config.json: 'name' is gpt2, expected a whole number");
        assertThatThrownBy(() -> CONFIG.object("inner").integer("y")).hasMessage("config.json: inner lacks 'y'");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "[1]            | expected '{'",
                "{\"a\":01}     | leading zeros",
                "{\"a\":-}      | a digit",
                "{\"a\":1.}     | a digit",
                "{\"a\":1e}     | a digit",
                "{\"a\":.5}     | a value",
                "{\"a\":tru}    | a value",
                "{\"a\":NaN}    | a value",
                "{\"a\":null,\"a\":null} | key 'a' occurs twice",
                "{\"a\":1,}     | expected '\"'",
                "{\"a\":\"\\x\"} | a known escape"
            })
    void everythingElseIsRefused(String text, String message) {
        assertThatThrownBy(() -> JsonObject.parse("x.json", text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("x.json is no JSON object: ")
                .hasMessageContaining(message);
    }
}
