package io.jrun.models.lora;

import io.jrun.models.transformer.ConfigFields;
import io.jrun.train.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The projections of a model that get adapters, with their ranks and factors. Source of the rules: PEFT's
 * {@code tuners_utils.py} and {@code lora/layer.py}.
 *
 * @param selects whether the projection with a name gets an adapter
 * @param rank the rank of a projection without a pattern of its own
 * @param alpha the alpha of a projection without a pattern of its own
 * @param isRankStabilized the factor is alpha / sqrt(rank) instead of alpha / rank
 * @param ranks ranks by expressions for the ends of names
 * @param alphas alphas by expressions for the ends of names
 * @param json the text of the file; empty for new adapters
 * @param notes lines about fields of the file that have no effect
 */
record AdapterPlan(
        Predicate<String> selects,
        long rank,
        double alpha,
        boolean isRankStabilized,
        Map<String, Long> ranks,
        Map<String, Double> alphas,
        Optional<String> json,
        List<String> notes) {
    /** Wider than each published model: a larger rank in a file is an error of the file. */
    private static final long MAX_RANK = 1 << 16;

    private static final double DEFAULT_ALPHA = 8;
    private static final String TARGETS = "target_modules";
    private static final String EXCLUDED = "exclude_modules";
    private static final String LAYERS = "layers_to_transform";
    private static final String INITIAL = "init_lora_weights";

    /** First values of adapters that leave the weights of the model as they are. */
    private static final Set<String> PLAIN_INITIAL = Set.of("gaussian", "eva", "orthogonal");

    /** The number of a layer: the first number of a name. */
    private static final Pattern LAYER = Pattern.compile(".*?\\.[^.]*\\.(?<number>\\d{1,9})\\..*");

    /** New adapters. */
    static AdapterPlan of(LoraOptions options) {
        return new AdapterPlan(
                name -> endsWithAny(name, options.targets()),
                options.rank(),
                options.alpha(),
                false,
                Map.of(),
                Map.of(),
                Optional.empty(),
                List.of());
    }

    /**
     * Reads {@code adapter_config.json} of PEFT.
     *
     * @param outputLayer the name of the layer that {@code all-linear} leaves out
     * @throws IllegalArgumentException in one line, if the file asks for adapters that jrun lacks
     */
    static AdapterPlan read(Path file, String outputLayer) throws IOException {
        JsonObject json = JsonObject.read(file);
        String type = json.text("peft_type").orElse("none");
        if (!type.equals("LORA")) {
            throw new IllegalArgumentException(file + " has the peft_type '" + type + "'; jrun has LORA");
        }
        List<String> notes = fields(json, file).notes();
        requirePlainInitialValues(json, file);
        long rank = rank(json, "r", file);
        Map<String, Long> ranks = new LinkedHashMap<>();
        Map<String, Double> alphas = new LinkedHashMap<>();
        if (json.has("rank_pattern")) {
            JsonObject pattern = json.object("rank_pattern");
            pattern.keys().forEach(key -> ranks.put(key, rank(pattern, key, file)));
        }
        if (json.has("alpha_pattern")) {
            JsonObject pattern = json.object("alpha_pattern");
            pattern.keys().forEach(key -> alphas.put(key, pattern.number(key)));
        }
        Predicate<String> targets = targets(json, file, outputLayer);
        Predicate<String> excluded = json.has(EXCLUDED) ? names(json, EXCLUDED) : _ -> false;
        return new AdapterPlan(
                name -> targets.test(name) && !excluded.test(name),
                rank,
                json.number("lora_alpha", DEFAULT_ALPHA),
                json.flag("use_rslora", false),
                ranks,
                alphas,
                Optional.of(Files.readString(file)),
                notes);
    }

    private static ConfigFields fields(JsonObject json, Path file) {
        return new ConfigFields(json, file.toString(), "jrun's LoRA")
                .read("peft_type", "r", "lora_alpha", TARGETS, EXCLUDED, LAYERS, "layers_pattern", "rank_pattern")
                .read("alpha_pattern", "use_rslora", INITIAL)
                .flag("use_dora", false)
                .flag("lora_bias", false)
                .flag("use_qalora", false)
                .flag("ensure_weight_tying", false)
                .text("bias", "none")
                .absent("modules_to_save", "trainable_token_indices", "target_parameters", "layer_replication")
                .absent("alora_invocation_tokens", "megatron_config", "use_bdlora", "arrow_config", "kasa_config")
                .absent("velora_config", "monteclora_config")
                .withoutEffect("auto_mapping", "base_model_name_or_path", "revision", "task_type", "inference_mode")
                .withoutEffect("peft_version", "runtime_config", "megatron_core", "qalora_group_size")
                .withoutEffect("fan_in_fan_out") // PEFT corrects a wrong value by the type of the layer.
                .withoutEffect("lora_dropout") // jrun trains without dropout.
                // Settings of first values that another program has computed.
                .withoutEffect("loftq_config", "eva_config", "corda_config", "lora_ga_config");
    }

    /** Some first values also change the weights of the model. Such adapters fit the changed weights only. */
    private static void requirePlainInitialValues(JsonObject json, Path file) {
        if (json.isText(INITIAL)) {
            String initial = json.text(INITIAL).orElse("");
            if (!PLAIN_INITIAL.contains(initial)) {
                throw new IllegalArgumentException(file + ": '" + INITIAL + "' is '" + initial + "', which changes the"
                        + " weights of the model; jrun supports true, false, gaussian, eva and orthogonal. Save the"
                        + " adapters with save_pretrained(path_initial_model_for_weight_conversion=...), which converts"
                        + " them");
            }
        } else {
            boolean _ = json.flag(INITIAL, true);
        }
    }

    private static long rank(JsonObject json, String key, Path file) {
        long rank = json.integer(key);
        if (rank < 1 || rank > MAX_RANK) {
            throw new IllegalArgumentException(
                    file + ": '" + key + "' has the rank " + rank + ", expected 1 to " + MAX_RANK);
        }
        return rank;
    }

    private static Predicate<String> targets(JsonObject json, Path file, String outputLayer) {
        if (json.isText(TARGETS)) {
            String text = json.text(TARGETS).orElse("");
            return text.equalsIgnoreCase(LoraOptions.ALL_LINEAR)
                    ? name -> !name.equals(outputLayer)
                    : names(json, TARGETS);
        }
        List<String> names = json.texts(TARGETS);
        if (names.isEmpty()) {
            throw new IllegalArgumentException(file + " lacks '" + TARGETS + "'");
        }
        if (!json.has(LAYERS) || (json.isList(LAYERS) && json.size(LAYERS) == 0)) {
            return name -> endsWithAny(name, names);
        }
        List<Long> layers = json.isList(LAYERS) ? json.integers(LAYERS) : List.of(json.integer(LAYERS));
        List<String> above = json.isText("layers_pattern")
                ? List.of(json.text("layers_pattern").orElse(""))
                : json.texts("layers_pattern");
        return name -> names.contains(name) || (endsWithAny(name, names) && layers.contains(layer(name, above)));
    }

    /** The number of the layer that has a projection; -1 without one. */
    private static long layer(String name, List<String> above) {
        Matcher number = LAYER.matcher(name);
        if (!number.matches()) {
            return -1;
        }
        String parent = name.substring(0, number.start("number") - 1);
        boolean isAsked =
                above.isEmpty() || above.stream().anyMatch(word -> BoundedText.matches("(.*\\.)?" + word, parent));
        return isAsked ? Long.parseLong(number.group("number")) : -1;
    }

    /** An expression for whole names, or a list of the ends of names. */
    private static Predicate<String> names(JsonObject json, String key) {
        if (json.isText(key)) {
            String expression = json.text(key).orElse("");
            return name -> BoundedText.matches(expression, name);
        }
        List<String> ends = json.texts(key);
        return name -> endsWithAny(name, ends);
    }

    static boolean endsWithAny(String name, List<String> ends) {
        return ends.stream().anyMatch(end -> name.equals(end) || name.endsWith("." + end));
    }

    /** The rank of the adapter of a projection. */
    long rank(String name) {
        return byPattern(ranks, name).orElse(rank);
    }

    /** The factor of the output of the adapter of a projection. */
    double factor(String name) {
        double ofName = byPattern(alphas, name).orElse(alpha);
        return isRankStabilized ? ofName / Math.sqrt((double) rank(name)) : ofName / rank(name);
    }

    private static <T> Optional<T> byPattern(Map<String, T> patterns, String name) {
        return patterns.entrySet().stream()
                .filter(entry -> BoundedText.matches("(.*\\.)?(" + entry.getKey() + ")", name))
                .findFirst()
                .map(Map.Entry::getValue);
    }
}
