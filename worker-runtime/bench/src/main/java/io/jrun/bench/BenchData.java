package io.jrun.bench;

import io.jrun.train.tensor.ModuleTensors;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * Parameters and tokens by a formula of integers. The values equal the values of scripts/bench/peers/ddp_gloo.py bit
 * for bit, because no random number generator with values that depend on the version or the processor is used.
 */
final class BenchData {
    /** Sequences of each rank and step. */
    static final int BATCH = 8;

    /** A prime number, 2^31 - 1. */
    private static final long PRIME = Integer.MAX_VALUE;
    /** The first number of a stream of tokens. Streams with smaller numbers are parameters. */
    private static final long FIRST_TOKEN_STREAM = 1000;

    private BenchData() {}

    /** Token ids and the ids to predict, both [BATCH, S]. */
    record Batch(Tensor x_BS, Tensor y_BS) {}

    /** Sets all parameters of a model. */
    static void fill(BenchGpt model) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            long stream = 0;
            for (Map.Entry<String, Tensor> parameter :
                    ModuleTensors.parameters(model).entrySet()) {
                Tensor tensor = parameter.getValue();
                Tensor centred = fractions(stream++, tensor.numel())
                        .sub(new Scalar(0.5))
                        .to(torch.ScalarType.Float)
                        .view_as(tensor);
                if (tensor.dim() == 2) {
                    tensor.copy_(centred.mul(new Scalar(2 / Math.sqrt((double) tensor.size(1)))));
                } else {
                    double base = parameter.getKey().endsWith("weight") ? 1 : 0;
                    tensor.copy_(centred.mul(new Scalar(0.02)).add(new Scalar(base)));
                }
            }
        }
    }

    /** The tokens of a rank in a step; each token decides the next one. */
    static Batch batch(long step, int rank, int ranks) {
        Tensor x_BS = fractions(FIRST_TOKEN_STREAM + step * ranks + rank, BATCH * BenchGpt.S)
                .mul(new Scalar((double) BenchGpt.V))
                .to(torch.ScalarType.Long)
                .view(BATCH, BenchGpt.S);
        Tensor y_BS = x_BS.mul(new Scalar(31L)).add(new Scalar(7L)).remainder(new Scalar(BenchGpt.V));
        return new Batch(x_BS, y_BS);
    }

    /** The tokens of all ranks in a step, one rank after the other: [ranks * BATCH, S]. */
    static Batch batchOfAll(long step, int ranks) {
        List<Batch> batches = IntStream.range(0, ranks)
                .mapToObj(rank -> batch(step, rank, ranks))
                .toList();
        return new Batch(joined(batches, Batch::x_BS), joined(batches, Batch::y_BS));
    }

    private static Tensor joined(List<Batch> batches, Function<Batch, Tensor> part) {
        return torch.cat(new TensorVector(batches.stream().map(part).toArray(Tensor[]::new)), 0);
    }

    /** {@code count} float64 numbers from 0 to 1. */
    private static Tensor fractions(long stream, long count) {
        Tensor i = torch.arange(new Scalar(count), new TensorOptions(torch.ScalarType.Long));
        Tensor mixed = i.mul(i)
                .remainder(new Scalar(PRIME))
                .mul(new Scalar(48271L))
                .add(i.mul(new Scalar(16807L)))
                .add(new Scalar((stream + 1) * 69621L))
                .remainder(new Scalar(PRIME));
        return mixed.to(torch.ScalarType.Double).div(new Scalar((double) PRIME));
    }
}
