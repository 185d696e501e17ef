package io.jrun.train.ddp;

import io.jrun.comm.World;
import io.jrun.train.TinyGpt;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/**
 * The same ten steps done by one process that accumulates, and by DDP; rank r's batch of step s is a function of both.
 */
final class Training {
    static final int STEPS = 10;
    private static final int WIDTH = 32;
    private static final int CONTEXT = 16;
    private static final int BATCH = 2;

    private Training() {}

    /** The treatment of the gradients of the step before. */
    enum Clearing {
        /** {@code optimizer.zero_grad()}: drops them, which is libtorch's default. */
        DROP,
        /** {@code optimizer.zero_grad(false)}: detaches and zeroes them in place. */
        ZERO
    }

    /** The update of parameters from gradients. */
    enum Rule {
        /** Remembers two values per parameter; all the better to compare bits with. */
        ADAMW,
        /**
         * For comparisons with a tolerance. AdamW divides each gradient by its own size, so where the true gradient is
         * 0 (the keys' bias: attention does not depend on it) it turns rounding errors into full steps.
         */
        SGD_MOMENTUM;

        Optimizer optimizer(Module module) {
            if (this == ADAMW) {
                return new AdamW(module.parameters(), new AdamWOptions(1e-2));
            }
            SGDOptions options = new SGDOptions(0.05);
            options.momentum().put(0.9);
            return new SGD(module.parameters(), options);
        }
    }

    static TinyGpt model(long seed) {
        return new TinyGpt(seed, WIDTH, CONTEXT);
    }

    static Tensor loss(TinyGpt model, int step, int rank) {
        long seed = 100L * step + rank;
        return model.loss(TinyGpt.tokens(seed, BATCH, CONTEXT), TinyGpt.tokens(seed + 50_000, BATCH, CONTEXT));
    }

    /** Values of every parameter after {@link #STEPS} steps of serial accumulation over {@code ranks} batches. */
    static List<float[]> serial(int ranks, Rule rule) {
        TinyGpt model = model(1);
        Optimizer optimizer = rule.optimizer(model);
        for (int step = 0; step < STEPS; step++) {
            try (PointerScope _ = new PointerScope()) {
                optimizer.zero_grad();
                for (int rank = 0; rank < ranks; rank++) {
                    loss(model, step, rank).div(new Scalar((double) ranks)).backward();
                }
                optimizer.step();
            }
        }
        return values(model);
    }

    /** The same by DDP; other ranks begin with other values, which construction must replace by rank 0's. */
    static List<float[]> parallel(
            World world,
            DdpOptions options,
            Rule rule,
            Clearing clearing,
            DistributedDataParallel.ReducerFactory reducers) {
        TinyGpt module = model(1 + world.rank());
        try (DistributedDataParallel<TinyGpt> model =
                new DistributedDataParallel<>(module, world.group(), options, reducers)) {
            Optimizer optimizer = rule.optimizer(module);
            for (int current = 0; current < STEPS; current++) {
                try (Step step = model.step()) {
                    optimizer.zero_grad(clearing == Clearing.DROP);
                    Tensor loss = loss(module, current, world.rank());
                    if (current % 2 == 0) {
                        step.backward(loss);
                    } else {
                        loss.backward();
                    }
                    optimizer.step();
                }
            }
            return values(module);
        }
    }

    static List<float[]> values(Module module) {
        List<float[]> values = new ArrayList<>();
        ModuleTensors.parameters(module)
                .values()
                .forEach(tensor -> values.add(TensorMemory.segment(tensor).toArray(ValueLayout.JAVA_FLOAT)));
        return values;
    }

    /** The first parameter's gradient. */
    static float[] gradients(Module module) {
        Tensor first = ModuleTensors.parameters(module).values().iterator().next();
        return TensorMemory.segment(first.grad()).toArray(ValueLayout.JAVA_FLOAT);
    }

    static float largestDifference(List<float[]> a, List<float[]> b) {
        float largest = 0;
        for (int i = 0; i < a.size(); i++) {
            for (int k = 0; k < a.get(i).length; k++) {
                largest = Math.max(largest, Math.abs(a.get(i)[k] - b.get(i)[k]));
            }
        }
        return largest;
    }

    static <T> List<T> collect(AtomicReferenceArray<T> perRank) {
        List<T> list = new ArrayList<>();
        for (int i = 0; i < perRank.length(); i++) {
            list.add(perRank.get(i));
        }
        return list;
    }
}
