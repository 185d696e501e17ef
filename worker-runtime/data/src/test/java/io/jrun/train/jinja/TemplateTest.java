package io.jrun.train.jinja;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.json.JsonReader;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TemplateTest {
    private static final LocalDateTime NOW = LocalDateTime.of(2026, 3, 5, 9, 8, 7);

    /** The texts are those of jinja2, see make.py. Where jinja2 fails, the template fails here too. */
    @Test
    void templatesGiveTheTextsOfJinja2() throws IOException {
        int refused = 0;
        List<String> lines = resource("cases.jsonl").lines().toList();
        assertThat(lines).hasSizeGreaterThan(150);
        for (String line : lines) {
            Map<String, @Nullable Object> golden = JsonReader.readObject(line);
            String name = String.valueOf(golden.get("name"));
            Object inline = golden.get("template");
            String template =
                    inline == null ? resource("templates/" + name.split(" ", 2)[0] + ".jinja") : inline.toString();
            Object text = golden.get("text");
            if (text == null) {
                refused++;
                assertThatThrownBy(() -> rendered(template, variables(golden)), "%s: %s", name, template)
                        .isInstanceOf(TemplateException.class)
                        .hasMessageMatching("line \\d+ of the template: [^\n]+");
            } else {
                assertThat(rendered(template, variables(golden)))
                        .as(name + ": " + template)
                        .isEqualTo(text);
            }
        }
        assertThat(refused).as("cases that jinja2 refuses").isBetween(10, lines.size() / 2);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, @Nullable Object> variables(Map<String, @Nullable Object> golden) {
        return (Map<String, @Nullable Object>) Objects.requireNonNull(golden.get("variables"));
    }

    private static String rendered(String template, Map<String, @Nullable Object> variables) {
        return Template.parse(template).render(variables, NOW);
    }

    private static String resource(String name) throws IOException {
        try (InputStream in = TemplateTest.class.getResourceAsStream(name)) {
            return new String(Objects.requireNonNull(in).readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "a\n{{ 1 + }};line 2 of the template: found 'the end of the tag', expected an expression",
                "{{ x;line 1 of the template: the tag has no end }}",
                "{% if x %}a;line 1 of the template: found the end of the template, expected endif",
                "{% include 'x' %};line 1 of the template: the block 'include' is not supported",
                "{{ 1 | sha }};line 1 of the template: there is no filter 'sha'",
                "{{ 1 is odder }};line 1 of the template: there is no test 'odder'",
                "\n\n{{ q.x }};line 3 of the template: cannot take '.x' of undefined ('q' has no value)",
                "{{ 1 + 'a' }};line 1 of the template: cannot compute a number + a text",
                "{{ (1).__class__ }}{{ ''.__class__.mro() }};line 1 of the template: cannot take '.mro' of undefined",
                "{{ [].append(1) }};line 1 of the template: cannot call undefined ('append' has no value)",
                "{{ 9223372036854775807 + 1 }};line 1 of the template: the result of + has more than 64 bits",
                "{% for i in range(9999999) %}{% endfor %};line 1 of the template: range has more than 1000000 numbers",
                "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %};more than 1000000 steps",
                "{{ 'ab' * 999999999 }};a text of 1999999998 characters is longer than the limit",
                "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }};calls of macros are nested more than 100 deep",
                "{% set x.y = 1 %};cannot set '.y' of 'x', which is no namespace"
            })
    void whatCannotBeRenderedIsOneLine(String templateAndMessage) {
        String[] parts = templateAndMessage.split(";", 2);
        assertThatThrownBy(() -> rendered(parts[0], Map.of()))
                .isInstanceOf(TemplateException.class)
                .hasMessageContaining(parts[1]);
    }

    @Test
    void deepTemplatesAreRefused() {
        assertThatThrownBy(() -> rendered("{{ " + "(".repeat(1000) + "1" + ")".repeat(1000) + " }}", Map.of()))
                .hasMessageContaining("100 deep");
        assertThatThrownBy(() -> rendered("{% if 1 %}".repeat(1000), Map.of())).hasMessageContaining("100 deep");
        for (String part : List.of("not ", "-", "1+", "''.strip().", "1|")) {
            assertThatThrownBy(() -> rendered("{{ " + part.repeat(100_000) + "1 }}", Map.of()))
                    .isInstanceOf(TemplateException.class);
        }
        assertThat(rendered("{{ " + "1 + ".repeat(300) + "1 }}", Map.of())).isEqualTo("301");
    }
}
