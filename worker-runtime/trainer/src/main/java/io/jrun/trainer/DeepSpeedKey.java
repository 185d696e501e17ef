package io.jrun.trainer;

import io.jrun.comm.spelling.SimilarName;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A key of DeepSpeed's configuration that this program knows, and its treatment. {@link DeepSpeedKeyTable} has all keys.
 *
 * @param treatment what becomes of the key
 * @param words for {@code IGNORED} why, for {@code REFUSED} why and what to do
 * @param defaults the values with which DeepSpeed does what this program does
 */
record DeepSpeedKey(Treatment treatment, String words, Set<Object> defaults) {
    static final String HOST_MEMORY = "the states are in host memory without the key too";

    /** The treatment of a key. */
    enum Treatment {
        /** Becomes options of this program. */
        MAPPED,
        /** Changes nothing here; rank 0 says so. */
        IGNORED,
        /** Ends the program, unless the value has no effect. */
        REFUSED
    }

    /** All keys by their path, with dots between the levels. The path {@code NAME.*} is all keys of an object. */
    private static final Map<String, DeepSpeedKey> ALL = DeepSpeedKeyTable.all();

    /** The paths of all objects that have a known key. */
    private static final Set<String> SECTIONS = sections();

    /** The object of a section in errors. All other sections have the key {@code enabled}. */
    private static final Map<String, String> EXAMPLES = Map.ofEntries(
            Map.entry("zero_optimization", "{\"stage\": 1}"),
            Map.entry("zero_optimization.offload_param", "{\"device\": \"cpu\"}"),
            Map.entry("zero_optimization.offload_optimizer", "{\"device\": \"cpu\"}"),
            Map.entry("zero_optimization.leaf_module", "{\"classes\": []}"),
            Map.entry("zero_optimization.zeropp_loco_param", "{\"err_beta\": 0.8}"),
            Map.entry("zero_optimization.zenflow", "{\"topk_ratio\": 0.1}"),
            Map.entry("optimizer", "{\"type\": \"AdamW\"}"),
            Map.entry("optimizer.params", "{\"lr\": 0.001}"),
            Map.entry("scheduler", "{\"type\": \"WarmupLR\"}"),
            Map.entry("scheduler.params", "{\"warmup_num_steps\": 100}"),
            Map.entry("tensor_parallel", "{\"autotp_size\": 2}"),
            Map.entry("tensor_parallel.partition_config", "{\"layer_specs\": []}"),
            Map.entry("data_types", "{\"grad_accum_dtype\": \"fp32\"}"),
            Map.entry("aio", "{\"block_size\": 1048576}"),
            Map.entry("checkpoint", "{\"tag_validation\": \"Warn\"}"),
            Map.entry("activation_checkpointing", "{\"partition_activations\": true}"),
            Map.entry("pipeline", "{\"stages\": 2}"),
            Map.entry("compile", "{\"deepcompile\": true}"),
            Map.entry("sparse_attention", "{\"mode\": \"fixed\"}"),
            Map.entry("compression_training", "{\"weight_quantization\": {}}"));

    /** The key of a path; empty if this program does not know the key. */
    static Optional<DeepSpeedKey> of(String path) {
        DeepSpeedKey key = ALL.get(path);
        for (int end = path.lastIndexOf('.'); key == null && end > 0; end = path.lastIndexOf('.', end - 1)) {
            key = ALL.get(path.substring(0, end) + ".*");
        }
        return Optional.ofNullable(key);
    }

    /** The name of the outermost object of a path. */
    static String group(String path) {
        int dot = path.indexOf('.');
        return dot < 0 ? path : path.substring(0, dot);
    }

    /** Whether a path is an object with known keys. */
    static boolean isSection(String path) {
        return SECTIONS.contains(path);
    }

    /** Whether a path is in an object whose keys have any form. */
    static boolean mayBeObject(String path) {
        return !ALL.containsKey(path) && of(path).isPresent();
    }

    /** A section as an object, in JSON. */
    static String example(String section) {
        return EXAMPLES.getOrDefault(section, "{\"enabled\": true}");
    }

    /** Says that this program does not know a path, with the place of the key or the nearest path. */
    static String unknown(String path) {
        String name = path.substring(path.lastIndexOf('.') + 1);
        List<String> places = ALL.keySet().stream()
                .filter(known -> known.endsWith("." + name))
                .toList();
        List<String> ofGroup = places.stream()
                .filter(known -> group(known).equals(group(path)))
                .toList();
        List<String> closest = ofGroup.isEmpty() ? places : ofGroup;
        if (closest.size() == 1) {
            return "this program does not know the key in this place. Its place is " + closest.getFirst();
        }
        Set<String> known = new LinkedHashSet<>(ALL.keySet());
        known.addAll(SECTIONS);
        known.removeIf(each -> each.endsWith(".*"));
        return "this program does not know the key"
                + SimilarName.of(path, known)
                        .map(near -> ". Did you mean " + near + "?")
                        .orElse("");
    }

    /** Whether DeepSpeed does with the value what this program does. */
    boolean isDefault(Object value) {
        boolean isNumber = value instanceof Number;
        return defaults.stream()
                .anyMatch(each -> each.equals(value)
                        || (isNumber
                                && each instanceof Number number
                                && number.doubleValue() == ((Number) value).doubleValue()));
    }

    private static Set<String> sections() {
        Set<String> sections = new LinkedHashSet<>();
        for (String path : ALL.keySet()) {
            for (int end = path.lastIndexOf('.'); end > 0; end = path.lastIndexOf('.', end - 1)) {
                sections.add(path.substring(0, end));
            }
        }
        return sections;
    }
}
