package io.jrun.train.weights;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Which tensor of a module a tensor of a file is. */
@FunctionalInterface
public interface NameMapping {
    /** The module has the names of the file. */
    NameMapping SAME = Optional::of;

    /** The name in the module; empty for a tensor of the file that the module does not need. */
    Optional<String> modelName(String fileName);

    /**
     * A mapping by regular expressions. Each rule is applied once, in order, where its expression is found. Then a name that
     * one of {@code unused} matches as a whole is dropped.
     *
     * @param rules expression to replacement, as in {@link Matcher#replaceFirst(String)}
     * @param unused expressions of names that the module does not need
     */
    static NameMapping of(Map<String, String> rules, List<String> unused) {
        Map<Pattern, String> compiled = new LinkedHashMap<>();
        rules.forEach((expression, replacement) -> compiled.put(Pattern.compile(expression), replacement));
        List<Pattern> dropped = unused.stream().map(Pattern::compile).toList();
        return fileName -> {
            String name = fileName;
            for (Map.Entry<Pattern, String> rule : compiled.entrySet()) {
                name = rule.getKey().matcher(name).replaceFirst(rule.getValue());
            }
            String mapped = name;
            return dropped.stream().anyMatch(pattern -> pattern.matcher(mapped).matches())
                    ? Optional.empty()
                    : Optional.of(mapped);
        };
    }
}
