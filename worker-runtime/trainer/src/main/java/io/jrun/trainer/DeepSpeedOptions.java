package io.jrun.trainer;

import io.jrun.train.context.ContextParallel;
import io.jrun.train.json.OneLine;
import io.jrun.trainer.TrainingRecipe.Precision;
import io.jrun.trainer.UpdateOptions.OptimizerKind;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Fills arguments from DeepSpeed's values, by the paths of their keys. An option of the command line has precedence, so
 * its value of the file is checked and not used.
 */
final class DeepSpeedOptions {
    private static final int STAGES = 3;
    private static final int MOST_SEQUENCES = 1 << 20;
    private static final double LARGEST_RATE = 1e30;
    private static final double BELOW_ONE = Math.nextDown(1.0);
    private static final String OFFLOAD_PARAMETERS = "zero_optimization.offload_param.device";
    private static final String OFFLOAD_OPTIMIZER = "zero_optimization.offload_optimizer.device";

    private final String source;
    private final Map<String, Object> values;
    private final CommandLineArguments given;
    private final List<String> notes = new ArrayList<>();
    private MeshSizes sizes;
    private TrainingArguments filled;

    /**
     * The values of a file.
     *
     * @param arguments those of the command line, with defaults for options that are not given
     * @param ranks of the job
     */
    DeepSpeedOptions(
            String source,
            Map<String, Object> values,
            TrainingArguments arguments,
            CommandLineArguments given,
            int ranks) {
        this.source = source;
        this.values = values;
        this.given = given;
        this.sizes = MeshSizes.of(arguments.parallel(), given, ranks);
        this.filled = arguments;
    }

    /** Notes about values that change nothing. */
    List<String> notes() {
        return notes;
    }

    /** The arguments with the values of the file. */
    TrainingArguments fill() {
        axes();
        batches();
        long stage = whole("zero_optimization.stage", 0);
        if (stage < 0 || stage > STAGES) {
            throw refused("zero_optimization.stage", "the stages are 0 to 3, not " + stage);
        }
        optimizer(stage);
        filled = new DeepSpeedSchedule(this).fill(filled, given);
        share((int) stage);
        offload(stage);
        // max_grad_norm is an old name.
        for (String clipping : List.of("gradient_clipping", "optimizer.params.max_grad_norm")) {
            if (has(clipping)) {
                double clip = number(clipping, 0, 0, Float.MAX_VALUE);
                if (!given.has("--clip")) {
                    update(filled.recipe().update().withClip(clip));
                }
                break;
            }
        }
        precision();
        if (has("steps_per_print")) {
            int steps = count("steps_per_print", 0, 1, Integer.MAX_VALUE);
            filled = given.has("--log-every") ? filled : filled.withLogEvery(steps);
        }
        return filled;
    }

    private void update(UpdateOptions newUpdate) {
        filled = filled.withRecipe(filled.recipe().withUpdate(newUpdate));
    }

    private void precision() {
        Set<Precision> enabled = EnumSet.noneOf(Precision.class);
        for (String section : List.of("bf16", "bfloat16")) {
            if (flag(section + ".enabled", false)) {
                enabled.add(Precision.BF16);
            }
        }
        if (flag("torch_autocast.enabled", false)) {
            enabled.add(autocast());
        }
        if (flag("fp16.enabled", false)) {
            if (enabled.contains(Precision.BF16)) {
                throw refused("fp16.enabled", "bf16 is enabled too: enable one of the two");
            }
            enabled.add(Precision.F16);
        }
        if (enabled.size() > 1) {
            throw refused("torch_autocast.dtype", "another type is enabled too: enable one of the two");
        }
        if (!given.has("--precision")) {
            enabled.forEach(type -> filled = filled.withRecipe(filled.recipe().withPrecision(type)));
        }
    }

    private Precision autocast() {
        Object type = values.getOrDefault("torch_autocast.dtype", "bfloat16");
        return switch (type.toString().replace("torch.", "")) {
            case "bfloat16", "bf16" -> Precision.BF16;
            case "float16", "fp16", "half" -> Precision.F16;
            default -> throw refused("torch_autocast.dtype", "the types are bfloat16 and float16, not " + type);
        };
    }

    private void parallel(ParallelOptions newParallel) {
        filled = filled.withParallel(newParallel);
    }

    private void axes() {
        int tensor = count("tensor_parallel.autotp_size", 1, 0, Integer.MAX_VALUE);
        if (tensor > 1 && !sizes.hasTensor()) {
            parallel(filled.parallel().withTensor(tensor));
            sizes = sizes.with(tensor);
        }
        int context = count("sequence_parallel_size", 1, 0, Integer.MAX_VALUE);
        if (context > 1 && !sizes.hasContext()) {
            ContextParallel.Exchange exchange =
                    given.has("--cp-exchange") ? filled.parallel().contextExchange() : ContextParallel.Exchange.ULYSSES;
            parallel(filled.parallel().withContext(context, exchange));
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
    private void share(int stage) {
        ParallelOptions before = filled.parallel();
        int chosen = given.has("--zero") ? before.zeroStage() : stage;
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
        if (stage > 0) {
            parallel(before.withSharedStates(chosen, given.has("--shard") ? before.shards() : Math.toIntExact(shards)));
        }
        keepParts(stage, chosen);
    }

    /** A rank keeps a part of a layer between the passes. */
    private void keepParts(int stage, int chosen) {
        String path = "zero_optimization.zero_hpz_partition_size";
        int kept = count(path, 1, 0, Integer.MAX_VALUE);
        if (kept <= 1) {
            return;
        }
        if (chosen != STAGES) {
            requireStageThree(path, stage);
            notes.add(
                    DeepSpeedConfig.ignored(source, path, "--zero=" + chosen + " is given, and stage 3 uses the key"));
        } else if (!given.has("--reshard-after-forward")) {
            parallel(filled.parallel().withReshardAfterForward(kept));
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
        if (!(path instanceof String folder)) {
            throw refused("zero_optimization.offload_param.nvme_path", "expected the path of a folder, not " + path);
        }
        if (!given.has("--offload")) {
            parallel(filled.parallel().withOffload(Path.of(folder)));
        }
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
                accumulate(steps);
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
        if (micro > MOST_SEQUENCES) {
            throw refused("train_micro_batch_size_per_gpu", "expected at most " + MOST_SEQUENCES + ", not " + micro);
        }
        filled = given.has("--micro-batch") ? filled : filled.withMicroBatch((int) micro);
        accumulate(steps);
    }

    /** {@code --global-batch} decides the number of micro-batches too. */
    private void accumulate(long microBatches) {
        if (microBatches > MOST_SEQUENCES) {
            throw refused(
                    "gradient_accumulation_steps", "expected at most " + MOST_SEQUENCES + ", not " + microBatches);
        }
        if (!given.has("--accumulate") && !given.has("--global-batch")) {
            filled = filled.withRecipe(filled.recipe().withAccumulate((int) microBatches));
        }
    }

    private void optimizer(long stage) {
        if (!has("optimizer.type") && !given.has("--optimizer")) {
            paths("optimizer.params.").stream().findFirst().ifPresent(path -> {
                throw refused(path, "needs optimizer.type, such as AdamW");
            });
        }
        UpdateOptions before = filled.recipe().update();
        OptimizerKind kind = given.has("--optimizer") ? before.optimizer() : kind(stage);
        OptimizerNumbers numbers = before.numbers();
        if (!given.has("--weight-decay")) {
            numbers = numbers.withWeightDecay(number(
                    "optimizer.params.weight_decay",
                    OptimizerNumbers.defaultWeightDecay(kind.isAdamW()),
                    0,
                    Float.MAX_VALUE));
        }
        if (has("optimizer.params.betas")) {
            double[] betas = betas();
            numbers = given.has("--betas") ? numbers : numbers.withBetas(betas[0], betas[1]);
        }
        if (has("optimizer.params.eps")) {
            double epsilon = number("optimizer.params.eps", 0, 0, Float.MAX_VALUE);
            numbers = given.has("--eps") ? numbers : numbers.withEpsilon(epsilon);
        }
        if ("SGD".equals(values.get("optimizer.type"))) {
            double momentum = number("optimizer.params.momentum", 0, 0, BELOW_ONE);
            numbers = given.has("--momentum") ? numbers : numbers.withMomentum(momentum);
        }
        boolean isChosen = before.isOptimizerGiven() || stage > 0 || has("optimizer.type");
        update(isChosen ? before.withOptimizer(kind, numbers) : before);
        if (has("optimizer.params.lr")) {
            double rate = learningRate("optimizer.params.lr");
            filled = given.has("--lr") ? filled : filled.withLearningRate(rate);
        }
    }

    private OptimizerKind kind(long stage) {
        Object type = values.get("optimizer.type");
        if (type == null) {
            return stage > 0 ? OptimizerKind.FUSED : filled.recipe().update().optimizer();
        }
        return switch (type.toString()) {
            case "AdamW", "Adam" -> adam(type);
            // Ranks cannot share the states of libtorch's optimizers.
            case "SGD" -> stage == 1 || stage == 2 ? OptimizerKind.FUSED_SGD : OptimizerKind.SGD;
            default -> throw refused("optimizer.type", "this program has AdamW and SGD, not " + type);
        };
    }

    private OptimizerKind adam(Object type) {
        boolean isDecayApart = flag("optimizer.params.adam_w_mode", true);
        if (type.equals("Adam") && !isDecayApart) {
            throw refused(
                    "optimizer.params.adam_w_mode",
                    "this program has AdamW, not Adam with the decay in the gradient: give true");
        }
        if (!flag("optimizer.params.bias_correction", true)) {
            throw refused("optimizer.params.bias_correction", "AdamW corrects the bias of its means: give true");
        }
        return OptimizerKind.FUSED;
    }

    private double[] betas() {
        if (!(values.get("optimizer.params.betas") instanceof List<?> betas) || betas.size() != 2) {
            throw refused(
                    "optimizer.params.betas", "expected two numbers, not " + values.get("optimizer.params.betas"));
        }
        return betas.stream().mapToDouble(this::beta).toArray();
    }

    private double beta(@Nullable Object value) {
        if (!(value instanceof Number number)) {
            throw refused("optimizer.params.betas", "expected numbers, not " + value);
        }
        double beta = number.doubleValue();
        if (!(beta >= 0 && beta < 1)) {
            throw refused("optimizer.params.betas", "expected 0 or more, and less than 1, not " + value);
        }
        return beta;
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

    /** A whole number in a range. */
    int count(String path, int fallback, int least, int most) {
        long number = whole(path, fallback);
        if (number < least || number > most) {
            throw refused(
                    path, "expected at " + (number < least ? "least " + least : "most " + most) + ", not " + number);
        }
        return (int) number;
    }

    /** The number of something; 0 without the key. */
    private long positive(String path) {
        long number = whole(path, 1);
        if (number < 1) {
            throw refused(path, "expected at least 1, not " + number);
        }
        return has(path) ? number : 0;
    }

    /** A number in a range. */
    double number(String path, double fallback, double least, double most) {
        Object value = values.get(path);
        if (value == null) {
            return fallback;
        }
        if (!(value instanceof Number number)) {
            throw refused(path, "expected a number, not " + shown(value));
        }
        double found = number.doubleValue();
        if (!(found >= least && found <= most)) {
            throw refused(
                    path,
                    "expected a number " + (most == BELOW_ONE ? "below 1, and at least " : "of at least ") + least
                            + (most == 1 ? " and at most 1" : "") + ", not " + value);
        }
        return found;
    }

    /** A learning rate, as {@code --lr}. */
    double learningRate(String path) {
        double rate = number(path, 0, 0, LARGEST_RATE);
        if (rate == 0) {
            throw refused(path, "expected a number above 0");
        }
        return rate;
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
