package io.jrun.train.pipeline;

import static java.util.Objects.requireNonNull;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.optim.Gradients;
import io.jrun.train.precision.Autocast;
import io.jrun.train.tensor.DeferredNumber;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/** The same ten steps by one process that adds up the micro-batches in their order, and by a pipeline. */
record PipelineTraining(int microBatches, int replicas, boolean isTied, boolean recomputes, boolean bf16, double clip) {
    static final int STEPS = 10;
    private static final int SAMPLES = 2;

    static PipelineTraining of(int microBatches) {
        return new PipelineTraining(microBatches, 1, false, false, false, 0);
    }

    PipelineTraining tied() {
        return new PipelineTraining(microBatches, replicas, true, recomputes, bf16, clip);
    }

    PipelineTraining withReplicas(int count) {
        return new PipelineTraining(microBatches, count, isTied, recomputes, bf16, clip);
    }

    PipelineTraining composed() {
        return new PipelineTraining(microBatches, replicas, isTied, true, true, 0.5);
    }

    /** Parameters by name, and the losses of all steps. */
    record Result(Map<String, float[]> parameters, List<Double> losses) {}

    List<Tensor> inputs(int step, int replica) {
        List<Tensor> all = new ArrayList<>();
        for (int i = 0; i < microBatches; i++) {
            all.add(StagedGpt.batch(1000L * step + 100L * replica + i, SAMPLES));
        }
        return all;
    }

    /**
     * Without the classes of the pipeline. A tied matrix is two tensors here, because two stages add up the gradients of
     * all micro-batches before they exchange the sums.
     */
    Result serial() {
        return serial(isTied);
    }

    /** Without the classes of the pipeline. A tied matrix is one tensor, as in a model of one stage. */
    Result serialOfOneStage() {
        return serial(false);
    }

    private Result serial(boolean hasCopy) {
        List<PipelineLayer> layers = new StagedGpt(isTied && !hasCopy, false).layers();
        Map<String, Tensor> parameters = new LinkedHashMap<>();
        layers.forEach(layer -> parameters.putAll(layer.parameters()));
        Tensor tokens = requireNonNull(parameters.get("tokens"));
        Tensor head = hasCopy ? requireNonNull(parameters.remove("head")) : tokens;
        AdamW optimizer = optimizer(parameters.values());
        List<Double> losses = new ArrayList<>();
        for (int step = 0; step < STEPS; step++) {
            try (PointerScope _ = new PointerScope()) {
                optimizer.zero_grad();
                Map<String, Tensor> sums = new LinkedHashMap<>();
                double loss = 0;
                for (int replica = 0; replica < replicas; replica++) {
                    double part = 0;
                    for (Tensor input : inputs(step, replica)) {
                        Tensor scaled = loss(layers, input).div(new Scalar((double) microBatches));
                        part += scaled.item_double();
                        scaled.backward();
                    }
                    loss = replica == 0 ? part : loss;
                    if (hasCopy) {
                        addCopy(tokens, head);
                    }
                    addReplica(parameters, sums);
                }
                sums.forEach((name, sum) ->
                        requireNonNull(parameters.get(name)).mutable_grad().put(sum));
                losses.add(loss);
                if (clip > 0) {
                    DeferredNumber _ = Gradients.clip(Parameters.of(parameters).values(), clip);
                }
                optimizer.step();
                if (hasCopy) {
                    try (NoGradGuard _ = new NoGradGuard()) {
                        head.copy_(tokens);
                    }
                }
            }
        }
        return new Result(values(parameters), losses);
    }

    private Tensor loss(List<PipelineLayer> layers, Tensor input) {
        try (var _ = bf16 ? Autocast.cpuBfloat16() : null) {
            Tensor x = input;
            for (PipelineLayer layer : layers) {
                x = layer.forward().apply(x);
            }
            return StagedGpt.loss(x, input);
        }
    }

    private static void addCopy(Tensor tokens, Tensor head) {
        try (NoGradGuard _ = new NoGradGuard()) {
            tokens.mutable_grad().add_(head.mutable_grad());
            head.mutable_grad().reset();
        }
    }

    /** Adds this replica's share to the sums, and drops the gradients. */
    private void addReplica(Map<String, Tensor> parameters, Map<String, Tensor> sums) {
        try (NoGradGuard _ = new NoGradGuard()) {
            parameters.forEach((name, parameter) -> {
                Tensor share = parameter.mutable_grad().mul(new Scalar(1.0 / replicas));
                sums.merge(name, share, Tensor::add);
                parameter.mutable_grad().reset();
            });
        }
    }

    /**
     * Over {@code ranks} pipeline ranks as threads; {@code inspect} sees the model of each rank after the last step.
     */
    Result parallel(PipelineOptions options, Consumer<PipelineParallel> inspect) {
        Map<String, float[]> parameters = new ConcurrentHashMap<>();
        List<Double> losses = new ArrayList<>();
        int ranks = options.schedule().ranks();
        LocalWorld.run(LocalWorldOptions.ofSize(ranks * replicas).withDeterministic(true), world -> {
            try (DeviceMesh mesh = DeviceMesh.of(world, "pp", ranks, "dp", replicas);
                    PipelineParallel model = model(mesh, options)) {
                List<Double> mine = train(model, mesh.coordinate("dp"));
                inspect.accept(model);
                publish(world, values(Parameters.here(model.parameters())), parameters);
                if (world.rank() == 0) {
                    losses.addAll(mine);
                }
            }
        });
        return new Result(new TreeMap<>(parameters), losses);
    }

    private PipelineParallel model(DeviceMesh mesh, PipelineOptions options) {
        PipelineOptions all = replicas > 1 ? options.withReplicas(mesh.axis("dp")) : options;
        return new PipelineParallel(
                new StagedGpt(isTied, recomputes).layers(),
                StagedGpt::loss,
                mesh.axis("pp"),
                bf16 ? all.withAutocast(Autocast::cpuBfloat16) : all);
    }

    private List<Double> train(PipelineParallel model, int replica) {
        AdamW optimizer = optimizer(Parameters.here(model.parameters()).values());
        List<Double> losses = new ArrayList<>();
        for (int step = 0; step < STEPS; step++) {
            try (PointerScope _ = new PointerScope()) {
                optimizer.zero_grad();
                List<Tensor> inputs = inputs(step, replica);
                losses.add(model.step(inputs, inputs));
                if (clip > 0) {
                    DeferredNumber _ = Gradients.clip(model.parameters().values(), clip);
                }
                optimizer.step();
            }
        }
        return losses;
    }

    /** All ranks that hold a parameter have equal bits. */
    private static void publish(World world, Map<String, float[]> mine, Map<String, float[]> all) {
        mine.forEach((name, values) -> all.merge(name, values, (first, second) -> {
            if (!Arrays.equals(first, second)) {
                throw new AssertionError("rank " + world.rank() + " has other values of " + name);
            }
            return first;
        }));
    }

    private static AdamW optimizer(Collection<Tensor> parameters) {
        return new AdamW(new TensorVector(parameters.toArray(Tensor[]::new)), new AdamWOptions(1e-2));
    }

    private static Map<String, float[]> values(Map<String, Tensor> parameters) {
        Map<String, float[]> values = new TreeMap<>();
        parameters.forEach((name, tensor) -> values.put(
                name, TensorMemory.segment(DeviceWaits.onHost(tensor.detach())).toArray(ValueLayout.JAVA_FLOAT)));
        return values;
    }
}
