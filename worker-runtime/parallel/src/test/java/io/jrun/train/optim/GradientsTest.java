package io.jrun.train.optim;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.TinyGpt;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.assertj.core.data.Offset;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Clipping against libtorch's, and the join of flat optimizers with DDP. */
class GradientsTest {
    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static TinyGpt model(double scale) {
        TinyGpt model = new TinyGpt(1, 16, 8);
        model.loss(TinyGpt.tokens(1, 2, 8), TinyGpt.tokens(2, 2, 8))
                .mul(new Scalar(scale))
                .backward();
        return model;
    }

    private static List<float[]> gradients(Collection<Tensor> parameters) {
        return parameters.stream()
                .map(parameter -> TensorMemory.segment(parameter.grad()).toArray(ValueLayout.JAVA_FLOAT))
                .toList();
    }

    @Test
    void equalsLibtorchsClipping() {
        for (double maximum : new double[] {0.1, 1e6}) {
            Map<String, Tensor> ours = ModuleTensors.parameters(model(3));
            Collection<Tensor> theirs = ModuleTensors.parameters(model(3)).values();
            double expected = torch.clip_grad_norm_(new TensorVector(theirs.toArray(Tensor[]::new)), maximum);
            assertThat(Gradients.norm(Parameters.of(ours).values()).value()).isCloseTo(expected, Offset.offset(1e-5));
            assertThat(Gradients.clip(Parameters.of(ours).values(), maximum).value())
                    .isCloseTo(expected, Offset.offset(1e-5));
            List<float[]> a = gradients(ours.values());
            List<float[]> b = gradients(theirs);
            for (int i = 0; i < a.size(); i++) {
                assertThat(a.get(i)).containsExactly(b.get(i), Offset.offset(1e-7f));
            }
            assertThat(Gradients.norm(Parameters.of(ours).values()).value())
                    .isCloseTo(Math.min(expected, maximum), Offset.offset(1e-5));
        }
    }

    /** torch divides by the norm plus 1e-6. */
    @Test
    void aTinyNormIsScaledByTheFactorOfTorch() {
        Tensor parameter = torch.zeros(1).set_requires_grad(true);
        parameter.mutable_grad().put(torch.full(new long[] {1}, new Scalar(1e-6)));
        assertThat(Gradients.clip(List.of(ShardedTensor.of("p", parameter)), 1e-6)
                        .value())
                .isCloseTo(1e-6, Offset.offset(1e-9));
        assertThat(parameter.grad().item_float()).isCloseTo(5e-7f, Offset.offset(1e-9f));
    }

    @Test
    void gradientsThatAreNotFiniteShowInTheNorm() {
        Map<String, ShardedTensor> parameters = Parameters.of(model(Double.POSITIVE_INFINITY));
        assertThat(Gradients.clip(parameters.values(), 1).value()).isNaN();
    }

    /**
     * Accumulation, clipping and a fused optimizer on DDP's own gradient memory, against the same steps on one rank.
     */
    @Test
    void aFlatOptimizerRunsOverTheGradientMemoryOfDdp() {
        List<float[]> serial = serial();
        AtomicReferenceArray<List<float[]>> results = new AtomicReferenceArray<>(2);
        LocalWorld.run(2, world -> {
            TinyGpt module = new TinyGpt(1, 16, 8);
            Map<String, Tensor> parameters = ModuleTensors.parameters(module);
            try (var model = new DistributedDataParallel<>(module, world.group());
                    FlatOptimizer optimizer = optimizer(parameters, model.gradientMemory())) {
                for (int current = 0; current < 5; current++) {
                    module.zero_grad(true);
                    try (Step step = model.step()) {
                        try (var _ = model.noSync()) {
                            step.backward(loss(module, current, world.rank()));
                        }
                        step.backward(loss(module, 100 + current, world.rank()));
                        Gradients.clip(Parameters.of(parameters).values(), 0.05).value();
                        optimizer.step();
                    }
                    MemorySegment memory = model.gradientMemory().segments().getFirst();
                    assertThat(parameters.values())
                            .as("gradients stay in DDP's memory")
                            .allMatch(parameter -> TensorMemory.address(parameter.grad()) >= memory.address()
                                    && TensorMemory.address(parameter.grad()) < memory.address() + memory.byteSize());
                }
                results.set(world.rank(), values(parameters.values()));
            }
        });
        for (int rank = 0; rank < 2; rank++) {
            for (int i = 0; i < serial.size(); i++) {
                assertThat(results.get(rank).get(i)).containsExactly(serial.get(i), Offset.offset(1e-6f));
            }
        }
    }

    private static List<float[]> serial() {
        TinyGpt module = new TinyGpt(1, 16, 8);
        Map<String, Tensor> parameters = ModuleTensors.parameters(module);
        try (FlatOptimizer optimizer = optimizer(parameters, PaddedGradients.NONE)) {
            for (int current = 0; current < 5; current++) {
                module.zero_grad(true);
                for (int rank = 0; rank < 2; rank++) {
                    loss(module, current, rank).div(new Scalar(2)).backward();
                    loss(module, 100 + current, rank).div(new Scalar(2)).backward();
                }
                Gradients.clip(Parameters.of(parameters).values(), 0.05).value();
                optimizer.step();
            }
        }
        return values(parameters.values());
    }

    private static FlatOptimizer optimizer(Map<String, Tensor> parameters, PaddedGradients memory) {
        return new FlatOptimizer(
                Parameters.of(parameters),
                new FusedSgd(0.9, true),
                ParameterGroup.decayMatrices(0.01),
                LearningRateSchedule.constant(0.5),
                memory);
    }

    private static Tensor loss(TinyGpt module, int batch, int rank) {
        return module.loss(TinyGpt.tokens(10L * batch + rank, 2, 8), TinyGpt.tokens(10L * batch + 5 + rank, 2, 8));
    }

    private static List<float[]> values(Collection<Tensor> parameters) {
        List<float[]> values = new ArrayList<>();
        parameters.forEach(tensor -> values.add(TensorMemory.segment(tensor).toArray(ValueLayout.JAVA_FLOAT)));
        return values;
    }
}
