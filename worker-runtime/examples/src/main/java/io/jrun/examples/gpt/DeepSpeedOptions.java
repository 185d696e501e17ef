package io.jrun.examples.gpt;

import io.jrun.examples.options.InvalidArgumentException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The options that follow from DeepSpeed's values, by the paths of their keys. */
final class DeepSpeedOptions {
    private static final int STAGES = 3;
    private static final String OFFLOAD_PARAMETERS = "zero_optimization.offload_param.device";
    private static final String OFFLOAD_OPTIMIZER = "zero_optimization.offload_optimizer.device";

    private final String source;
    private final Map<String, Object> values;
    private final List<String> options = new ArrayList<>();

    DeepSpeedOptions(String source, Map<String, Object> values) {
        this.source = source;
        this.values = values;
    }

    List<String> options(int ranks) {
        batches(ranks);
        optimizer();
        scheduler();
        if (values.containsKey("zero_optimization.stage")) {
            long stage = whole("zero_optimization.stage", 0);
            if (stage < 0 || stage > STAGES) {
                throw refused("zero_optimization.stage", "the stages are 0 to 3, not " + stage);
            }
            share(stage, ranks);
        }
        if (values.containsKey("gradient_clipping")) {
            options.add("--clip=" + number("gradient_clipping", 0));
        }
        if (flag("bf16.enabled")) {
            options.add("--precision=bf16");
        }
        if (values.containsKey("steps_per_print")) {
            options.add("--log-every=" + whole("steps_per_print", 10));
        }
        return options;
    }

    /** All ranks share the states. Parameters on NVMe take the gradients and the optimizer's states with them. */
    private void share(long stage, int ranks) {
        if (stage > 0) {
            options.add("--zero=" + stage);
            options.add("--shard=" + ranks);
        }
        boolean isInFiles = "nvme".equals(values.get(OFFLOAD_PARAMETERS));
        Object optimizer = values.getOrDefault(OFFLOAD_OPTIMIZER, "none");
        if (!isInFiles) {
            if (optimizer.equals("nvme")) {
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
        options.add("--offload=" + path);
    }

    /** DeepSpeed's rule: train_batch_size = micro-batch x accumulation x ranks; any two give the third. */
    private void batches(int ranks) {
        long all = whole("train_batch_size", 0);
        long micro = whole("train_micro_batch_size_per_gpu", 0);
        long steps = whole("gradient_accumulation_steps", 0);
        if (all == 0 && micro == 0) {
            throw refused("train_batch_size", "give train_batch_size or train_micro_batch_size_per_gpu");
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

    private void optimizer() {
        Object type = values.get("optimizer.type");
        if (type == null) {
            return;
        }
        switch (type.toString()) {
            case "AdamW", "Adam" -> {
                if (type.equals("Adam") && Boolean.FALSE.equals(values.get("optimizer.params.adam_w_mode"))) {
                    throw refused(
                            "optimizer.params.adam_w_mode",
                            "this program has AdamW, not Adam with the decay in the gradient: give true");
                }
                options.add("--optimizer=fused");
                require("optimizer.params.betas", List.of(0.9, 0.999));
                require("optimizer.params.eps", 1e-8);
                require("optimizer.params.weight_decay", 0.01);
            }
            case "SGD" -> {
                options.add("--optimizer=sgd");
                require("optimizer.params.momentum", 0.9);
                require("optimizer.params.weight_decay", 0.0);
            }
            default -> throw refused("optimizer.type", "this program has AdamW and SGD, not " + type);
        }
        if (values.containsKey("optimizer.params.lr")) {
            options.add("--lr=" + number("optimizer.params.lr", 0));
        }
    }

    private void scheduler() {
        Object type = values.get("scheduler.type");
        if (type == null) {
            return;
        }
        if (!type.equals("WarmupLR")) {
            throw refused("scheduler.type", "this program maps WarmupLR, not " + type + ": use --lr-schedule");
        }
        if (!"linear".equals(values.get("scheduler.params.warmup_type"))) {
            throw refused("scheduler.params.warmup_type", "this program warms up linearly: give \"linear\"");
        }
        require("scheduler.params.warmup_min_lr", 0.0);
        options.add("--lr-schedule=constant");
        options.add("--warmup=" + whole("scheduler.params.warmup_num_steps", 1000));
        if (values.containsKey("scheduler.params.warmup_max_lr")) {
            options.add("--lr=" + number("scheduler.params.warmup_max_lr", 0));
        }
    }

    /** Refuses a value other than the one that this program has. */
    private void require(String path, Object only) {
        Object value = values.get(path);
        if (value != null && !same(value, only)) {
            throw refused(path, "this program has " + only + ", not " + value);
        }
    }

    private static boolean same(@Nullable Object value, Object only) {
        if (value instanceof List<?> list && only instanceof List<?> others) {
            boolean equal = list.size() == others.size();
            for (int i = 0; equal && i < list.size(); i++) {
                equal = same(list.get(i), others.get(i));
            }
            return equal;
        }
        return value instanceof Number number
                && only instanceof Number other
                && number.doubleValue() == other.doubleValue();
    }

    private long whole(String path, long fallback) {
        Object value = values.get(path);
        if (value == null) {
            return fallback;
        }
        if (value instanceof Number number && number.doubleValue() == Math.rint(number.doubleValue())) {
            return number.longValue();
        }
        throw refused(path, "expected a whole number, not " + value);
    }

    private double number(String path, double fallback) {
        Object value = values.get(path);
        if (value == null) {
            return fallback;
        }
        if (value instanceof Number number) {
            return number.doubleValue();
        }
        throw refused(path, "expected a number, not " + value);
    }

    private boolean flag(String path) {
        Object value = values.getOrDefault(path, false);
        if (value instanceof Boolean truth) {
            return truth;
        }
        throw refused(path, "expected true or false, not " + value);
    }

    private InvalidArgumentException refused(String path, String why) {
        return DeepSpeedConfig.refused(source, path, why);
    }
}
