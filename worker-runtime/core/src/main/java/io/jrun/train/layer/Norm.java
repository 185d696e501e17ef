package io.jrun.train.layer;

import io.jrun.comm.Device;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.TensorMemory;
import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** Normalises the last dimension: LayerNorm (Ba et al. 2016) with a bias, RMSNorm (Zhang and Sennrich 2019) without. */
public final class Norm extends Module {
    private final double epsilon;
    private final long[] width;
    private final Tensor weight;
    private final @Nullable Tensor bias;
    private UnaryOperator<Tensor> parameterUse = UnaryOperator.identity();

    private Norm(long width, double epsilon, boolean hasBias, Device device) {
        this.epsilon = epsilon;
        this.width = new long[] {width};
        weight = TensorMemory.own(register_parameter("weight", DeviceTensors.ones(device, width)));
        bias = hasBias ? TensorMemory.own(register_parameter("bias", DeviceTensors.zeros(device, width))) : null;
    }

    /** (x - mean) / sqrt(variance + epsilon) * weight + bias, on the CPU. */
    public static Norm layer(long width, double epsilon) {
        return layer(width, epsilon, Device.CPU);
    }

    /** (x - mean) / sqrt(variance + epsilon) * weight + bias, on a device. */
    public static Norm layer(long width, double epsilon, Device device) {
        return new Norm(width, epsilon, true, device);
    }

    /** x / sqrt(mean of x^2 + epsilon) * weight, on a device. */
    public static Norm rootMeanSquare(long width, double epsilon, Device device) {
        return new Norm(width, epsilon, false, device);
    }

    /** The normalised tensor. */
    public Tensor forward(Tensor x) {
        try (TensorOptional scale = new TensorOptional(parameterUse.apply(weight))) {
            if (bias == null) {
                return torch.rms_norm(x, width, scale, new DoubleOptional(epsilon));
            }
            try (TensorOptional shift = new TensorOptional(parameterUse.apply(bias))) {
                return torch.layer_norm(x, width, scale, shift, epsilon, false);
            }
        }
    }

    /**
     * Applies a function to weight and bias before each use. The function sees their gradients in the backward pass.
     */
    public void setParameterUse(UnaryOperator<Tensor> newUse) {
        parameterUse = newUse;
    }

    /** The weight [width]. */
    public Tensor weight() {
        return weight;
    }

    /** The bias [width]; null for RMSNorm. */
    public @Nullable Tensor bias() {
        return bias;
    }
}
