package io.jrun.train.ddp.hook;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.train.Libtorch;
import io.jrun.train.precision.NonFiniteException;
import io.jrun.train.precision.NonFinitePolicy;
import io.jrun.train.reducer.BucketReduction;
import io.jrun.train.reducer.CommunicationHook;
import io.jrun.train.reducer.GradientBucket;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LongArrayRefOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * The check for losses and gradients that are NaN or infinite, for DDP on a device and without a wait of the host. One
 * reduction for each bucket checks the gradients of this rank before the ranks average them. In a step with such a value
 * the kernel of the optimizer changes nothing, on all ranks. {@link NonFinitePolicy#STOP} lets the kernel change nothing
 * in all later steps too, so the parameters keep their last good values. The host learns of the step when it calls
 * {@link #read}: where a step is logged, and before a checkpoint.
 *
 * <pre>{@code
 * var check = new BucketCheck(NonFinitePolicy.STOP, group, device);
 * model.registerHook(check.before(new AllReduceHook()));
 * ...
 * check.loss(loss);
 * step.backward(loss);
 * optimizer.step(check.endStep(number));    // FlatOptimizer
 * if (isLogged) {
 *     check.read();                         // waits
 * }
 * }</pre>
 *
 * <p>One thread at a time. All ranks end the same steps.
 */
public final class BucketCheck implements AutoCloseable {
    private static final long NONE = Long.MAX_VALUE;
    private static final String LOSS = "the loss";

    private final NonFinitePolicy policy;
    private final ProcessGroup group;
    private final Device device;
    /** The largest absolute value of each place of the current step: of the loss, then of each bucket. */
    private final List<Tensor> largest = new ArrayList<>();

    private List<String> places = new ArrayList<>(List.of(LOSS));
    /** The places of the steps from this number on. The buckets change once. */
    private final TreeMap<Long, List<String>> placesSince = new TreeMap<>();

    /** Rank and place of the first bad value of the current step; {@link #NONE} without one. */
    private final Tensor found;
    /** The step, and rank and place, of the first bad value with STOP, and of the last bad value with SKIP. */
    private final Tensor record;

    private final Tensor skip;
    private final Tensor count;
    private String lastSkipped = "";

    /** @param group the ranks that train the model */
    public BucketCheck(NonFinitePolicy policy, ProcessGroup group, Device device) {
        Libtorch.load();
        this.policy = policy;
        this.group = group;
        this.device = device;
        try (PointerScope _ = new PointerScope()) {
            found = TensorMemory.own(TensorMemory.zeros(device, torch.ScalarType.Long, 1));
            record = TensorMemory.own(TensorMemory.zeros(device, torch.ScalarType.Long, 2));
            skip = TensorMemory.own(TensorMemory.zeros(device, torch.ScalarType.Float, 1));
            count = TensorMemory.own(TensorMemory.zeros(device, torch.ScalarType.Float, 1));
        }
    }

    /** A hook that checks each bucket, and then exchanges it by {@code inner}. */
    public CommunicationHook before(CommunicationHook inner) {
        return new Checked(this, inner);
    }

    /** Checks a loss. Several losses of one step are checked together. */
    public void loss(Tensor loss) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            Tensor value = loss.detach().abs().to(torch.ScalarType.Float);
            if (largest.isEmpty()) {
                largest.add(TensorMemory.own(value.clone()));
            } else {
                largest.getFirst().add_(value);
            }
        }
    }

    private void bucket(GradientBucket bucket) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            if (largest.isEmpty()) { // A program that checks no loss.
                largest.add(TensorMemory.own(
                        torch.zeros(new long[0], TensorMemory.options(device, torch.ScalarType.Float))));
            }
            Tensor value = torch.linalg_vector_norm(
                    bucket.flat(),
                    new Scalar(Double.POSITIVE_INFINITY),
                    new LongArrayRefOptional(),
                    false,
                    new ScalarTypeOptional());
            largest.add(TensorMemory.own(value.to(torch.ScalarType.Float)));
            String name = "a gradient of the bucket from '" + bucket.names().getFirst() + "' to '"
                    + bucket.names().getLast() + "'";
            if (places.size() < largest.size()) {
                places.add(name);
            } else if (!places.get(largest.size() - 1).equals(name)) {
                places = new ArrayList<>(places);
                places.set(largest.size() - 1, name);
            }
        }
    }

    /**
     * Ends the check of a step. Collective over the group.
     *
     * @param step the number of the step, more than 0
     * @return a float32 tensor of one element, which this object owns: 1 if the optimizer must change nothing
     */
    public Tensor endStep(long step) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            notePlaces(step);
            found.fill_(new Scalar(NONE));
            if (!largest.isEmpty()) {
                Tensor values = torch.stack(new TensorVector(largest.toArray(Tensor[]::new)));
                long first = (long) group.worldRank(group.groupRank()) * places.size();
                Tensor numbers = torch.arange(
                                new Scalar((long) largest.size()), TensorMemory.options(device, torch.ScalarType.Long))
                        .add(new Scalar(first));
                Tensor bad = torch.isfinite(values).logical_not();
                found.copy_(torch.where(bad, numbers, new Scalar(NONE)).min());
            }
            largest.forEach(Tensor::close);
            largest.clear();
        }
        new TensorCollectives(group).allReduce(found, ReduceOp.MIN);
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            Tensor isBad = found.ne(new Scalar(NONE));
            Tensor isNew = policy == NonFinitePolicy.STOP ? isBad.logical_and(count.eq(new Scalar(0))) : isBad;
            Tensor now = torch.full_like(found, new Scalar(step));
            record.copy_(torch.where(isNew, torch.cat(new TensorVector(now, found)), record));
            count.add_(isBad.to(torch.ScalarType.Float));
            skip.copy_(policy == NonFinitePolicy.STOP ? count.gt(new Scalar(0)) : isBad);
        }
        return skip;
    }

    private void notePlaces(long step) {
        if (placesSince.isEmpty() || !placesSince.lastEntry().getValue().equals(places)) {
            placesSince.put(step, List.copyOf(places));
        }
    }

    /**
     * The number of skipped steps so far. Waits for the device.
     *
     * @throws NonFiniteException as {@link #found}
     */
    public long read() {
        try (PointerScope _ = new PointerScope()) {
            return found(DeviceWaits.numbers(List.of(state())));
        }
    }

    /** The input of {@link #found}, on the device: a program reads it together with other numbers. */
    public Tensor state() {
        try (NoGradGuard _ = new NoGradGuard()) {
            return torch.cat(new TensorVector(count.to(torch.ScalarType.Double), record.to(torch.ScalarType.Double)));
        }
    }

    /**
     * The number of skipped steps so far.
     *
     * @param state the elements of {@link #state}
     * @throws NonFiniteException if the policy is to stop and a step had a value that is not finite. All ranks that call
     *     this method after the same step throw, with the same message.
     */
    public long found(double[] state) {
        long skipped = (long) state[0];
        if (skipped > 0) {
            lastSkipped = text((long) state[1], (long) state[2]);
        }
        if (skipped > 0 && policy == NonFinitePolicy.STOP) {
            throw NonFiniteException.at(lastSkipped);
        }
        return skipped;
    }

    private String text(long step, long rankAndPlace) {
        List<String> names = placesSince.floorEntry(step).getValue();
        return "rank " + rankAndPlace / names.size() + ", step " + step + ": "
                + names.get(Math.toIntExact(rankAndPlace % names.size())) + " is not finite";
    }

    /** The reason for the last skipped step that {@link #read} has found: rank, step and place; empty without one. */
    public String lastSkipped() {
        return lastSkipped;
    }

    @Override
    public void close() {
        List.of(found, record, skip, count).forEach(Tensor::close);
        largest.forEach(Tensor::close);
        largest.clear();
    }

    private record Checked(BucketCheck check, CommunicationHook inner) implements CommunicationHook {
        @Override
        public BucketReduction reduce(GradientBucket bucket, ProcessGroup group) {
            check.bucket(bucket);
            return inner.reduce(bucket, group);
        }

        @Override
        public boolean keepsBuckets() {
            return inner.keepsBuckets();
        }

        @Override
        public String name() {
            return inner.name();
        }
    }
}
