package io.jrun.train.weights;

import io.jrun.train.checkpoint.CheckpointException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;

/**
 * The part of a file that has the weights: the names that begin with one prefix. Training loops put the weights under a
 * key such as {@code model}, beside an optimizer, and wrappers of torch put words such as {@code module} before the
 * names of the wrapped module.
 */
final class FileSection {
    /** The words that wrappers of torch put inside of names; no module has such names of its own. */
    private static final Pattern WRAPPER =
            Pattern.compile("(?<=^|\\.)(_orig_mod|_fsdp_wrapped_module|_fpw_module|_checkpoint_wrapped_module)\\.");

    /** The keys that training loops use for the weights. A file with another complete section is not ambiguous. */
    private static final Set<String> USUAL = Set.of("model", "state_dict", "model_state_dict", "module");

    /** A longer prefix is no prefix of a training loop. */
    private static final int MAX_WORDS = 6;

    private FileSection() {}

    /** The name without the words of wrappers. */
    static String unwrapped(String name) {
        return name.contains("._") || name.startsWith("_")
                ? WRAPPER.matcher(name).replaceAll("")
                : name;
    }

    /**
     * The prefix of the section that has the most tensors of a module; the empty text for the whole file. Of several
     * such prefixes the shortest.
     *
     * @param names unwrapped names of the file
     * @param wanted the tensors of the module
     * @param toModel maps a name after its prefix to a tensor of the module
     * @throws CheckpointException if several sections have all tensors, and none has the usual key
     */
    static String find(
            Collection<String> names, Set<String> wanted, Function<String, Optional<String>> toModel, String path) {
        Set<String> whole = new HashSet<>();
        names.forEach(name -> toModel.apply(name).filter(wanted::contains).ifPresent(whole::add));
        if (whole.size() == wanted.size()) {
            return "";
        }
        Map<String, Set<String>> found = new HashMap<>();
        found.put("", whole);
        for (String name : names) {
            int dot = name.indexOf('.');
            for (int words = 1; words <= MAX_WORDS && dot >= 0; words++) {
                String prefix = name.substring(0, dot + 1);
                toModel.apply(name.substring(dot + 1))
                        .filter(wanted::contains)
                        .ifPresent(own -> found.computeIfAbsent(prefix, _ -> new HashSet<>())
                                .add(own));
                dot = name.indexOf('.', dot + 1);
            }
        }
        List<String> complete = new ArrayList<>();
        found.keySet().stream()
                .filter(prefix -> found.getOrDefault(prefix, Set.of()).size() == wanted.size())
                .sorted(Comparator.comparingInt(String::length).thenComparing(Comparator.naturalOrder()))
                .filter(prefix -> complete.stream().noneMatch(prefix::startsWith))
                .forEach(complete::add);
        if (complete.size() > 1) {
            return usual(complete, path);
        }
        return complete.isEmpty() ? largest(found) : complete.getFirst();
    }

    private static String usual(List<String> complete, String path) {
        List<String> usual = complete.stream()
                .filter(prefix -> USUAL.contains(prefix.substring(0, prefix.indexOf('.'))))
                .toList();
        if (usual.size() != 1) {
            throw new CheckpointException(path + " has the weights of the model several times: under "
                    + String.join(", ", complete.stream().limit(5).toList()) + ". Save one of them alone.");
        }
        return usual.getFirst();
    }

    private static String largest(Map<String, Set<String>> found) {
        return found.entrySet().stream()
                .max(Comparator.<Map.Entry<String, Set<String>>>comparingInt(
                                entry -> entry.getValue().size())
                        .thenComparingInt(entry -> -entry.getKey().length())
                        .thenComparing(Map.Entry::getKey))
                .map(Map.Entry::getKey)
                .orElse("");
    }
}
