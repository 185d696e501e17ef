package io.jrun.train.zero;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.fsdp.ShardedGradientNorm;
import io.jrun.train.mesh.ShardRange;
import io.jrun.train.mesh.TensorBox;
import io.jrun.train.optim.FlatUpdate;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.UpdateRule;
import io.jrun.train.tensor.TensorCollectives;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * An optimizer whose states are spread over the ranks. Each rank updates its part of each bucket of gradients, and then
 * gathers the parts of the others: stages 1 and 2 of ZeRO, Rajbhandari et al., arXiv:1910.02054. In float32 with AdamW
 * a rank of N has 8 + 8/N bytes for each parameter in stage 1, and 4 + 12/N in stage 2, DDP has 16. With a
 * deterministic group the parameters have the bits that {@code FlatOptimizer} gives with DistributedDataParallel.
 *
 * <p>All parameters have one floating point type of 32 bits or more, and get a gradient in each step. Confined to the
 * training thread; {@link #step} and {@link #clipByGlobalNorm} are collective.
 */
public final class ZeroOptimizer implements AutoCloseable {
    private static final String STEP = ".step";

    private final ProcessGroup group;
    private final TensorCollectives collectives;
    private final PartitionedGradients gradients;
    private final ShardedState parameters;
    private final FlatUpdate update;
    private final List<BucketStates> buckets;
    private long steps;
    private boolean isPartlyUpdated;

    /** The values of a bucket, and this rank's part of the states. */
    private record BucketStates(BucketPartition partition, Tensor values, List<Tensor> states, List<Integer> groups) {}

    private ZeroOptimizer(
            ProcessGroup group,
            PartitionedGradients gradients,
            ShardedState parameters,
            UpdateRule rule,
            List<ParameterGroup> groups,
            LearningRateSchedule schedule) {
        this.group = group;
        this.parameters = parameters;
        this.collectives = new TensorCollectives(group);
        this.gradients = gradients;
        this.update = new FlatUpdate(rule, groups, schedule);
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            buckets = gradients.partitions().stream().map(this::flatten).toList();
        }
    }

    /** Moves the parameters of a bucket into one piece of memory. The tensors stay the same objects. */
    private BucketStates flatten(BucketPartition partition) {
        torch.ScalarType type = partition.type();
        Tensor values = FlatUpdate.zeros(partition.elements(), type);
        List<Integer> numbers = new ArrayList<>();
        for (int i = 0; i < partition.parameters(); i++) {
            Tensor parameter = partition.parameter(i);
            Tensor view = partition.view(values, i);
            view.copy_(parameter);
            parameter.set_data(view);
            numbers.add(update.group(partition.name(i), parameter));
        }
        long part = partition.part(group.groupRank()).length();
        List<Tensor> states = update.stateNames().stream()
                .map(_ -> FlatUpdate.zeros(part, type))
                .toList();
        return new BucketStates(partition, values, states, numbers);
    }

    /**
     * Stage 1. Registers a communication hook with {@code model}: after a backward pass a gradient holds its mean only
     * where this rank updates the parameter.
     *
     * @param model has made no backward pass; its gradients are in host memory
     */
    public static ZeroOptimizer stageOne(
            DistributedDataParallel<? extends Module> model,
            ProcessGroup group,
            UpdateRule rule,
            List<ParameterGroup> groups,
            LearningRateSchedule schedule) {
        ReduceScatterHook hook = new ReduceScatterHook(model, group);
        model.registerHook(hook);
        return new ZeroOptimizer(group, hook, BucketPartition.whole(hook.partitions()), rule, groups, schedule);
    }

    /** Stage 2. */
    public static ZeroOptimizer stageTwo(
            ZeroDataParallel<? extends Module> model,
            UpdateRule rule,
            List<ParameterGroup> groups,
            LearningRateSchedule schedule) {
        BucketGradients gradients = model.gradients().buckets();
        return new ZeroOptimizer(
                model.group(), gradients, BucketPartition.whole(gradients.partitions()), rule, groups, schedule);
    }

    /**
     * Stage 1 or 2 for the stages of a pipeline, whose layers tensor parallel ranks may share.
     *
     * @param stages the stages of a {@code PipelineParallel} that has made no step
     */
    public static ZeroOptimizer ofStages(
            PartitionedStages stages, UpdateRule rule, List<ParameterGroup> groups, LearningRateSchedule schedule) {
        return new ZeroOptimizer(stages.group(), stages.gradients(), stages.parameters(), rule, groups, schedule);
    }

    /** Steps made. */
    public long steps() {
        return steps;
    }

    /** Updates this rank's parts, and gathers the others. */
    public void step() {
        isPartlyUpdated = true;
        int rank = group.groupRank();
        List<FlatUpdate.Piece> pieces = new ArrayList<>();
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            for (int i = 0; i < buckets.size(); i++) {
                BucketStates bucket = buckets.get(i);
                ShardRange part = bucket.partition().part(rank);
                Tensor means = gradients.part(i);
                for (BucketPartition.GroupRange range : bucket.partition().groupRanges(rank, bucket.groups())) {
                    pieces.add(new FlatUpdate.Piece(
                            bucket.values().narrow(0, part.offset() + range.offset(), range.length()),
                            means.narrow(0, range.offset(), range.length()),
                            bucket.states().stream()
                                    .map(state -> state.narrow(0, range.offset(), range.length()))
                                    .toList(),
                            range.group()));
                }
            }
            update.apply(pieces, steps);
            for (BucketStates bucket : buckets) {
                gather(bucket.partition(), ownPart(bucket), bucket.values());
            }
        }
        steps++;
        isPartlyUpdated = false;
    }

    private Tensor ownPart(BucketStates bucket) {
        ShardRange part = bucket.partition().part(group.groupRank());
        return bucket.values().narrow(0, part.offset(), part.length()).clone();
    }

    private void gather(BucketPartition partition, Tensor part, Tensor whole) {
        collectives.allGatherV(part, whole, partition.partElements());
    }

    /**
     * Multiplies the gradients by {@code maximum / (norm + 1e-6)} if this is less than 1.
     *
     * @return the 2-norm of all gradients before
     */
    public double clipByGlobalNorm(double maximum) {
        return new ShardedGradientNorm(group).clip(gradients(), maximum);
    }

    /** The mean gradients of this rank's parts, after a backward pass. */
    public List<Tensor> gradients() {
        return IntStream.range(0, buckets.size()).mapToObj(gradients::part).toList();
    }

    /**
     * Adds this rank's parts of the states to a checkpoint, by the names of {@code FlatOptimizer.state()}. A checkpoint
     * has the whole states, so each optimizer of the same rule can load the checkpoint, on any number of ranks. The
     * parts are the memory of this optimizer.
     *
     * @param prefix the beginning of the names
     * @throws CheckpointException if a failure has interrupted a step: this rank's parts then have the step, and the
     *     parts of other ranks may not
     */
    public void putStates(StateDict into, String prefix) {
        if (isPartlyUpdated) {
            throw new CheckpointException("a failure has interrupted step " + (steps + 1) + " of the optimizer on rank "
                    + group.worldRank(group.groupRank()) + ", so this rank has no whole step to save");
        }
        putParts(into, prefix);
        Tensor made = torch.scalar_tensor(new Scalar(steps)).to(torch.ScalarType.Long);
        for (BucketStates bucket : buckets) {
            for (int i = 0; i < bucket.partition().parameters(); i++) {
                into.put(prefix + bucket.partition().name(i) + STEP, made);
            }
        }
    }

    private void putParts(StateDict into, String prefix) {
        for (BucketStates bucket : buckets) {
            BucketPartition partition = bucket.partition();
            for (int i = 0; i < partition.parameters(); i++) {
                for (int state = 0; state < bucket.states().size(); state++) {
                    String name = prefix + partition.name(i) + "."
                            + update.stateNames().get(state);
                    for (TensorBox box : partition.boxes(
                            i, group.groupRank(), bucket.states().get(state))) {
                        parameters.putPiece(into, name, partition.name(i), box);
                    }
                }
            }
        }
    }

    /**
     * Reads this rank's parts of the states from a checkpoint of any number of ranks.
     *
     * @param prefix the beginning of the names
     * @throws CheckpointException if the checkpoint lacks a state, or is damaged
     */
    public void loadStates(SavedCheckpoint saved, String prefix) {
        StateDict wanted = new StateDict();
        putParts(wanted, prefix);
        saved.load(wanted);
        steps = stepsWithoutSkipped(saved, prefix);
    }

    /** Optimizers without states save no steps. */
    private long stepsWithoutSkipped(SavedCheckpoint saved, String prefix) {
        if (buckets.isEmpty()) {
            return saved.step();
        }
        Map<String, Tensor> made =
                saved.read(prefix + buckets.getFirst().partition().name(0) + STEP);
        long count =
                made.values().stream().mapToLong(Tensor::item_long).findFirst().orElse(saved.step());
        made.values().forEach(Tensor::close);
        return count;
    }

    /** Frees the states. The parameters keep their values and their memory. */
    @Override
    public void close() {
        buckets.forEach(bucket -> bucket.states().forEach(Tensor::close));
    }
}
