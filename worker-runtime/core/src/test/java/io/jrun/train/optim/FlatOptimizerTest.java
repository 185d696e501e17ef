package io.jrun.train.optim;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jrun.train.Libtorch;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class FlatOptimizerTest {
    private static final long[][] SHAPES = {{1}, {5}, {7}, {1024}, {33, 65}, {3, 4, 5}, {77, 913}};
    private static final int STEPS = 5;

    private static final float[] TORCH_ADAMW = {0.46929935f, -0.96780086f, 1.4663024f, -1.9648039f, 2.4633055f};
    private static final float[] TORCH_NESTEROV = {0.481441f, -0.962882f, 1.4443228f, -1.925764f, 2.4072046f};
    private static final float[] TORCH_ONE_CYCLE_ADAMW = {0.31334358f, -0.8035863f, 1.293829f, -1.7840716f, 2.2743137f};
    private static final float[] TORCH_ONE_CYCLE_SGD = {0.29092765f, -0.5818553f, 0.87278306f, -1.1637106f, 1.4546384f};
    private static final float[] TORCH_SGD = {0.49400002f, -0.98800004f, 1.482f, -1.9760001f, 2.4699998f};

    private static List<UpdateRule> rules() {
        return List.of(FusedAdamW.DEFAULT, FusedSgd.PLAIN, new FusedSgd(0.9, true));
    }

    @BeforeAll
    static void load() {
        Libtorch.load();
    }

    private static Tensor get(Map<String, Tensor> tensors, String name) {
        return requireNonNull(tensors.get(name), name);
    }

    private static Tensor leaf(Tensor values) {
        return TensorMemory.own(values.clone().set_requires_grad(true));
    }

    private static Map<String, Tensor> parameters(long seed, torch.ScalarType type) {
        torch.manual_seed(seed);
        Map<String, Tensor> parameters = new LinkedHashMap<>();
        for (int i = 0; i < SHAPES.length; i++) {
            parameters.put("p" + i, leaf(torch.randn(SHAPES[i]).to(type)));
        }
        return parameters;
    }

    /** Sets each gradient to numbers that depend on the step and the name alone. */
    private static void setGradients(Map<String, Tensor> parameters, int step) {
        parameters.forEach((name, parameter) -> {
            torch.manual_seed(1000L * step + name.hashCode());
            Tensor gradient = torch.randn(TensorMemory.sizes(parameter))
                    .to(parameter.scalar_type().intern());
            if (parameter.mutable_grad().defined()) {
                parameter.mutable_grad().copy_(gradient);
            } else {
                parameter.mutable_grad().put(gradient);
            }
        });
    }

    /** Puts all gradients one behind the other, each on a cache line, as DDP does. */
    private static MemorySegment layGradientsTogether(Map<String, Tensor> parameters, Arena arena) {
        long bytes = parameters.values().stream()
                .mapToLong(FlatOptimizerTest::sliceBytes)
                .sum();
        MemorySegment memory = arena.allocate(bytes, 64);
        long at = 0;
        for (Tensor parameter : parameters.values()) {
            parameter
                    .mutable_grad()
                    .put(TensorMemory.own(TensorMemory.tensor(
                            memory.asSlice(at, parameter.nbytes()),
                            parameter.scalar_type().intern(),
                            TensorMemory.sizes(parameter))));
            at += sliceBytes(parameter);
        }
        return memory;
    }

    private static long sliceBytes(Tensor parameter) {
        return Math.ceilDiv(parameter.nbytes(), 64L) * 64;
    }

    /** One thread updates each parameter by itself. */
    private static Map<String, Tensor> stepOneByOne(Map<String, Tensor> parameters, UpdateRule rule, int... steps) {
        torch.set_num_threads(1);
        parameters.forEach((name, parameter) -> {
            Map<String, Tensor> one = Map.of(name, parameter);
            FlatOptimizer optimizer = optimizer(one, rule, List.of());
            for (int step : steps) {
                setGradients(one, step);
                optimizer.step();
            }
        });
        return parameters;
    }

    private static FlatOptimizer optimizer(
            Map<String, Tensor> parameters, UpdateRule rule, List<MemorySegment> paddedGradients) {
        return new FlatOptimizer(
                Parameters.of(parameters),
                rule,
                ParameterGroup.all(0.1),
                LearningRateSchedule.constant(0.01),
                PaddedGradients.of(paddedGradients));
    }

    private static FlatOptimizer adamW(Map<String, Tensor> parameters) {
        return optimizer(parameters, FusedAdamW.DEFAULT, List.of());
    }

    @ParameterizedTest
    @MethodSource("rules")
    void oneStepOverFlatMemoryHasTheBitsOfOneStepPerParameter(UpdateRule rule) {
        try (PointerScope _ = new PointerScope();
                Arena arena = Arena.ofConfined()) {
            Map<String, Tensor> expected = stepOneByOne(parameters(1, torch.ScalarType.Float), rule, 0, 1, 2, 3, 4);
            for (int threads : new int[] {1, 3}) {
                torch.set_num_threads(threads);
                for (boolean together : new boolean[] {false, true}) {
                    Map<String, Tensor> parameters = parameters(1, torch.ScalarType.Float);
                    List<MemorySegment> padded =
                            together ? List.of(layGradientsTogether(parameters, arena)) : List.of();
                    try (FlatOptimizer optimizer = optimizer(parameters, rule, padded)) {
                        for (int step = 0; step < STEPS; step++) {
                            setGradients(parameters, step);
                            optimizer.step();
                        }
                    }
                    assertEqualBits(parameters, expected);
                }
            }
        }
    }

    private static void assertEqualBits(Map<String, Tensor> actual, Map<String, Tensor> expected) {
        expected.forEach((name, tensor) ->
                assertThat(get(actual, name).equal(tensor)).as(name).isTrue());
    }

    private static float[] steps(int count, UpdateRule rule, double weightDecay, LearningRateSchedule schedule) {
        try (PointerScope _ = new PointerScope()) {
            Tensor parameter = leaf(Tensor.create(new float[] {0.5f, -1, 1.5f, -2, 2.5f}));
            FlatOptimizer optimizer = new FlatOptimizer(
                    Parameters.of(Map.of("p", parameter)), rule, ParameterGroup.all(weightDecay), schedule);
            for (int step = 0; step < count; step++) {
                float[] gradient = new float[5];
                for (int i = 0; i < 5; i++) {
                    gradient[i] = (float) (0.1 * (i + 1) * (step + 1) * (i % 2 == 0 ? 1 : -1));
                }
                parameter.mutable_grad().put(Tensor.create(gradient));
                optimizer.step();
            }
            float[] values = new float[5];
            parameter.data_ptr_float().get(values);
            return values;
        }
    }

    /**
     * The collector frees tensors that only native memory refers to; the memory of gradients must not be one of them.
     */
    @Test
    void theMemoryOfGradientsOutlivesTheCollector() {
        long elements = 1 << 14;
        Tensor parameter = leaf(torch.zeros(elements));
        try (FlatOptimizer optimizer = optimizer(Map.of("p", parameter), FusedSgd.PLAIN, List.of())) {
            parameter.mutable_grad().put(torch.ones(elements));
            optimizer.step();
            collect();
            collect();
            List<Tensor> others = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                others.add(torch.full(new long[] {elements}, new Scalar(7.0)));
            }
            assertThat(parameter.mutable_grad().sum().item_double()).isEqualTo((double) elements);
            others.forEach(Tensor::close);
        }
    }

    /** Returns when the collector has freed a tensor that is garbage now. */
    private static void collect() {
        long before = Pointer.totalCount();
        for (int i = 0; i < 10; i++) {
            var _ = torch.zeros(8);
        }
        for (int round = 0; Pointer.totalCount() >= before + 10; round++) {
            assertThat(round).isLessThan(1000);
            System.gc();
        }
    }

    /** Values of torch 2.13's fused optimizers. */
    @Test
    void equalsTorch() {
        LearningRateSchedule constant = LearningRateSchedule.constant(0.01);
        assertThat(steps(3, FusedAdamW.DEFAULT, 0.1, constant)).containsExactly(TORCH_ADAMW, within(1e-6f));
        assertThat(steps(3, new FusedSgd(0.9, true), 0.1, constant)).containsExactly(TORCH_NESTEROV, within(1e-6f));
        assertThat(steps(3, FusedSgd.PLAIN, 0, constant)).containsExactly(TORCH_SGD, within(1e-6f));
    }

    /** Six steps of torch 2.13's fused optimizers with OneCycleLR(max_lr=0.05, total_steps=10). */
    @Test
    void oneCycleChangesTheMomentumAsInTorch() {
        OneCycle cycle = OneCycle.of(0.05, 10);
        assertThat(steps(6, FusedAdamW.DEFAULT, 0.1, cycle)).containsExactly(TORCH_ONE_CYCLE_ADAMW, within(1e-6f));
        assertThat(steps(6, new FusedSgd(0.9, false), 0.1, cycle)).containsExactly(TORCH_ONE_CYCLE_SGD, within(1e-6f));
        assertThatThrownBy(() -> steps(1, FusedSgd.PLAIN, 0, cycle))
                .hasMessageStartingWith("the schedule changes the momentum, but this SGD has none");
    }

    /** Every piece is whole vectors for each of libtorch's threads. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 7, 16})
    void cutsRangesWhereNoVectorIsCut(int threads) {
        for (long elements = 16; elements < 40_000; elements += 16) {
            List<Long> sizes = FlatParameters.sizes(elements, threads);
            assertThat(sizes.stream().mapToLong(Long::longValue).sum()).isEqualTo(elements);
            for (long size : sizes) {
                long used = Math.min(threads, Math.ceilDiv(size, 512L));
                assertThat(used == 1 || Math.ceilDiv(size, used) % 16 == 0)
                        .as("%d elements, piece of %d", elements, size)
                        .isTrue();
            }
        }
    }

    @Test
    void groupsHaveRatesAndWeightDecayOfTheirOwn() {
        try (PointerScope _ = new PointerScope()) {
            Map<String, Tensor> parameters = Map.of("matrix", leaf(torch.ones(2, 2)), "bias", leaf(torch.ones(2)));
            FlatOptimizer optimizer = new FlatOptimizer(
                    Parameters.of(parameters),
                    FusedSgd.PLAIN,
                    List.of(
                            new ParameterGroup((_, tensor) -> tensor.dim() >= 2, 1, 0.5),
                            new ParameterGroup((_, _) -> true, 10, 0)),
                    LearningRateSchedule.constant(0.01));
            parameters.values().forEach(parameter -> parameter.mutable_grad().put(torch.ones_like(parameter)));
            optimizer.step();
            assertThat(get(parameters, "matrix").min().item_float()).isCloseTo(1 - 0.01f * 1.5f, within(1e-7f));
            assertThat(get(parameters, "bias").min().item_float()).isCloseTo(0.9f, within(1e-7f));
        }
    }

    /** Also between neighbours that have gradients. */
    @Test
    void aParameterWithoutGradientKeepsItsValueAndItsStepCount() {
        int stepWithout = 1;
        try (PointerScope _ = new PointerScope();
                Arena arena = Arena.ofConfined()) {
            Map<String, Tensor> expected = parameters(1, torch.ScalarType.Float);
            Map<String, Tensor> skipping = Map.of("p3", requireNonNull(expected.remove("p3")));
            stepOneByOne(expected, FusedAdamW.DEFAULT, 0, 1, 2, 3, 4);

            Map<String, Tensor> parameters = parameters(1, torch.ScalarType.Float);
            MemorySegment padded = layGradientsTogether(parameters, arena);
            Tensor p3 = get(parameters, "p3");
            Tensor gradient = TensorMemory.own(p3.mutable_grad());
            FlatOptimizer optimizer = optimizer(parameters, FusedAdamW.DEFAULT, List.of(padded));
            for (int step = 0; step < STEPS; step++) {
                Map<String, Tensor> used = new LinkedHashMap<>(parameters);
                if (step == stepWithout) {
                    used.remove("p3");
                    p3.mutable_grad().reset();
                } else {
                    p3.mutable_grad().put(gradient);
                }
                setGradients(used, step);
                optimizer.step();
            }
            stepOneByOne(skipping, FusedAdamW.DEFAULT, 0, 2, 3, 4);
            assertEqualBits(parameters, expected);
            assertEqualBits(parameters, skipping);
            assertThat(get(optimizer.state(), "p3.step").item_long()).isEqualTo(STEPS - 1);
            assertThat(get(optimizer.state(), "p2.step").item_long()).isEqualTo(STEPS);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"Float", "Double", "BFloat16", "Half"})
    void aSavedStateGoesOnWithTheSameBits(String typeName) {
        torch.ScalarType type = torch.ScalarType.valueOf(typeName);
        try (PointerScope _ = new PointerScope()) {
            Map<String, Tensor> whole = parameters(1, type);
            FlatOptimizer uninterrupted = adamW(whole);
            Map<String, Tensor> halves = parameters(1, type);
            FlatOptimizer first = adamW(halves);
            for (int step = 0; step < STEPS; step++) {
                setGradients(whole, step);
                uninterrupted.step();
            }
            for (int step = 0; step < 2; step++) {
                setGradients(halves, step);
                first.step();
            }
            Map<String, Tensor> resumed = new LinkedHashMap<>();
            halves.forEach((name, tensor) -> resumed.put(name, leaf(tensor.detach())));
            FlatOptimizer second = adamW(resumed);
            second.load(first.state(), first.steps());
            for (int step = 2; step < STEPS; step++) {
                setGradients(resumed, step);
                second.step();
            }
            assertEqualBits(resumed, whole);
            assertThat(second.steps()).isEqualTo(STEPS);
        }
    }

    /** 1 + 1e-4 is 1 in bfloat16: without a master copy a hundred such steps change nothing. */
    @Test
    void smallStepsOfBfloat16ParametersAddUpInTheMasterCopy() {
        try (PointerScope _ = new PointerScope()) {
            Tensor parameter = leaf(torch.ones(3).to(torch.ScalarType.BFloat16));
            FlatOptimizer optimizer = new FlatOptimizer(
                    Parameters.of(Map.of("p", parameter)),
                    FusedSgd.PLAIN,
                    ParameterGroup.all(0),
                    LearningRateSchedule.constant(1e-4));
            for (int step = 0; step < 100; step++) {
                parameter
                        .mutable_grad()
                        .put(torch.ones(3).to(torch.ScalarType.BFloat16).neg());
                optimizer.step();
            }
            assertThat(parameter.to(torch.ScalarType.Float).max().item_float()).isCloseTo(1.01f, within(0.004f));
            assertThat(get(optimizer.state(), "p.master").max().item_float()).isCloseTo(1.01f, within(1e-5f));
        }
    }

    @Test
    void refusesStateThatDoesNotFitAndChangesNothing() {
        try (PointerScope _ = new PointerScope()) {
            Map<String, Tensor> parameters = parameters(1, torch.ScalarType.Float);
            FlatOptimizer optimizer = adamW(parameters);
            setGradients(parameters, 0);
            optimizer.step();
            Map<String, Tensor> state = optimizer.state();
            Map<String, Tensor> lacking = new LinkedHashMap<>(state);
            lacking.remove("p2.exp_avg");
            assertThatThrownBy(() -> optimizer.load(lacking, 1)).hasMessage("the optimizer state lacks 'p2.exp_avg'");
            Map<String, Tensor> other = new LinkedHashMap<>(state);
            other.put("p2.exp_avg", torch.zeros(8));
            assertThatThrownBy(() -> optimizer.load(other, 1))
                    .hasMessage("optimizer state 'p2.exp_avg' is Float[8]; this optimizer needs Float[7]");
            assertEqualBits(optimizer.state(), state);
        }
    }

    /** Otherwise the second backward pass would compute with the values after the update, without an error. */
    @ParameterizedTest
    @ValueSource(strings = {"Float", "BFloat16"})
    void aBackwardPassThatNeedsValuesOfBeforeAnUpdateIsRefused(String typeName) {
        torch.ScalarType type = torch.ScalarType.valueOf(typeName);
        try (PointerScope _ = new PointerScope()) {
            Tensor parameter = leaf(torch.ones(5).to(type));
            Tensor unused = leaf(torch.ones(5).to(type));
            FlatOptimizer optimizer = adamW(Map.of("p", parameter, "unused", unused));
            for (int update = 0; update < 3; update++) {
                Tensor first = parameter.square().sum();
                Tensor second = parameter.square().sum();
                Tensor ofUnused = unused.square().sum();
                first.backward();
                optimizer.step();
                assertThatThrownBy(second::backward).hasMessageContaining("modified by an inplace operation");
                ofUnused.backward();
                unused.mutable_grad().reset();
            }
        }
    }

    @Test
    void zeroesGradientsWhereTheyLie() {
        try (PointerScope _ = new PointerScope()) {
            Map<String, Tensor> parameters = parameters(1, torch.ScalarType.Float);
            setGradients(parameters, 0);
            long address = TensorMemory.address(get(parameters, "p3").grad());
            adamW(parameters).zeroGradients();
            assertThat(TensorMemory.address(get(parameters, "p3").grad())).isEqualTo(address);
            assertThat(get(parameters, "p3").grad().abs().max().item_float()).isZero();
        }
    }

    /** Memory that is allocated for each step anew, and dropped by {@code zeroGradients()}. */
    private static final class MovingGradients implements PaddedGradients, AutoCloseable {
        private final Map<String, Tensor> parameters;
        /** Memory that moves has another place while this one is in use. */
        private final List<Arena> arenas = new ArrayList<>();

        private final boolean isMoving;
        private List<MemorySegment> present = List.of();

        MovingGradients(Map<String, Tensor> parameters, boolean isMoving) {
            this.parameters = parameters;
            this.isMoving = isMoving;
        }

        void allocate() {
            if (isMoving || arenas.isEmpty()) {
                arenas.add(Arena.ofConfined());
                present = List.of(layGradientsTogether(parameters, arenas.getLast()));
            }
        }

        @Override
        public List<MemorySegment> segments() {
            return present;
        }

        @Override
        public void drop(Set<Long> dropped) {
            if (isMoving) {
                parameters.values().stream()
                        .filter(parameter -> dropped.contains(TensorMemory.identity(parameter)))
                        .forEach(parameter -> parameter.mutable_grad().reset());
                present = List.of();
            }
        }

        @Override
        public void close() {
            arenas.forEach(Arena::close);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"Float", "BFloat16"})
    void memoryThatMovesBetweenStepsGivesTheBitsOfMemoryThatStays(String typeName) {
        torch.ScalarType type = torch.ScalarType.valueOf(typeName);
        try (PointerScope _ = new PointerScope()) {
            Map<String, Tensor> stay = parameters(1, type);
            Map<String, Tensor> move = parameters(1, type);
            trainInPlace(stay, false);
            trainInPlace(move, true);
            assertEqualBits(move, stay);
        }
    }

    private static void trainInPlace(Map<String, Tensor> parameters, boolean isMoving) {
        try (MovingGradients memory = new MovingGradients(parameters, isMoving);
                FlatOptimizer optimizer = new FlatOptimizer(
                        Parameters.of(parameters),
                        FusedAdamW.DEFAULT,
                        ParameterGroup.all(0.1),
                        LearningRateSchedule.constant(0.01),
                        memory)) {
            for (int step = 0; step < STEPS; step++) {
                optimizer.zeroGradients();
                memory.allocate();
                setGradients(parameters, step);
                optimizer.step();
                MemorySegment segment = memory.segments().getFirst();
                assertThat(parameters.values())
                        .as("gradients that were not copied")
                        .allMatch(parameter -> {
                            long offset = TensorMemory.address(parameter.grad()) - segment.address();
                            return offset >= 0 && offset < segment.byteSize();
                        });
            }
            optimizer.zeroGradients();
            assertThat(parameters.values())
                    .allMatch(parameter -> parameter.grad().defined() != isMoving);
            parameters.values().forEach(parameter -> parameter.mutable_grad().reset());
        }
    }
}
