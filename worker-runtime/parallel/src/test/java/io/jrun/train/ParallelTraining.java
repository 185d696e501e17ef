package io.jrun.train;

import io.jrun.train.layer.TokenLoss;
import io.jrun.train.tensor.ModuleTensors;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.IntToDoubleFunction;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/** Some steps of a {@link TinyTransformer}, serial or parallel; the batch of a step is a function of the step. */
public final class ParallelTraining {
    public static final int STEPS = 10;
    private static final int TEXTS = 4;

    private ParallelTraining() {}

    /** Tokens and the next tokens, both [TEXTS, CONTEXT]. */
    public record Batch(Tensor tokens, Tensor next) {
        /** Text {@code from} and those after. */
        public Batch texts(long from, long count) {
            return new Batch(tokens.narrow(0, from, count), next.narrow(0, from, count));
        }
    }

    /** The batch of a step. The last half of the first texts and all of the last text has no targets. */
    public static Batch batch(int step, boolean hasPadding) {
        Tensor tokens = tokens(step);
        Tensor next = tokens(1000 + step);
        if (hasPadding) {
            next.narrow(0, 0, 2)
                    .narrow(1, TinyTransformer.CONTEXT / 2, TinyTransformer.CONTEXT / 2)
                    .fill_(new Scalar(TokenLoss.IGNORED));
            next.narrow(0, TEXTS - 1, 1).fill_(new Scalar(TokenLoss.IGNORED));
        }
        return new Batch(tokens, next);
    }

    private static Tensor tokens(int seed) {
        Tensor numbers = torch.arange(
                new Scalar((long) TEXTS * TinyTransformer.CONTEXT), new TensorOptions(torch.ScalarType.Long));
        return numbers.mul(new Scalar(7919L))
                .add(new Scalar(104729L * (seed + 1)))
                .mul(numbers.add(new Scalar(31L)))
                .remainder(new Scalar((long) TinyTransformer.VOCABULARY))
                .view(TEXTS, TinyTransformer.CONTEXT);
    }

    /** Trains and returns the loss of each step. */
    public static List<Double> train(
            TinyTransformer model, int steps, BiFunction<TinyTransformer, Integer, Tensor> loss) {
        return train(model, steps, step -> {
            Tensor value = loss.apply(model, step);
            value.backward();
            return value.item_double();
        });
    }

    /** Trains by steps that leave gradients, with momentum, and returns what the steps return. */
    public static List<Double> train(TinyTransformer model, int steps, IntToDoubleFunction backward) {
        SGDOptions options = new SGDOptions(0.05);
        options.momentum().put(0.9);
        SGD optimizer = new SGD(model.parameters(), options);
        List<Double> losses = new ArrayList<>();
        for (int step = 0; step < steps; step++) {
            try (PointerScope _ = new PointerScope()) {
                optimizer.zero_grad();
                losses.add(backward.applyAsDouble(step));
                optimizer.step();
            }
        }
        return losses;
    }

    /** Copies of all parameters by their names. */
    public static Map<String, Tensor> values(TinyTransformer model) {
        Map<String, Tensor> values = new LinkedHashMap<>();
        try (NoGradGuard _ = new NoGradGuard()) {
            ModuleTensors.parameters(model)
                    .forEach((name, tensor) -> values.put(name, tensor.detach().clone()));
        }
        return values;
    }

    /** The parameters of the serial model after {@link #STEPS} steps. */
    public static Map<String, Tensor> serial(TinyTransformer.Options options, boolean hasPadding) {
        TinyTransformer model = new TinyTransformer(options);
        train(model, STEPS, (net, step) -> {
            Batch batch = batch(step, hasPadding);
            return net.loss(batch.tokens(), batch.next());
        });
        return values(model);
    }

    /** The largest absolute difference. */
    public static double difference(Tensor a, Tensor b) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            return a.sub(b).abs().max().item_double();
        }
    }

    /** 1e-6 in float32, 1e-12 in float64. */
    public static double tolerance(torch.ScalarType type) {
        return type == torch.ScalarType.Double ? 1e-12 : 1e-6;
    }
}
