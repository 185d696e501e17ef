package io.jrun.train.recompute;

import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.LinearOperation;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The outputs of the chosen linear layers in one call of a segment, in the order of the calls. The first computation
 * records the outputs. The second computation takes the outputs and computes no product. Confined to one thread at a
 * time.
 */
final class KeptOutputs {
    private static final ThreadLocal<@Nullable KeptOutputs> CURRENT = new ThreadLocal<>();

    /** The operation of the chosen layers. Outside of segments the operation is {@link LinearOperation#LOCAL}. */
    static final LinearOperation OPERATION = KeptOutputs::apply;

    private final List<Tensor> outputs;
    private final boolean isAgain;
    private int next;

    private KeptOutputs(List<Tensor> outputs, boolean isAgain) {
        this.outputs = outputs;
        this.isAgain = isAgain;
    }

    /** Records the outputs of the first computation. */
    static KeptOutputs recorder() {
        return new KeptOutputs(new ArrayList<>(), false);
    }

    /** Gives the recorded outputs to the second computation. */
    static KeptOutputs of(List<Tensor> outputs) {
        return new KeptOutputs(List.copyOf(outputs), true);
    }

    /** The time in which the layers record or take outputs on this thread. */
    @FunctionalInterface
    interface Scope extends AutoCloseable {
        @Override
        void close();
    }

    Scope open() {
        KeptOutputs before = CURRENT.get();
        CURRENT.set(this);
        return () -> CURRENT.set(before);
    }

    List<Tensor> outputs() {
        return outputs;
    }

    /** Frees the recorded outputs. */
    void free() {
        outputs.forEach(Tensor::close);
    }

    private static List<Tensor> apply(Tensor x, List<? extends LinearLayer> layers) {
        KeptOutputs current = CURRENT.get();
        if (current == null) {
            return LinearOperation.LOCAL.apply(x, layers);
        }
        if (!current.isAgain) {
            List<Tensor> outputs = LinearOperation.LOCAL.apply(x, layers);
            // The scope of a block frees the outputs before the segment ends.
            outputs.forEach(output -> current.outputs.add(TensorMemory.own(output)));
            return outputs;
        }
        return layers.stream()
                .map(layer -> KeptLinear.apply(x, layer, current.take()))
                .toList();
    }

    private Tensor take() {
        if (next == outputs.size()) {
            throw new RecomputeException("the second computation of a recomputed segment calls a kept linear layer more"
                    + " often than the first: " + (next + 1) + " instead of " + outputs.size()
                    + " calls. The forward method must call the same layers each time.");
        }
        return outputs.get(next++);
    }
}
