package io.jrun.bench.gpu;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.models.gpt2.Gpt2;
import io.jrun.models.gpt2.Gpt2Config;
import io.jrun.models.transformer.ExpertLayers;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.context.ContextParallel;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.module.ModuleWrapper;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensorparallel.TensorParallel;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiConsumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;

/**
 * Trains a small GPT-2 on GPUs whose layers or sequences all ranks share. Compares the parameters with the same steps of
 * one rank on the CPU.
 */
final class SharedLayers {
    private static final Gpt2Config CONFIG = new Gpt2Config(96, 32, 64, 2, 4, 256, 1e-5, true);
    private static final int STEPS = 5;
    private static final int BATCH = 4;
    private static final double RATE = 0.1;
    private static final double TOLERANCE = 1e-4;

    private SharedLayers() {}

    /** Tensor parallelism with sequence parallelism. */
    static String tensorParallel(ProcessGroup group, Device device) {
        Map<String, Tensor> expected = serial();
        MeshAxis axis = new MeshAxis("tp", group);
        Gpt2 model = model(device);
        TensorParallel.apply(model, axis, true, model.tensorParallelPlan());
        train(model, (x, y) -> AutogradBridge.instance().backward(List.of(model.loss(x, y)), List.of()));
        Map<String, Tensor> found = new LinkedHashMap<>();
        try (NoGradGuard _ = new NoGradGuard()) {
            Parameters.of(model).forEach((name, parameter) -> found.put(name, parameter.whole()));
        }
        return compare(found, expected);
    }

    /** Context parallelism by an exchange of heads. */
    static String contextParallel(ProcessGroup group, Device device) {
        Map<String, Tensor> expected = serial();
        MeshAxis axis = new MeshAxis("cp", group);
        Gpt2 model = model(device);
        ContextParallel context = ContextParallel.apply(model, axis, axis, ContextParallel.Exchange.ULYSSES);
        try (DistributedDataParallel<Gpt2> ddp = new DistributedDataParallel<>(model, group)) {
            train(model, (x, y) -> {
                try (Step step = ddp.step()) {
                    step.backward(model.loss(context.tokens(x), context.tokens(y)));
                }
            });
        }
        return compare(ModuleTensors.parameters(model), expected);
    }

    private static Map<String, Tensor> serial() {
        Gpt2 model = model(Device.CPU);
        train(model, (x, y) -> AutogradBridge.instance().backward(List.of(model.loss(x, y)), List.of()));
        return ModuleTensors.parameters(model);
    }

    private static Gpt2 model(Device device) {
        Gpt2 model = new Gpt2(CONFIG, ExpertLayers.NONE, ModuleWrapper.NONE, device);
        model.initialize(1);
        return model;
    }

    private static void train(Gpt2 model, BiConsumer<Tensor, Tensor> backward) {
        SGD optimizer = new SGD(model.parameters(), new SGDOptions(RATE));
        for (int step = 0; step < STEPS; step++) {
            try (PointerScope _ = new PointerScope()) {
                optimizer.zero_grad();
                backward.accept(tokens(model, step), tokens(model, step + 1));
                optimizer.step();
            }
        }
    }

    private static Tensor tokens(Gpt2 model, int step) {
        long[] values = new long[(int) (BATCH * CONFIG.context())];
        for (int i = 0; i < values.length; i++) {
            values[i] = (long) (i + 1) * (i + step + 3) % CONFIG.vocabulary();
        }
        Tensor host = Tensor.create(values, BATCH, CONFIG.context());
        return host.to(
                new org.bytedeco.pytorch.Device(model.device().toString()),
                host.scalar_type().intern());
    }

    private static String compare(Map<String, Tensor> found, Map<String, Tensor> expected) {
        double largest = 0;
        try (NoGradGuard _ = new NoGradGuard()) {
            for (Map.Entry<String, Tensor> parameter : expected.entrySet()) {
                double difference = Objects.requireNonNull(found.get(parameter.getKey()), parameter.getKey())
                        .cpu()
                        .sub(parameter.getValue())
                        .abs()
                        .max()
                        .item_double();
                if (!(difference < TOLERANCE)) {
                    throw new IllegalStateException(parameter.getKey() + " differs from the CPU's by " + difference);
                }
                largest = Math.max(largest, difference);
            }
        }
        return STEPS + " steps of GPT-2, parameters within " + largest + " of one rank's on the CPU";
    }
}
