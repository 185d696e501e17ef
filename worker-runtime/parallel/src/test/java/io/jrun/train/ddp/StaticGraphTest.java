package io.jrun.train.ddp;

import static io.jrun.train.EqualBits.assertEqualBits;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.Libtorch;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import io.jrun.train.ddp.Training.Rule;
import io.jrun.train.reducer.GradientReducer;
import io.jrun.train.reducer.ReductionException;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.TensorMemory;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.bytedeco.pytorch.AutoGradMode;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class StaticGraphTest {
    private static final DdpOptions STATIC =
            DdpOptions.DEFAULT.withStaticGraph(true).withBuckets(1, 1);

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** Parameters a, b and one that no loss uses. */
    private static final class Weights extends Module {
        final Tensor a = TensorMemory.own(register_parameter("a", torch.ones(3).mul(new Scalar(2))));
        final Tensor b = TensorMemory.own(register_parameter("b", torch.ones(5)));
        final Tensor never = TensorMemory.own(register_parameter("never", torch.ones(2)));
    }

    @Test
    void equalsSerialAccumulationBitForBit() {
        List<float[]> serial = Training.serial(2, Rule.ADAMW);
        AtomicReferenceArray<List<float[]>> results = new AtomicReferenceArray<>(2);
        DdpOptions options = STATIC.withBuckets(2000, 10_000);
        LocalWorld.run(
                LocalWorldOptions.ofSize(2).withDeterministic(true),
                world -> results.set(
                        world.rank(),
                        Training.parallel(world, options, Rule.ADAMW, Training.Clearing.DROP, GradientReducer::new)));
        for (List<float[]> rank : Training.collect(results)) {
            assertEqualBits(rank, serial);
        }
    }

    /** Rank 0 uses a and b, rank 1 only a; no rank uses the third. From the second pass on by a plain backward. */
    @Test
    void unusedParametersOfTheFirstPassStayUnused() {
        LocalWorld.run(2, world -> {
            Weights module = new Weights();
            try (var model = new DistributedDataParallel<>(module, world.group(), STATIC)) {
                for (int pass = 0; pass < 3; pass++) {
                    module.zero_grad(true);
                    try (Step step = model.step()) {
                        Tensor loss = module.a.sum().mul(new Scalar(1.0 + world.rank()));
                        loss = world.rank() == 0 ? loss.add(module.b.sum()) : loss;
                        if (pass == 0) {
                            step.backward(loss);
                        } else {
                            loss.backward();
                        }
                    }
                    assertThat(first(module.a)).isEqualTo(1.5f);
                    assertThat(first(module.b)).isEqualTo(0.5f);
                    assertThat(module.never.grad().defined()).isFalse();
                }
                assertThat(model.report().unusedParameters())
                        .isEqualTo(world.rank() == 0 ? List.of("never") : List.of("b", "never"));
                assertThat(model.report().canSetStaticGraph()).isTrue();
            }
        });
    }

    /** x * a, whose backward method runs a pass of its own: the gradient of a is added to once for each call. */
    private record Checkpointed(Tensor a) implements AutogradFunction {
        @Override
        public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
            context.save(inputs.getFirst());
            return List.of(inputs.getFirst().mul(a));
        }

        @Override
        public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
            Tensor x = context.saved(0).detach().requires_grad_(true);
            try (AutoGradMode _ = new AutoGradMode(true)) {
                Tensor y = x.mul(a);
                AutogradBridge.instance().backward(List.of(y), List.of(Objects.requireNonNull(gradients.getFirst())));
            }
            return Arrays.asList(x.grad());
        }
    }

    /** With the same parameter twice: x * a * a. */
    private static Tensor checkpointedLoss(Weights module, int rank) {
        Tensor x = torch.ones(3).mul(new Scalar(rank + 1.0)).requires_grad_(true);
        for (int i = 0; i < 2; i++) {
            x = AutogradBridge.instance()
                    .apply(new Checkpointed(module.a), List.of(x))
                    .getFirst();
        }
        return x.sum().add(module.b.sum()).add(module.never.sum());
    }

    @Test
    void aParameterThatGetsSeveralGradientsIsReducedAfterTheLastOne() {
        LocalWorld.run(2, world -> {
            Weights module = new Weights();
            try (var model = new DistributedDataParallel<>(module, world.group(), STATIC)) {
                for (int pass = 0; pass < 3; pass++) {
                    module.zero_grad(true);
                    try (Step step = model.step()) {
                        step.backward(checkpointedLoss(module, world.rank()));
                    }
                    // d/da of x a^2 is 2 x a = 4 x; x is 1 and 2
                    assertThat(first(module.a)).isEqualTo(6f);
                }
            }
        });
    }

    @Test
    void withoutStaticGraphSeveralGradientsAreAnError() {
        assertThatThrownBy(() -> LocalWorld.run(1, world -> {
                    Weights module = new Weights();
                    var model =
                            new DistributedDataParallel<>(module, world.group(), DdpOptions.DEFAULT.withBuckets(1, 1));
                    try (Step step = model.step()) {
                        step.backward(checkpointedLoss(module, 0));
                    }
                }))
                .isInstanceOf(ReductionException.class)
                .hasMessageContaining("staticGraph");
    }

    @Test
    void aGraphThatChangesIsAnErrorThatNamesTheParameter() {
        assertThatThrownBy(() -> LocalWorld.run(1, world -> {
                    Weights module = new Weights();
                    var model = new DistributedDataParallel<>(module, world.group(), STATIC);
                    try (Step step = model.step()) {
                        step.backward(module.a.sum().add(module.b.sum()));
                    }
                    try (Step step = model.step()) {
                        step.backward(module.a.sum());
                    }
                }))
                .isInstanceOf(ReductionException.class)
                .hasMessageContaining("1 of 3 parameters")
                .hasMessageContaining(": b.")
                .hasMessageContaining("staticGraph promises");
    }

    @Test
    void aFirstPassWithoutStepBackwardIsAnError() {
        assertThatThrownBy(() -> LocalWorld.run(1, world -> {
                    Weights module = new Weights();
                    var model = new DistributedDataParallel<>(module, world.group(), STATIC);
                    try (Step _ = model.step()) {
                        module.a.sum().backward();
                    }
                }))
                .isInstanceOf(ReductionException.class)
                .hasMessageContaining("run the first pass by step.backward(loss)");
    }

    private static float first(Tensor parameter) {
        return parameter.grad().data_ptr_float().get(0);
    }
}
