package io.jrun.trainer;

import io.jrun.train.json.OneLine;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The options that follow from DeepSpeed's values, by the paths of their keys. */
final class DeepSpeedOptions {
    private static final int STAGES = 3;
    private static final String OFFLOAD_PARAMETERS = "zero_optimization.offload_param.device";
    private static final String OFFLOAD_OPTIMIZER = "zero_optimization.offload_optimizer.device";

    private final String source;
    private final Map<String, Object> values;
    private MeshSizes sizes;
    private final List<String> options = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();

    DeepSpeedOptions(String source, Map<String, Object> values, MeshSizes sizes) {
        this.source = source;
        this.values = values;
        this.sizes = sizes;
    }

    /** Notes about values that change nothing. */
    List<String> notes() {
        return notes;
    }

    /** All options. */
    List<String> all() {
        axes();
        batches();
        long stage = whole("zero_optimization.stage", 0);
        if (stage < 0 || stage > STAGES) {
            throw refused("zero_optimization.stage", "the stages are 0 to 3, not " + stage);
        }
        optimizer(stage);
        new DeepSpeedSchedule(this).addTo(options);
        share(stage);
        offload(stage);
        // max_grad_norm is an old name.
        for (String clipping : List.of("gradient_clipping", "optimizer.params.max_grad_norm")) {
            if (has(clipping)) {
                options.add("--clip=" + number(clipping, 0));
                break;
            }
        }
        precision();
        if (has("steps_per_print")) {
            options.add("--log-every=" + positive("steps_per_print"));
        }
        return options;
    }

    private void precision() {
        Set<String> enabled = new LinkedHashSet<>();
        for (String section : List.of("bf16", "bfloat16")) {
            if (flag(section + ".enabled", false)) {
                enabled.add("bf16");
            }
        }
        if (flag("torch_autocast.enabled", false)) {
            enabled.add(autocast());
        }
        if (flag("fp16.enabled", false)) {
            if (enabled.contains("bf16")) {
                throw refused("fp16.enabled", "bf16 is enabled too: enable one of the two");
            }
            enabled.add("f16");
        }
        if (enabled.size() > 1) {
            throw refused("torch_autocast.dtype", "another type is enabled too: enable one of the two");
        }
        enabled.forEach(type -> options.add("--precision=" + type));
    }

    private String autocast() {
        Object type = values.getOrDefault("torch_autocast.dtype", "bfloat16");
        return switch (type.toString().replace("torch.", "")) {
            case "bfloat16", "bf16" -> "bf16";
            case "float16", "fp16", "half" -> "f16";
            default -> throw refused("torch_autocast.dtype", "the types are bfloat16 and float16, not " + type);
        };
    }

    private void axes() {
        long tensor = whole("tensor_parallel.autotp_size", 1);
        if (tensor > 1 && !sizes.hasTensor()) {
            options.add("--tp=" + tensor);
            sizes = sizes.with(tensor);
        }
        long context = whole("sequence_parallel_size", 1);
        if (context > 1 && !sizes.hasContext()) {
            options.add("--cp=" + context);
            options.add("--cp-exchange=ulysses");
            sizes = sizes.with(context);
        }
        if (!sizes.fits()) {
            throw refused(
                    "mesh",
                    "the ranks of --tp, --pp and --cp are " + sizes.others() + ", which does not divide the "
                            + sizes.ranks() + " ranks of the job");
        }
    }

    /** All data ranks share the states, or groups of them (MiCS, and hpZ of ZeRO++). */
    private void share(long stage) {
        if (stage == 0) {
            return;
        }
        long shards = Math.max(1, sizes.dataRanks() / sizes.copies());
        long group = whole("zero_optimization.mics_shard_size", -1);
        if (group > 0 && group < shards) {
            requireStageThree("zero_optimization.mics_shard_size", stage);
            if (shards % group != 0) {
                throw refused(
                        "zero_optimization.mics_shard_size", group + " does not divide the " + shards + " data ranks");
            }
            shards = group;
        }
        options.add("--zero=" + stage);
        options.add("--shard=" + shards);
        long kept = whole("zero_optimization.zero_hpz_partition_size", 1);
        if (kept > 1) {
            requireStageThree("zero_optimization.zero_hpz_partition_size", stage);
            options.add("--reshard-after-forward=" + kept);
        }
    }

    private void requireStageThree(String path, long stage) {
        if (stage != STAGES) {
            throw refused(path, "needs stage 3");
        }
    }

    /** Parameters on NVMe take the gradients and the optimizer's states with them. */
    private void offload(long stage) {
        Object parameters = device(OFFLOAD_PARAMETERS);
        Object states = device(OFFLOAD_OPTIMIZER);
        if (!parameters.equals("nvme")) {
            if (states.equals("nvme")) {
                throw refused(
                        OFFLOAD_OPTIMIZER,
                        "the states of the optimizer go to files with the parameters: give"
                                + " offload_param with nvme too");
            }
            return;
        }
        if (stage != STAGES) {
            throw refused(OFFLOAD_PARAMETERS, "parameters in files need stage 3");
        }
        Object path = values.get("zero_optimization.offload_param.nvme_path");
        if (path == null) {
            throw refused(OFFLOAD_PARAMETERS, "nvme needs nvme_path, the folder of the files");
        }
        if (!(path instanceof String)) {
            throw refused("zero_optimization.offload_param.nvme_path", "expected the path of a folder, not " + path);
        }
        options.add("--offload=" + path);
    }

    private Object device(String path) {
        Object device = values.getOrDefault(path, "none");
        if (device.equals("cpu")) {
            notes.add(DeepSpeedConfig.ignored(source, path, DeepSpeedKey.HOST_MEMORY));
        } else if (!device.equals("none") && !device.equals("nvme")) {
            throw refused(path, "the devices are none, cpu and nvme, not " + device);
        }
        return device;
    }

    /** DeepSpeed's rule: train_batch_size = micro-batch x accumulation x ranks; any two give the third. */
    private void batches() {
        long ranks = sizes.dataRanks();
        long all = positive("train_batch_size");
        long micro = positive("train_micro_batch_size_per_gpu");
        long steps = positive("gradient_accumulation_steps");
        if (all == 0 && micro == 0) {
            if (steps > 0) {
                options.add("--accumulate=" + steps);
            }
            return;
        }
        if (all == 0) {
            steps = Math.max(1, steps);
            all = micro * steps * ranks;
        } else if (micro == 0) {
            steps = Math.max(1, steps);
            micro = all / ranks / steps;
        } else if (steps == 0) {
            steps = all / micro / ranks;
        }
        if (all != micro * steps * ranks || micro < 1) {
            throw refused(
                    "train_batch_size",
                    "train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size: " + all
                            + " != " + micro + " * " + steps + " * " + ranks);
        }
        options.add("--micro-batch=" + micro);
        options.add("--accumulate=" + steps);
    }

    private void optimizer(long stage) {
        Object type = values.get("optimizer.type");
        if (type == null) {
            if (stage > 0) {
                options.add("--optimizer=fused");
            }
            return;
        }
        switch (type.toString()) {
            case "AdamW", "Adam" -> adam(type);
            case "SGD" -> {
                // Ranks cannot share the states of libtorch's optimizers.
                options.add(stage == 1 || stage == 2 ? "--optimizer=fused-sgd" : "--optimizer=sgd");
                options.add("--momentum=" + number("optimizer.params.momentum", 0));
            }
            default -> throw refused("optimizer.type", "this program has AdamW and SGD, not " + type);
        }
        if (has("optimizer.params.weight_decay")) {
            options.add("--weight-decay=" + number("optimizer.params.weight_decay", 0));
        }
        if (has("optimizer.params.lr")) {
            options.add("--lr=" + number("optimizer.params.lr", 0));
        }
    }

    private void adam(Object type) {
        boolean isDecayApart = flag("optimizer.params.adam_w_mode", true);
        if (type.equals("Adam") && !isDecayApart) {
            throw refused(
                    "optimizer.params.adam_w_mode",
                    "this program has AdamW, not Adam with the decay in the gradient: give true");
        }
        if (!flag("optimizer.params.bias_correction", true)) {
            throw refused("optimizer.params.bias_correction", "AdamW corrects the bias of its means: give true");
        }
        options.add("--optimizer=fused");
        if (has("optimizer.params.betas")) {
            if (!(values.get("optimizer.params.betas") instanceof List<?> betas) || betas.size() != 2) {
                throw refused(
                        "optimizer.params.betas", "expected two numbers, not " + values.get("optimizer.params.betas"));
            }
            options.add("--betas=" + betas.stream().map(this::textOfNumber).collect(Collectors.joining(",")));
        }
        if (has("optimizer.params.eps")) {
            options.add("--eps=" + number("optimizer.params.eps", 0));
        }
    }

    private String textOfNumber(@Nullable Object value) {
        if (value instanceof Number number) {
            return Double.toString(number.doubleValue());
        }
        throw refused("optimizer.params.betas", "expected numbers, not " + value);
    }

    boolean has(String path) {
        return values.containsKey(path);
    }

    @Nullable
    Object value(String path) {
        return values.get(path);
    }

    /** The paths of the configuration that begin so. */
    List<String> paths(String prefix) {
        return values.keySet().stream().filter(path -> path.startsWith(prefix)).toList();
    }

    long whole(String path, long fallback) {
        Object value = values.get(path);
        if (value == null) {
            return fallback;
        }
        if (value instanceof Number number && number.doubleValue() == Math.rint(number.doubleValue())) {
            return number.longValue();
        }
        throw refused(path, "expected a whole number, not " + shown(value));
    }

    /** The number of something; 0 without the key. */
    private long positive(String path) {
        long value = whole(path, 0);
        if (has(path) && value < 1) {
            throw refused(path, "expected at least 1, not " + value);
        }
        return value;
    }

    double number(String path, double fallback) {
        Object value = values.get(path);
        if (value == null) {
            return fallback;
        }
        if (value instanceof Number number) {
            return number.doubleValue();
        }
        throw refused(path, "expected a number, not " + shown(value));
    }

    /** The value with the quotes of a text: the text "true" is no truth value. */
    private static String shown(Object value) {
        return OneLine.of(value instanceof String ? "\"" + value + "\"" : String.valueOf(value));
    }

    private boolean flag(String path, boolean fallback) {
        Object value = values.getOrDefault(path, fallback);
        if (value instanceof Boolean truth) {
            return truth;
        }
        throw refused(path, "expected true or false, not " + shown(value));
    }

    InvalidArgumentException refused(String path, String why) {
        return DeepSpeedConfig.refused(source, path, why);
    }
}
