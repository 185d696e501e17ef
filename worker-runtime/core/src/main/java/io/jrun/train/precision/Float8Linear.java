package io.jrun.train.precision;

import io.jrun.comm.Device;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * The product of a linear layer with operands of 8 bits: {@link Float8#E4M3} in the forward pass, {@link Float8#E5M2}
 * for gradients in the backward pass, each tensor with a scale of its own. Source: Micikevicius and others,
 * arXiv:2209.05433.
 *
 * <p>The arithmetic is emulated: operands are rounded to 8 bits, products and sums are in float32. The results
 * therefore equal the results of a device that multiplies 8-bit numbers and adds in float32. The speed is the speed of
 * float32.
 *
 * <p>One object serves one layer. The object holds the scales of the layer. Confined to the training thread.
 */
public final class Float8Linear {
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
     * The scales and the histories, to save. The caller frees the tensor.
     *
     * @return float32, [3, 1 + history length]: a row for inputs, weights and gradients; the scale is the first element
     */
    public Tensor state() {
        int width = 1 + inputs.history().length;
        FloatBuffer rows = FloatBuffer.allocate(3 * width);
        scalings().forEach(scaling -> rows.put(scaling.scale()).put(scaling.history()));
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
     * {@code x * weight^T}.
     *
     * @param x float32, [..., in]
     * @param weight float32, [out, in]
     * @return float32, [..., out]
     */
    public Tensor apply(Tensor x, Tensor weight) {
        return AutogradBridge.instance()
                .apply(new Product(), List.of(x, weight))
                .getFirst();
    }

    /** Rounds with the present scale, and adds the tensor's magnitude to the history for the next use. */
    private static Tensor round(Tensor values, Float8Scaling scaling) {
        Tensor rounded = scaling.format().quantize(values, scaling.scale());
        scaling.record((float) DeviceWaits.number(values.abs().max()));
        return rounded;
    }

    private final class Product implements AutogradFunction {
        @Override
        public String name() {
            return "Float8Linear";
        }

        @Override
        public List<Tensor> forward(FunctionContext context, List<Tensor> operands) {
            Tensor x = round(operands.get(0), inputs);
            Tensor weight = round(operands.get(1), weights);
            context.save(x, weight);
            return List.of(torch.linear(x, weight));
        }

        @Override
        public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> outputs) {
            Tensor x = context.saved(0);
            Tensor weight = context.saved(1);
            Tensor gradient = round(outputs.getFirst(), gradients);
            Tensor rows = gradient.reshape(-1, weight.size(0));
            return Arrays.asList(
                    context.needsGradient(0) ? torch.matmul(gradient, weight) : null,
                    context.needsGradient(1) ? torch.mm(rows.t(), x.reshape(-1, weight.size(1))) : null);
        }
    }
}
