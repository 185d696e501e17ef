package io.jrun.train.precision;

import io.jrun.comm.Device;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import io.jrun.train.precision.Float8Product.Accumulation;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The product of a linear layer with operands of 8 bits: {@link Float8#E4M3} in the forward pass, {@link Float8#E5M2}
 * for gradients in the backward pass, each tensor with a scale of its own. Source: Micikevicius and others,
 * arXiv:2209.05433.
 *
 * <p>A GPU of compute capability 8.9 or newer multiplies the 8-bit numbers, see {@link Float8Product}, and the host does
 * not wait for the scales. Elsewhere the arithmetic is emulated: the operands are rounded to the same 8-bit numbers, and
 * products and sums are in float32. The results therefore differ by the rounding of the sums only. The emulation has the
 * speed of float32.
 *
 * <p>One object serves one layer. The object holds the scales of the layer. Confined to the training thread.
 */
public final class Float8Linear implements AutoCloseable {
    /** The number of uses in a history: Transformer Engine's default. */
    private static final int HISTORY = 1024;

    private final Float8Scaling inputs;
    private final Float8Scaling weights;
    private final Float8Scaling gradients;

    /** A product with histories of 1024 uses and a margin of 0. */
    public Float8Linear() {
        this(HISTORY, 0);
    }

    /** A product with a history length and a margin, see {@link Float8Scaling}. */
    public Float8Linear(int historyLength, int margin) {
        inputs = new Float8Scaling(Float8.E4M3, historyLength, margin);
        weights = new Float8Scaling(Float8.E4M3, historyLength, margin);
        gradients = new Float8Scaling(Float8.E5M2, historyLength, margin);
    }

    /** The scales of inputs, weights and gradients. */
    public List<Float8Scaling> scalings() {
        return List.of(inputs, weights, gradients);
    }

    /**
     * The scales and the histories, to save. Waits for the device. The caller frees the tensor.
     *
     * @return float32 in host memory, [3, 1 + history length]: a row for inputs, weights and gradients; the scale is
     *     the first element
     */
    public Tensor state() {
        List<float[]> values = scalings().stream().map(Float8Scaling::values).toList();
        int width = values.getFirst().length;
        FloatBuffer rows = FloatBuffer.allocate(3 * width);
        values.forEach(rows::put);
        return TensorMemory.own(DeviceTensors.of(Device.CPU, rows.array(), 3, width));
    }

    /**
     * Loads scales and histories.
     *
     * @param state from {@link #state} of a product with the same history length
     * @throws IllegalArgumentException if the history length differs
     */
    public void load(Tensor state) {
        float[] rows = TensorMemory.segment(state).toArray(ValueLayout.JAVA_FLOAT);
        int width = rows.length / 3;
        for (int row = 0; row < 3; row++) {
            scalings().get(row).load(rows[row * width], Arrays.copyOfRange(rows, row * width + 1, (row + 1) * width));
        }
    }

    /**
     * {@code x * weight^T}. Without gradients ({@code NoGradGuard}), as in an evaluation, no scale changes.
     *
     * @param x float32, [..., in]
     * @param weight float32, [out, in]
     * @return float32, [..., out]
     */
    public Tensor apply(Tensor x, Tensor weight) {
        return AutogradBridge.instance()
                .apply(new Product(GradMode.is_enabled() || RepeatedScales.isOpen()), List.of(x, weight))
                .getFirst();
    }

    /** Frees the scales. */
    @Override
    public void close() {
        scalings().forEach(Float8Scaling::close);
    }

    private final class Product implements AutogradFunction {
        private final boolean isTraining;

        Product(boolean isTraining) {
            this.isTraining = isTraining;
        }

        @Override
        public String name() {
            return "Float8Linear";
        }

        @Override
        public List<Tensor> forward(FunctionContext context, List<Tensor> operands) {
            Float8Tensor x = encode(inputs, rows(operands.get(0)));
            Float8Tensor weight = encode(weights, operands.get(1));
            context.save(x.codes(), x.inverseScale(), weight.codes(), weight.inverseScale());
            return List.of(likeRowsOf(operands.get(0), Float8Product.multiply(x, weight, Accumulation.FAST)));
        }

        private Float8Tensor encode(Float8Scaling scaling, Tensor operand) {
            return isTraining ? scaling.encode(operand) : scaling.encodeOnly(operand);
        }

        @Override
        public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> outputs) {
            Tensor given = Objects.requireNonNull(outputs.getFirst());
            Float8Tensor x = new Float8Tensor(context.saved(0), context.saved(1));
            Float8Tensor weight = new Float8Tensor(context.saved(2), context.saved(3));
            Float8Tensor gradient = gradients.encode(rows(given));
            return Arrays.asList(
                    context.needsGradient(0)
                            ? likeRowsOf(
                                    given, Float8Product.multiply(gradient, weight.transposed(), Accumulation.FULL))
                            : null,
                    context.needsGradient(1)
                            ? Float8Product.multiply(gradient.transposed(), x.transposed(), Accumulation.FULL)
                            : null);
        }

        /** [..., width] as [rows, width]. */
        private static Tensor rows(Tensor x) {
            return x.reshape(-1, x.size(-1));
        }

        /** Rows with the leading sizes of another tensor. */
        private static Tensor likeRowsOf(Tensor other, Tensor rows) {
            long[] sizes = TensorMemory.sizes(other);
            sizes[sizes.length - 1] = rows.size(1);
            return rows.reshape(sizes);
        }
    }
}
