package io.jrun.train.weights;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Maps the names of tensors in a file to the names of tensors of a module. */
@FunctionalInterface
public interface NameMapping {
    /** The mapping for a module with the names of the file. */
    NameMapping SAME = Optional::of;

    /** The name in the module; empty for a tensor of the file that the module does not need. */
    Optional<String> modelName(String fileName);

    /**
     * A mapping by regular expressions. The mapping applies each rule once, in order, to the first match. If one of
     * {@code unused} matches the complete name, the result is empty.
     *
     * @param rules maps an expression to its replacement, see {@link Matcher#replaceFirst(String)}
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
