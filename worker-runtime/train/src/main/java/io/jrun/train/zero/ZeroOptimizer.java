package io.jrun.train.zero;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.fsdp.ShardedGradientNorm;
import io.jrun.train.mesh.ShardRange;
import io.jrun.train.optim.FlatUpdate;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.UpdateRule;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
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
 * training thread; {@link #step}, {@link #clipByGlobalNorm} and {@link #state} are collective.
 */
public final class ZeroOptimizer implements AutoCloseable {
    private final ProcessGroup group;
    private final TensorCollectives collectives;
    private final PartitionedGradients gradients;
    private final FlatUpdate update;
    private List<BucketStates> buckets = List.of();
    private final Map<String, Tensor> loaded = new LinkedHashMap<>();
    private long steps;

    /** The values of a bucket, and this rank's part of the states. */
    private record BucketStates(BucketPartition partition, Tensor values, List<Tensor> states, List<Integer> groups) {}

    private ZeroOptimizer(
            ProcessGroup group,
            PartitionedGradients gradients,
            UpdateRule rule,
            List<ParameterGroup> groups,
            LearningRateSchedule schedule) {
        this.group = group;
        this.collectives = new TensorCollectives(group);
        this.gradients = gradients;
        this.update = new FlatUpdate(rule, groups, schedule);
    }

    /**
     * Stage 1. Registers a communication hook with {@code model}: from the second step on a gradient holds its mean
     * only where this rank updates it.
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
        return new ZeroOptimizer(group, hook, rule, groups, schedule);
    }

    /** Stage 2. */
    public static ZeroOptimizer stageTwo(
            ZeroDataParallel<? extends Module> model,
            UpdateRule rule,
            List<ParameterGroup> groups,
            LearningRateSchedule schedule) {
        return new ZeroOptimizer(model.group(), model.gradients(), rule, groups, schedule);
    }

    /** Steps made. */
    public long steps() {
        return steps;
    }

    /** Updates this rank's parts, and gathers the others. */
    public void step() {
        flatten();
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
    }

    private Tensor ownPart(BucketStates bucket) {
        ShardRange part = bucket.partition().part(group.groupRank());
        return bucket.values().narrow(0, part.offset(), part.length()).clone();
    }

    private void gather(BucketPartition partition, Tensor part, Tensor whole) {
        collectives.allGatherV(part, whole, partition.partElements());
    }

    /** Moves the parameters of each bucket into one piece of memory. The tensors stay the same objects. */
    private void flatten() {
        if (!buckets.isEmpty()) {
            return;
        }
        List<BucketStates> made = new ArrayList<>();
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            for (BucketPartition partition : gradients.partitions()) {
                torch.ScalarType type = partition.parameter(0).scalar_type().intern();
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
                made.add(new BucketStates(partition, values, states, numbers));
            }
            buckets = List.copyOf(made);
            if (!loaded.isEmpty()) {
                spread();
            }
        }
    }

    /**
     * Multiplies the gradients by {@code maximum / (norm + 1e-6)} if this is less than 1.
     *
     * @return the 2-norm of all gradients before
     */
    public double clipByGlobalNorm(double maximum) {
        List<Tensor> parts = IntStream.range(0, gradients.partitions().size())
                .mapToObj(gradients::part)
                .toList();
        return new ShardedGradientNorm(group).clip(parts, maximum);
    }

    /** Copies of the whole states of all parameters, as {@code FlatOptimizer.state()} gives them. */
    public Map<String, Tensor> state() {
        Map<String, Tensor> all = new LinkedHashMap<>();
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            loaded.forEach((name, tensor) -> all.put(name, TensorMemory.own(tensor.clone())));
            for (BucketStates bucket : buckets) {
                BucketPartition partition = bucket.partition();
                for (int state = 0; state < bucket.states().size(); state++) {
                    Tensor whole = torch.zeros_like(bucket.values());
                    gather(partition, bucket.states().get(state), whole);
                    for (int i = 0; i < partition.parameters(); i++) {
                        all.put(
                                partition.name(i) + "." + update.stateNames().get(state),
                                TensorMemory.own(partition.view(whole, i).clone()));
                    }
                }
                for (int i = 0; i < partition.parameters(); i++) {
                    all.put(
                            partition.name(i) + ".step",
                            TensorMemory.own(
                                    torch.scalar_tensor(new Scalar(steps)).to(torch.ScalarType.Long)));
                }
            }
        }
        return all;
    }

    /**
     * Takes over copies of the result of {@link #state} of any number of ranks. In stage 1 the parts are known after
     * the first backward pass; until then the optimizer holds the copies.
     *
     * @throws IllegalArgumentException if a state is missing
     */
    public void load(Map<String, Tensor> state, long stepsDone) {
        forgetLoaded();
        try (NoGradGuard _ = new NoGradGuard()) {
            state.forEach((name, tensor) -> loaded.put(name, TensorMemory.own(tensor.clone())));
        }
        if (!buckets.isEmpty()) {
            spread();
        }
        steps = stepsDone;
    }

    private void spread() {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            buckets.forEach(this::spread);
        }
        forgetLoaded();
    }

    private void spread(BucketStates bucket) {
        BucketPartition partition = bucket.partition();
        ShardRange part = partition.part(group.groupRank());
        for (int i = 0; i < bucket.states().size(); i++) {
            Tensor whole = torch.zeros_like(bucket.values());
            for (int parameter = 0; parameter < partition.parameters(); parameter++) {
                String key =
                        partition.name(parameter) + "." + update.stateNames().get(i);
                Tensor saved = loaded.get(key);
                if (saved == null) {
                    throw new IllegalArgumentException("the optimizer state lacks '" + key + "'");
                }
                partition.view(whole, parameter).copy_(saved);
            }
            bucket.states().get(i).copy_(whole.narrow(0, part.offset(), part.length()));
        }
    }

    private void forgetLoaded() {
        loaded.values().forEach(Tensor::close);
        loaded.clear();
    }

    /** Frees the states. The parameters keep their values and their memory. */
    @Override
    public void close() {
        buckets.forEach(bucket -> bucket.states().forEach(Tensor::close));
        buckets = List.of();
        forgetLoaded();
    }
}
