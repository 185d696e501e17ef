package io.jrun.train.precision;

import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The scales of operands of 8 bits in a segment of a model that is computed twice, in the order of the operands. The first
 * computation records the scales, which change with each operand. The second computation takes them, and changes none.
 * Segments may be nested. Confined to one thread at a time.
 */
public final class RepeatedScales {
    private static final ThreadLocal<@Nullable RepeatedScales> CURRENT = new ThreadLocal<>();

    private final List<Tensor> scales;
    private final boolean isAgain;
    /** The scales of the segment around this one. */
    private final @Nullable RepeatedScales outer = CURRENT.get();

    private int next;

    private RepeatedScales(List<Tensor> scales, boolean isAgain) {
        this.scales = scales;
        this.isAgain = isAgain;
    }

    /** Records the scales of the first computation of a segment on this thread. */
    public static RepeatedScales recorder() {
        return new RepeatedScales(new ArrayList<>(), false);
    }

    /** Gives recorded scales to the second computation. */
    public static RepeatedScales of(List<Tensor> scales) {
        return new RepeatedScales(List.copyOf(scales), true);
    }

    /** The time in which operands of this thread record or take scales. */
    @FunctionalInterface
    public interface Scope extends AutoCloseable {
        @Override
        void close();
    }

    /** Opens the scope of a computation. */
    public Scope open() {
        RepeatedScales before = CURRENT.get();
        CURRENT.set(this);
        return () -> CURRENT.set(before);
    }

    /** The scales so far. */
    public List<Tensor> scales() {
        return scales;
    }

    /** Frees the recorded scales. */
    public void free() {
        scales.forEach(Tensor::close);
    }

    /** Whether this thread computes a segment that is computed twice. */
    static boolean isOpen() {
        return CURRENT.get() != null;
    }

    /** The scale of the next operand: {@code fresh}, or the recorded one in a second computation. */
    static Tensor next(Supplier<Tensor> fresh) {
        RepeatedScales current = CURRENT.get();
        return current == null ? fresh.get() : current.take(fresh);
    }

    private Tensor take(Supplier<Tensor> fresh) {
        if (!isAgain) {
            Tensor scale = outer == null ? fresh.get() : outer.take(fresh);
            scales.add(TensorMemory.own(scale));
            return scale;
        }
        if (next == scales.size()) {
            throw new IllegalStateException("the second computation of a recomputed segment has more operands of 8 bits"
                    + " than the first: " + (next + 1) + " instead of " + scales.size()
                    + ". The forward method must call the same layers each time.");
        }
        return scales.get(next++);
    }
}
