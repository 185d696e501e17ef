package io.jrun.train.ddp;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.TensorMemory;
import java.util.List;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;

/**
 * Batch normalisation with the statistics of all ranks' samples: torch's {@code SyncBatchNorm}, also on the CPU. The
 * ranks may have different numbers of samples, also none. In training each forward pass gathers 2C + 1 numbers of each
 * rank, and each backward pass reduces 2C. In evaluation the module uses its running statistics and communicates
 * nothing. Source: Ioffe and Szegedy, arXiv:1502.03167; the statistics are combined as in Chan, Golub and LeVeque,
 * "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979.
 *
 * <p>Use this module in place of {@code BatchNorm1dImpl} to {@code BatchNorm3dImpl}. The names of parameters and
 * buffers are the same. All ranks run forward and backward passes equally often.
 */
public final class SyncBatchNorm extends Module {
    /** torch's default of {@code eps}. */
    public static final double EPSILON = 1e-5;

    /** torch's default of {@code momentum}. */
    public static final double MOMENTUM = 0.1;

    private final ProcessGroup group;
    private final long channels;
    private final double epsilon;
    private final double momentum;
    private final Tensor weight;
    private final Tensor bias;
    private final Tensor runningMean;
    private final Tensor runningVariance;
    private final Tensor batches;

    /** A module on the CPU of {@code channels} channels with torch's defaults, over the samples of all ranks of {@code group}. */
    public SyncBatchNorm(long channels, ProcessGroup group) {
        this(channels, group, EPSILON, MOMENTUM, Device.CPU);
    }

    /**
     * A module with weights of 1 and biases of 0.
     *
     * @param epsilon added to the variance
     * @param momentum weight of the new statistics in the running statistics, 0 to 1
     * @param device of parameters and buffers
     */
    public SyncBatchNorm(long channels, ProcessGroup group, double epsilon, double momentum, Device device) {
        this.group = group;
        this.channels = channels;
        this.epsilon = epsilon;
        this.momentum = momentum;
        this.weight = TensorMemory.own(register_parameter("weight", DeviceTensors.ones(device, channels)));
        this.bias = TensorMemory.own(register_parameter("bias", DeviceTensors.zeros(device, channels)));
        this.runningMean = TensorMemory.own(register_buffer("running_mean", DeviceTensors.zeros(device, channels)));
        this.runningVariance = TensorMemory.own(register_buffer("running_var", DeviceTensors.ones(device, channels)));
        this.batches = TensorMemory.own(register_buffer(
                "num_batches_tracked", torch.zeros(new long[0], TensorMemory.options(device, torch.ScalarType.Long))));
    }

    /**
     * Normalises each channel. Collective in training.
     *
     * @param x a tensor of shape [N, C] or [N, C, ...]
     * @return a tensor of the shape of {@code x}
     */
    public Tensor forward(Tensor x) {
        if (x.dim() < 2 || x.size(1) != channels) {
            throw new IllegalArgumentException("SyncBatchNorm of " + channels + " channels needs an input of shape [N, "
                    + channels + ", ...], not " + TensorMemory.shape(x));
        }
        if (!is_training()) {
            return torch.batch_norm(
                    x,
                    new TensorOptional(weight),
                    new TensorOptional(bias),
                    new TensorOptional(runningMean),
                    new TensorOptional(runningVariance),
                    false,
                    momentum,
                    epsilon,
                    false);
        }
        SyncNormalization function = new SyncNormalization(group, epsilon);
        List<Tensor> results = AutogradBridge.instance().apply(function, List.of(x, weight, bias));
        try (NoGradGuard _ = new NoGradGuard()) {
            runningMean.lerp_(results.get(1).to(runningMean.scalar_type()), new Scalar(momentum));
            runningVariance.lerp_(results.get(2).to(runningVariance.scalar_type()), new Scalar(momentum));
            batches.add_(new Scalar(1));
        }
        return results.getFirst();
    }
}
