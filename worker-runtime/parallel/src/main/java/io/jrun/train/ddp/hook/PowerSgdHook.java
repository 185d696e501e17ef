package io.jrun.train.ddp.hook;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.reducer.AllReduceHook;
import io.jrun.train.reducer.BucketReduction;
import io.jrun.train.reducer.CommunicationHook;
import io.jrun.train.reducer.GradientBucket;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.pytorch.Tensor;

/**
 * PowerSGD: the ranks send a gradient matrix M of n rows and m columns as two factors P (n x r) and Q (m x r), with M
 * about P Q^T. One step of a power iteration finds the factors: P = M Q, summed over ranks and made orthogonal; then Q
 * = M^T P, averaged. The rounding error is added to the gradients of the next pass. Vectors and small matrices are sent
 * uncompressed. Source: Vogels, Karimireddy and Jaggi, "PowerSGD", arXiv:1905.13727, algorithms 1 and 2; torch's
 * {@code powerSGD_hook}.
 *
 * <p>The hook needs memory for the factors, and with error feedback for one copy of the gradients. The results of all
 * ranks have equal bits. The state of the hook belongs to the parameters, not to the buckets: a resumed training begins
 * with other buckets.
 */
public final class PowerSgdHook implements CommunicationHook {
    private static final String PASSES = "passes";

    private final PowerSgdOptions options;
    private final CommunicationHook uncompressed = new AllReduceHook();
    private final Map<Integer, LowRankBucket> buckets = new HashMap<>();
    /** States of parameters that are in no bucket yet. */
    private final Map<String, Tensor> waiting = new TreeMap<>();

    private long passes;

    /** A hook before its first pass. */
    public PowerSgdHook(PowerSgdOptions options) {
        this.options = options;
    }

    @Override
    public BucketReduction reduce(GradientBucket bucket, ProcessGroup group) {
        long pass = passes;
        if (bucket.isLast()) {
            passes++;
        }
        if (pass < options.startPass()) {
            return uncompressed.reduce(bucket, group);
        }
        LowRankBucket known = buckets.get(bucket.index());
        if (known != null && !known.names().equals(bucket.names())) {
            waiting.putAll(ofBuckets());
            buckets.values().forEach(LowRankBucket::close);
            buckets.clear();
        }
        return buckets.computeIfAbsent(bucket.index(), _ -> new LowRankBucket(bucket, options, waiting))
                .reduce(bucket, group, pass);
    }

    /**
     * Copies of the state of this rank between two passes, for a checkpoint: the number of passes, the errors, and with
     * warm start the factors. The errors differ between ranks. The caller frees the tensors.
     */
    public Map<String, Tensor> state() {
        Map<String, Tensor> state = new TreeMap<>();
        waiting.forEach((name, tensor) -> state.put(name, copy(tensor)));
        state.putAll(ofBuckets());
        try (Tensor count = Tensor.create(passes)) {
            state.put(PASSES, TensorMemory.own(count));
        }
        return state;
    }

    private static Tensor copy(Tensor tensor) {
        try (Tensor copy = tensor.clone()) {
            return TensorMemory.own(copy);
        }
    }

    private Map<String, Tensor> ofBuckets() {
        Map<String, Tensor> state = new TreeMap<>();
        buckets.values().forEach(bucket -> state.putAll(bucket.state()));
        return state;
    }

    /** Continues after the passes of a {@link #state}. Call the method before the first pass. */
    public void load(Map<String, Tensor> state) {
        state.forEach((name, tensor) -> {
            if (name.equals(PASSES)) {
                passes = DeviceWaits.integer(tensor);
            } else {
                waiting.put(name, copy(tensor));
            }
        });
    }
}
