package io.jrun.train.jinja;

import java.time.LocalDateTime;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A template of Jinja with the blocks, filters, tests and functions that chat templates use, and the white space of
 * Hugging Face's environment ({@code trim_blocks} and {@code lstrip_blocks}). A rendering takes at most 1 million steps,
 * and makes texts of at most 67 million characters. Immutable and thread-safe.
 */
public final class Template {
    private final Statement statements;

    private Template(Statement statements) {
        this.statements = statements;
    }

    /**
     * Reads a template.
     *
     * @throws TemplateException with the line, if the text is no template, or uses a part of Jinja that is not supported
     */
    public static Template parse(String text) {
        return new Template(Parser.parse(text));
    }

    /**
     * Renders the template.
     *
     * @param variables values of JSON by name: Map, List, String, Long, Double, Boolean or null
     * @param now the time of {@code strftime_now}
     * @throws TemplateException with the line, if a value does not fit, if the template refuses the variables with {@code
     *     raise_exception}, or if the rendering exceeds a limit
     */
    public String render(Map<String, ? extends @Nullable Object> variables, LocalDateTime now) {
        Map<String, Object> names = new HashMap<>(Functions.all(now));
        variables.forEach((name, value) -> names.put(name, Values.of(value)));
        StringBuilder out = new StringBuilder();
        Statement.Flow _ = statements.run(Scope.of(names, new Budget()), out);
        return out.toString();
    }
}
