package io.jrun.train.ddp;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Normalisation of each channel by the statistics of all ranks. Inputs: x [N, C, ...], weight [C], bias [C]. Outputs: y
 * of the shape and type of x, and the mean [C] and the unbiased variance [C] of all samples. The arithmetic is in float32
 * if x has fewer bits: a bfloat16 number cannot count 257 samples.
 */
final class SyncNormalization implements AutogradFunction {
    private final ProcessGroup group;
    private final double epsilon;

    SyncNormalization(ProcessGroup group, double epsilon) {
        this.group = group;
        this.epsilon = epsilon;
    }

    @Override
    public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
        Tensor x = wide(inputs.get(0));
        long channels = x.size(1);
        long[] dims = dimsOfSamples(x);
        double count = (double) x.numel() / channels;
        Tensor mean = sum(x, dims).div(new Scalar(Math.max(count, 1)));
        Tensor deviations = x.sub(perChannel(mean, x));
        Tensor squares = sum(deviations.mul(deviations), dims);

        Tensor counted = torch.full(new long[] {1}, new Scalar(count), x.options());
        Tensor mine = torch.cat(new TensorVector(mean, squares, counted));
        Tensor all = torch.zeros(new long[] {group.size(), mine.numel()}, x.options());
        new TensorCollectives(group).allGather(mine, all);

        Tensor means = all.narrow(1, 0, channels);
        Tensor counts = all.narrow(1, 2 * channels, 1);
        Tensor total = counts.sum();
        Tensor globalMean = means.mul(counts).sum(0).div(total);
        Tensor between = means.sub(globalMean);
        Tensor globalSquares = all.narrow(1, channels, channels)
                .add(between.mul(between).mul(counts))
                .sum(0);
        Tensor scale = globalSquares.div(total).add(new Scalar(epsilon)).rsqrt();
        Tensor unbiased = globalSquares.div(total.sub(new Scalar(1)).clamp_min(new Scalar(1)));

        Tensor normalised = x.sub(perChannel(globalMean, x)).mul(perChannel(scale, x));
        context.save(normalised, scale, inputs.get(1), total);
        context.markNonDifferentiable(globalMean, unbiased);
        Tensor y = normalised.mul(perChannel(inputs.get(1), x)).add(perChannel(inputs.get(2), x));
        return List.of(y.to(inputs.getFirst().scalar_type()), globalMean, unbiased);
    }

    @Override
    public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
        Tensor normalised = context.saved(0);
        Tensor narrow = gradients.getFirst();
        if (narrow == null) {
            return Arrays.asList(null, null, null);
        }
        Tensor dy = wide(narrow);
        Tensor weight = context.saved(2);
        long channels = dy.size(1);
        long[] dims = dimsOfSamples(dy);
        Tensor biasGradient = sum(dy, dims);
        Tensor weightGradient = sum(dy.mul(normalised), dims);
        Tensor sums = torch.cat(new TensorVector(biasGradient, weightGradient));
        new TensorCollectives(group).allReduce(sums, ReduceOp.SUM);
        Tensor means = sums.div(context.saved(3));
        Tensor centred = dy.sub(perChannel(means.narrow(0, 0, channels), dy))
                .sub(normalised.mul(perChannel(means.narrow(0, channels, channels), dy)));
        Tensor x = centred.mul(perChannel(context.saved(1).mul(weight), dy));
        return Arrays.asList(
                x.to(narrow.scalar_type()),
                weightGradient.to(weight.scalar_type()),
                biasGradient.to(weight.scalar_type()));
    }

    private static Tensor wide(Tensor tensor) {
        return tensor.element_size() < Float.BYTES ? tensor.to(torch.ScalarType.Float) : tensor;
    }

    /** All dimensions except the dimension of the channels. */
    private static long[] dimsOfSamples(Tensor x) {
        return LongStream.range(0, x.dim()).filter(dim -> dim != 1).toArray();
    }

    private static Tensor sum(Tensor x, long[] dims) {
        return x.sum(dims, false, new ScalarTypeOptional());
    }

    /** A tensor [C] in a shape that broadcasts over {@code x}. */
    private static Tensor perChannel(Tensor values, Tensor x) {
        long[] sizes = TensorMemory.sizes(x);
        Arrays.fill(sizes, 1);
        sizes[1] = values.numel();
        return values.view(sizes);
    }
}
