package io.jrun.train.optim;

import io.jrun.train.Libtorch;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.TensorMemory;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/**
 * An exponential moving average of parameters: {@code average = decay * average + (1 - decay) * parameter} after each
 * step. The first update copies the parameters. torch's {@code AveragedModel} with {@code get_ema_multi_avg_fn(decay)};
 * source: Polyak and Juditsky, 1992. Confined to the training thread.
 */
public final class ExponentialAverage implements AutoCloseable {
    private final Map<String, Tensor> parameters;
    private final double decay;
    private final Map<String, Tensor> averages = new LinkedHashMap<>();
    private long updates;

    /**
     * An average without updates.
     *
     * @param parameters the parameters by name; the object averages the elements of this rank
     * @param decay 0 to 1, such as 0.999
     */
    public ExponentialAverage(Map<String, ShardedTensor> parameters, double decay) {
        if (!(decay >= 0 && decay <= 1)) {
            throw new IllegalArgumentException("decay must be between 0 and 1, not " + decay);
        }
        Libtorch.load();
        this.parameters = Parameters.here(parameters);
        this.decay = decay;
        try (NoGradGuard _ = new NoGradGuard();
                PointerScope _ = new PointerScope()) {
            this.parameters.forEach((name, tensor) ->
                    averages.put(name, TensorMemory.own(tensor.detach().clone())));
        }
    }

    /** Adds the current parameters to the average. Call this method after each optimizer step. */
    public void update() {
        try (NoGradGuard _ = new NoGradGuard();
                PointerScope _ = new PointerScope()) {
            Scalar weight = new Scalar(updates == 0 ? 1.0 : 1 - decay);
            averages.forEach((name, average) -> average.lerp_(parameter(name), weight));
        }
        updates++;
    }

    /** The averages by name, for checkpoints. Each update changes the tensors. */
    public Map<String, Tensor> averages() {
        return Collections.unmodifiableMap(averages);
    }

    /** The number of updates so far. */
    public long updates() {
        return updates;
    }

    /**
     * Loads saved averages.
     *
     * @throws IllegalArgumentException if an average is missing or has another shape or type; the averages are then
     *     unchanged
     */
    public void load(Map<String, Tensor> saved, long updatesDone) {
        averages.forEach((name, average) -> {
            Tensor other = saved.get(name);
            if (other == null || !TensorMemory.form(other).equals(TensorMemory.form(average))) {
                throw new IllegalArgumentException("the saved average of '" + name + "' is "
                        + (other == null ? "missing" : TensorMemory.form(other)) + "; it must be "
                        + TensorMemory.form(average));
            }
        });
        try (NoGradGuard _ = new NoGradGuard()) {
            averages.forEach((name, average) -> average.copy_(Objects.requireNonNull(saved.get(name))));
        }
        updates = updatesDone;
    }

    /**
     * Exchanges the values of parameters and averages, for example for an evaluation. A second call restores the
     * values.
     */
    public void swap() {
        try (NoGradGuard _ = new NoGradGuard()) {
            averages.forEach((name, average) -> {
                try (Tensor values = average.clone()) {
                    average.copy_(parameter(name));
                    parameter(name).copy_(values);
                }
            });
        }
    }

    private Tensor parameter(String name) {
        return Objects.requireNonNull(parameters.get(name));
    }

    /** Frees the averages. */
    @Override
    public void close() {
        averages.values().forEach(Tensor::close);
        averages.clear();
    }
}
