package io.jrun.train.zero;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.optim.FlatUpdate;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.ParameterOptimizer;
import io.jrun.train.optim.UpdateRule;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.reducer.GradientReducer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
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
 * <p>All parameters have one floating point type of 32 bits or more. A parameter without a gradient counts as one with
 * a gradient of zeros. Confined to the
 * training thread; {@link #step} is collective.
 */
public final class ZeroOptimizer implements ParameterOptimizer {
    private static final String STEP = ".step";

    private final ProcessGroup group;
    private final GradientReducer reducer;
    private final ShardedState parameters;
    private final FlatUpdate update;
    private final List<BucketStates> buckets;
    private long steps;
    private boolean isUpdating;
    private boolean isExchanging;

    private ZeroOptimizer(
            GradientReducer reducer, UpdateRule rule, List<ParameterGroup> groups, LearningRateSchedule schedule) {
        this.reducer = reducer;
        this.group = reducer.group();
        this.update = new FlatUpdate(rule, groups, schedule);
        List<Map<String, Tensor>> named = reducer.buckets();
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            buckets = IntStream.range(0, named.size())
                    .mapToObj(bucket -> new BucketStates(named.get(bucket), reducer.group(bucket), update))
                    .toList();
        }
        this.parameters = BucketPartition.parametersOf(
                buckets.stream().map(BucketStates::partition).toList());
        reducer.optimizerIsMade();
    }

    /**
     * An optimizer of the parameters of a reducer: that of a {@code DistributedDataParallel} or of the stages of a
     * pipeline, with a placement other than {@link GradientPlacement#REPLICATED}.
     *
     * @param reducer has reduced no gradient
     * @throws IllegalArgumentException if each rank keeps all gradients
     */
    public static ZeroOptimizer of(
            GradientReducer reducer, UpdateRule rule, List<ParameterGroup> groups, LearningRateSchedule schedule) {
        if (reducer.placement() == GradientPlacement.REPLICATED) {
            throw new IllegalArgumentException(
                    "ranks that share the states keep parts of the gradients: build the model"
                            + " withPlacement(GradientPlacement.SHARDED_STATES) or SHARDED_GRADIENTS");
        }
        return new ZeroOptimizer(reducer, rule, groups, schedule);
    }

    /** The names of the parameters that this optimizer updates, on this rank or on another. */
    public Set<String> names() {
        return buckets.stream()
                .flatMap(bucket -> bucket.partition().names().stream())
                .collect(Collectors.toSet());
    }

    @Override
    public long steps() {
        return steps;
    }

    /**
     * Updates this rank's parts, and gathers the others. If a failure interrupts the exchange, this rank has its parts
     * of the updated parameters, see {@link #hasPartsOnly}.
     */
    @Override
    public void step() {
        isUpdating = true;
        List<FlatUpdate.Piece> pieces = new ArrayList<>();
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            for (int i = 0; i < buckets.size(); i++) {
                pieces.addAll(buckets.get(i).pieces(reducer.part(i)));
            }
            update.apply(pieces, steps);
            steps++;
            isUpdating = false;
            isExchanging = true;
            buckets.forEach(BucketStates::gather);
        }
        isExchanging = false;
    }

    @Override
    public void zeroGradients() {
        reducer.zeroGradients();
    }

    /**
     * Adds this rank's parts of the states to a checkpoint, by the names of {@code FlatOptimizer.state()}. A checkpoint
     * has the whole states, so each optimizer of the same rule can load the checkpoint, on any number of ranks. The
     * parts are the memory of this optimizer.
     *
     * @param prefix the beginning of the names
     * @throws CheckpointException if a failure has interrupted the update of this rank's parts
     */
    public void putStates(StateDict into, String prefix) {
        requireUpdated();
        buckets.forEach(bucket -> bucket.putStates(into, prefix, parameters));
        Tensor made = torch.scalar_tensor(new Scalar(steps)).to(torch.ScalarType.Long);
        for (BucketStates bucket : buckets) {
            for (int i = 0; i < bucket.partition().parameters(); i++) {
                into.put(prefix + bucket.partition().name(i) + STEP, made);
            }
        }
    }

    /**
     * Adds this rank's parts of tensors that are like the parameters to a checkpoint: the parameters, or averages of
     * them. The parts are the elements that this rank updates. All ranks together have each element once.
     *
     * @param prefix the beginning of the names
     * @param tensors by the names of the parameters that require gradients, with their shapes on this rank; contiguous
     * @throws CheckpointException as {@link #putStates}
     */
    public void putParts(StateDict into, String prefix, Map<String, Tensor> tensors) {
        requireUpdated();
        buckets.forEach(bucket -> bucket.putParts(into, prefix, tensors, parameters));
    }

    /**
     * Whether a failure has interrupted the exchange of a step. This rank then has its parts of the parameters and of
     * the states after step {@link #steps}, and may lack the parts of other ranks.
     */
    public boolean hasPartsOnly() {
        return isExchanging;
    }

    private void requireUpdated() {
        if (isUpdating) {
            throw new CheckpointException("a failure has interrupted step " + (steps + 1) + " of the optimizer on rank "
                    + group.worldRank(group.groupRank()) + ", so this rank has no whole step to save");
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
        buckets.forEach(bucket -> bucket.putStates(wanted, prefix, parameters));
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
        buckets.forEach(BucketStates::close);
    }
}
