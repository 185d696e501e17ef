package io.jrun.train.recompute;

import static io.jrun.train.EqualBits.assertEqualBits;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.Libtorch;
import io.jrun.train.LiveMemory;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import io.jrun.train.autograd.SavedTensors;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.precision.Autocast;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntPredicate;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RecomputedSegmentTest {
    private static final int LAYERS = 4;
    private static final int WIDTH = 16;
    private static final double DROPOUT = 0.3;

    private PointerScope scope;

    @BeforeEach
    void open() {
        Libtorch.setThreads(1);
        scope = new PointerScope();
    }

    @AfterEach
    void close() {
        scope.close();
    }

    /** The loss, then all gradients, after a step from a fixed state of the random number generator. */
    private static List<float[]> step(FeedForwardStack model, boolean isBfloat16, Tensor x) {
        torch.manual_seed(7);
        Tensor loss;
        try (Autocast _ = isBfloat16 ? Autocast.cpuBfloat16() : Autocast.off(torch.DeviceType.CPU)) {
            loss = model.loss(x);
        }
        loss.backward();
        List<float[]> values = new ArrayList<>(List.of(floats(loss)));
        ModuleTensors.parameters(model).values().forEach(parameter -> values.add(floats(parameter.grad())));
        values.add(floats(torch.rand(4))); // the generator goes on as without recomputation
        return values;
    }

    private static float[] floats(Tensor tensor) {
        return TensorMemory.segment(tensor.detach().to(torch.ScalarType.Float).contiguous())
                .toArray(ValueLayout.JAVA_FLOAT);
    }

    private static Tensor input() {
        torch.manual_seed(1);
        return torch.randn(8, WIDTH);
    }

    @ParameterizedTest
    @CsvSource({"1, false", "1, true", "2, false", "2, true"})
    void lossAndGradientsHaveTheBitsOfAStepWithoutRecomputation(int interval, boolean isBfloat16) {
        Tensor x = input();
        List<float[]> wanted = step(new FeedForwardStack(LAYERS, WIDTH, DROPOUT, _ -> false), isBfloat16, x);
        List<float[]> found = step(
                new FeedForwardStack(LAYERS, WIDTH, DROPOUT, layer -> layer % interval == interval - 1), isBfloat16, x);
        assertEqualBits(found, wanted);
        List<float[]> otherMasks = step(new FeedForwardStack(LAYERS, WIDTH, DROPOUT / 2, _ -> false), isBfloat16, x);
        assertThat(otherMasks.getFirst()).isNotEqualTo(wanted.getFirst());
    }

    @Test
    void onlyRecomputedBlocksRunTwice() {
        FeedForwardStack model = new FeedForwardStack(LAYERS, WIDTH, DROPOUT, layer -> layer % 2 == 1);
        step(model, false, input());
        assertThat(model.calls()).containsExactly(1, 2, 1, 2);
        try (NoGradGuard _ = new NoGradGuard()) {
            Tensor _ = model.loss(input());
        }
        assertThat(model.calls()).containsExactly(2, 3, 2, 3);
    }

    /** Bytes of the tensors that a forward pass keeps for the backward pass, in units of one block input. */
    private static double keptInputs(IntPredicate recomputes, int layers) {
        int width = 64;
        int batch =
                1024; // The state of the random number generator, which a recomputed block keeps, is small beside it.
        FeedForwardStack model = new FeedForwardStack(layers, width, 0, recomputes);
        try (PointerScope _ = new PointerScope()) {
            Tensor y = model.forward(torch.randn(batch, width));
            return SavedTensors.bytes(y) / (double) (batch * width * Float.BYTES);
        }
    }

    /**
     * With sizes in units of a block input: up and gelu have 4 each, the output 1. Recomputation keeps the output
     * alone.
     */
    @Test
    void liveActivationsAreAsTheFormula() {
        int layers = 6;
        assertThat(keptInputs(_ -> false, layers)).isEqualTo(9.0 * layers);
        assertThat(keptInputs(_ -> true, layers)).isCloseTo(1.0 * layers, within(0.2));
        assertThat(keptInputs(layer -> layer % 2 == 1, layers)).isCloseTo(5.0 * layers, within(0.2));
    }

    /** One inner activation left in each step makes 1.5 MB in a round. */
    @Test
    void stepsLeaveNoMemory() {
        FeedForwardStack model = new FeedForwardStack(LAYERS, 32, DROPOUT, _ -> true);
        Tensor x = torch.randn(1024, 32);
        long grown = LiveMemory.leastGrowth(5, () -> {
            for (int step = 0; step < 3; step++) {
                try (PointerScope _ = new PointerScope()) {
                    model.loss(x).backward();
                }
            }
        });
        assertThat(grown).isLessThan(700 << 10);
    }

    /** Autograd keeps no tensor of a product with a number. */
    @Test
    void theSecondComputationFreesItsTensorsBeforeItsBackwardPass() {
        List<Tensor> made = new ArrayList<>();
        List<Boolean> areAlive = new ArrayList<>();
        UnaryOperator<List<Tensor>> forward = inputs -> {
            made.add(inputs.getFirst().mul(new Scalar(2)));
            Tensor product = made.getLast().mul(new Scalar(3));
            return AutogradBridge.instance()
                    .apply(
                            new BackwardObserver(
                                    () -> areAlive.add(made.getLast().referenceCount() > 0)),
                            List.of(product));
        };
        Tensor x = torch.ones(4).set_requires_grad(true);
        Tensor y = new RecomputedSegment("products", List.of(), forward, DeterminismCheck.FORM)
                .forward(List.of(x))
                .getFirst();
        y.sum().backward();
        assertThat(floats(x.grad())).containsOnly(6);
        assertThat(made).hasSize(2);
        assertThat(areAlive).containsExactly(false);
    }

    private record BackwardObserver(Runnable reached) implements AutogradFunction {
        @Override
        public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
            return inputs;
        }

        @Override
        public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
            reached.run();
            return gradients;
        }
    }

    private static Tensor weight() {
        return torch.ones(4, 4).set_requires_grad(true);
    }

    private static RecomputedSegment segment(Tensor weight, DeterminismCheck check, UnaryOperator<Tensor> forward) {
        return new RecomputedSegment("third", List.of(weight), in -> List.of(forward.apply(in.getFirst())), check);
    }

    @Test
    void aSegmentThatComputesAnotherResultIsNamed() {
        Tensor weight = weight();
        AtomicInteger calls = new AtomicInteger();
        UnaryOperator<Tensor> changesShape = x -> torch.mm(x.narrow(0, 0, 4 - calls.getAndIncrement()), weight);
        Tensor shape = segment(weight, DeterminismCheck.FORM, changesShape).forward(torch.ones(4, 4));
        assertThatThrownBy(() -> AutogradBridge.instance().backward(List.of(shape.sum()), List.of()))
                .isInstanceOf(RecomputeException.class)
                .hasMessageContaining("segment 'third'")
                .hasMessageContaining("[Float[4, 4]] first and [Float[3, 4]] later");
        UnaryOperator<Tensor> changesValues = x -> torch.mm(x, weight).mul(new Scalar(calls.incrementAndGet()));
        Tensor values = segment(weight, DeterminismCheck.BITS, changesValues).forward(torch.ones(4, 4));
        assertThatThrownBy(() -> AutogradBridge.instance().backward(List.of(values.sum()), List.of()))
                .hasMessageContaining("the elements of output 0 have changed");
        Tensor unchecked = segment(weight, DeterminismCheck.NONE, changesValues).forward(torch.ones(4, 4));
        AutogradBridge.instance().backward(List.of(unchecked.sum()), List.of());
        assertThat(weight.grad().defined()).isTrue();
    }

    /** Another block would use the tensor, and its gradient would not come back. */
    @Test
    void aTensorWithAGradientInAFieldIsAnError() {
        Tensor weight = weight();
        List<Tensor> field = new ArrayList<>();
        Tensor lost = segment(weight, DeterminismCheck.FORM, x -> {
                    Tensor y = torch.mm(x, weight);
                    field.add(TensorMemory.own(y.mul(new Scalar(0.5))));
                    return y;
                })
                .forward(torch.ones(4, 4));
        assertThatThrownBy(() -> AutogradBridge.instance().backward(List.of(lost.sum()), List.of()))
                .isInstanceOf(RecomputeException.class)
                .hasMessageContaining("keeps 1 tensors with a gradient beside its outputs")
                .hasMessageContaining("Detach such a tensor, or return it");
        Tensor kept = segment(weight, DeterminismCheck.FORM, x -> {
                    Tensor y = torch.mm(x, weight);
                    field.add(TensorMemory.own(y.detach().mul(new Scalar(0.5))));
                    field.add(TensorMemory.own(y));
                    TensorMemory.own(y.mul(new Scalar(2.0))).close();
                    return y;
                })
                .forward(torch.ones(4, 4));
        AutogradBridge.instance().backward(List.of(kept.sum()), List.of());
        assertThat(weight.grad().defined()).isTrue();
        field.forEach(Tensor::close);
    }

    /** NaN does not equal itself, and the bits of both computations are equal all the same. */
    @Test
    void elementsThatAreNoNumbersHaveNotChanged() {
        Tensor weight = weight();
        Tensor values = segment(
                        weight, DeterminismCheck.BITS, x -> torch.mm(x, weight).mul(new Scalar(Double.NaN)))
                .forward(torch.ones(4, 4));
        AutogradBridge.instance().backward(List.of(values.sum()), List.of());
        assertThat(weight.grad().isnan().all().item_bool()).isTrue();
    }

    @Test
    void anUndeclaredParameterIsAnError() {
        Tensor declared = weight();
        Tensor undeclared = weight();
        Tensor y = segment(
                        declared,
                        DeterminismCheck.FORM,
                        x -> torch.mm(x, declared).add(undeclared))
                .forward(torch.ones(4, 4));
        assertThatThrownBy(() -> AutogradBridge.instance().backward(List.of(y.sum()), List.of()))
                .isInstanceOf(RecomputeException.class)
                .hasMessageContaining("segment 'third'")
                .hasMessageContaining("uses 1 tensors");
    }

    @Test
    void aParameterThatChangedBeforeTheBackwardPassIsAnError() {
        Tensor weight = weight();
        Tensor y =
                segment(weight, DeterminismCheck.FORM, x -> torch.mm(x, weight)).forward(torch.ones(4, 4));
        try (NoGradGuard _ = new NoGradGuard()) {
            Tensor _ = weight.add_(torch.ones(4, 4));
        }
        assertThatThrownBy(() -> AutogradBridge.instance().backward(List.of(y.sum()), List.of()))
                .hasMessageContaining("changed in place");
    }

    /** Above 60 nested passes libtorch's engine continues on another thread. */
    @Test
    void segmentsNestDeeperThanTheEnginesThread() {
        int depth = 70;
        Tensor weight = torch.full(new long[] {4, 4}, new Scalar(0.26)).set_requires_grad(true);
        Set<Thread> threads = ConcurrentHashMap.newKeySet();
        UnaryOperator<Tensor> layer = x -> {
            threads.add(Thread.currentThread());
            return torch.tanh(torch.mm(torch.dropout(x, DROPOUT, true), weight));
        };
        UnaryOperator<Tensor> nested = IntStream.range(0, depth)
                .mapToObj(_ -> layer)
                .reduce(
                        x -> x,
                        (inner, own) -> x -> segment(weight, DeterminismCheck.BITS, y -> inner.apply(own.apply(y)))
                                .forward(x));
        torch.manual_seed(3);
        nested.apply(torch.ones(4, 4)).sum().backward();
        float[] found = floats(weight.grad());
        assertThat(threads).hasSizeGreaterThan(1);
        weight.mutable_grad().zero_();
        torch.manual_seed(3);
        Tensor y = torch.ones(4, 4);
        for (int i = 0; i < depth; i++) {
            y = layer.apply(y);
        }
        y.sum().backward();
        float[] wanted = floats(weight.grad());
        for (int i = 0; i < wanted.length; i++) {
            assertThat(found[i]).isCloseTo(wanted[i], within(1e-5f * Math.abs(wanted[i])));
        }
    }

    /**
     * The first weight is shared with the output layer, which torch's re-entrant checkpoints do not support under DDP.
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void worksUnderDistributedDataParallel(boolean findsUnused) {
        Tensor x = input();
        FeedForwardStack serial = new FeedForwardStack(LAYERS, WIDTH, 0, _ -> false);
        for (int rank = 0; rank < 2; rank++) {
            serial.loss(x.mul(new Scalar(rank + 1.0))).div(new Scalar(2.0)).backward();
        }
        List<float[]> wanted = gradients(serial);
        LocalWorld.run(LocalWorldOptions.ofSize(2).withDeterministic(true), world -> {
            FeedForwardStack model = new FeedForwardStack(LAYERS, WIDTH, 0, _ -> true);
            DdpOptions options = DdpOptions.DEFAULT.withBuckets(2000, 4000).withFindUnusedParameters(findsUnused);
            try (DistributedDataParallel<FeedForwardStack> ddp =
                    new DistributedDataParallel<>(model, world.group(), options)) {
                for (int i = 0; i < 2; i++) { // the second pass has buckets in the order of the first
                    try (Step step = ddp.step()) {
                        ModuleTensors.parameters(model).values().forEach(parameter -> zero(parameter.mutable_grad()));
                        step.backward(model.loss(x.mul(new Scalar(world.rank() + 1.0))));
                    }
                }
                assertEqualBits(gradients(model), wanted);
            }
        });
    }

    private static void zero(Tensor gradient) {
        if (gradient.defined()) {
            gradient.zero_();
        }
    }

    private static List<float[]> gradients(FeedForwardStack model) {
        return ModuleTensors.parameters(model).values().stream()
                .map(parameter -> floats(parameter.grad()))
                .toList();
    }
}
