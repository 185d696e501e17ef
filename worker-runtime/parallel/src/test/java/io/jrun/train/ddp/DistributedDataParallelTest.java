package io.jrun.train.ddp;

import static io.jrun.train.EqualBits.assertEqualBits;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.TinyGpt;
import io.jrun.train.reducer.BucketSpan;
import io.jrun.train.reducer.ReductionException;
import io.jrun.train.reducer.ReductionTimeline;
import io.jrun.train.reducer.StepTimes;
import io.jrun.train.step.NoSync;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.assertj.core.data.Offset;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.EmbeddingBagImpl;
import org.bytedeco.pytorch.EmbeddingBagOptions;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.EmbeddingOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class DistributedDataParallelTest {
    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** y = a*x, or b*x, or both: what is used is chosen per pass. */
    private static final class TwoPaths extends Module {
        final Tensor a = TensorMemory.own(register_parameter("a", torch.ones(3)));
        final Tensor b = TensorMemory.own(register_parameter("b", torch.ones(5)));
        final Tensor never = TensorMemory.own(register_parameter("never", torch.ones(2)));

        Tensor loss(boolean useA, boolean useB, double scale) {
            Tensor sum = torch.zeros(new long[0]);
            if (useA) {
                sum = sum.add(a.sum());
            }
            if (useB) {
                sum = sum.add(b.sum());
            }
            return sum.mul(new Scalar(scale));
        }
    }

    @Test
    void constructionGivesEveryRankTheValuesOfRankZero() {
        AtomicReferenceArray<List<float[]>> values = new AtomicReferenceArray<>(3);
        LocalWorld.run(3, world -> {
            TinyGpt model = Training.model(world.rank());
            try (var _ = new DistributedDataParallel<>(model, world.group())) {
                values.set(world.rank(), Training.values(model));
            }
        });
        for (int rank = 0; rank < 3; rank++) {
            assertEqualBits(values.get(rank), Training.values(Training.model(0)));
        }
    }

    @Test
    void differentShapesAreNamedOnEveryRank() {
        AtomicReferenceArray<String> messages = new AtomicReferenceArray<>(3);
        LocalWorld.run(3, world -> {
            try {
                new DistributedDataParallel<>(new TinyGpt(1, world.rank() == 2 ? 16 : 8, 4), world.group());
            } catch (ReductionException e) {
                messages.set(world.rank(), String.valueOf(e.getMessage()));
            }
        });
        for (int rank = 0; rank < 3; rank++) {
            assertThat(messages.get(rank))
                    .contains("'token.weight' Float[50, 8] on rank 0")
                    .contains("'token.weight' Float[50, 16] on rank 2");
        }
    }

    @Test
    void aMissingParameterIsNamed() {
        assertThatThrownBy(() -> LocalWorld.run(2, world -> {
                    Module model = new Module();
                    model.register_parameter("a", torch.ones(1));
                    if (world.rank() == 0) {
                        model.register_parameter("b", torch.ones(1));
                    }
                    new DistributedDataParallel<>(model, world.group());
                }))
                .isInstanceOf(ReductionException.class)
                .hasMessageContaining("'b' Float[1] on rank 0 but nothing more on rank 1");
    }

    @Test
    void anUnknownIgnoredNameIsNamed() {
        DdpOptions options = DdpOptions.DEFAULT.withIgnored(Set.of("a", "wrong"));
        assertThatThrownBy(() -> LocalWorld.run(1, world -> {
                    Module model = new Module();
                    model.register_parameter("a", torch.ones(1));
                    model.register_parameter("b", torch.ones(1));
                    new DistributedDataParallel<>(model, world.group(), options);
                }))
                .isInstanceOf(ReductionException.class)
                .hasMessageContaining("cannot ignore [wrong]");
    }

    @Test
    void aModelWithoutParametersIsRejected() {
        assertThatThrownBy(() -> LocalWorld.run(1, world -> new DistributedDataParallel<>(new Module(), world.group())))
                .isInstanceOf(ReductionException.class)
                .hasMessageContaining("no parameter that requires a gradient");
    }

    @Test
    void anUnusedParameterIsAnErrorThatNamesIt() {
        assertThatThrownBy(() -> LocalWorld.run(2, world -> {
                    TwoPaths module = new TwoPaths();
                    var model = new DistributedDataParallel<>(module, world.group());
                    try (Step step = model.step()) {
                        step.backward(module.loss(true, true, 1));
                    }
                }))
                .hasMessageContaining("1 of 3 parameters got no gradient")
                .hasMessageContaining("never")
                .hasMessageContaining("findUnusedParameters");
    }

    @Test
    void anUnusedParameterOnOneRankOnlyIsAnErrorOnBoth() {
        AtomicReferenceArray<String> messages = new AtomicReferenceArray<>(2);
        assertThatThrownBy(() -> LocalWorld.run(2, world -> {
                    TinyGpt module = Training.model(1);
                    var model = new DistributedDataParallel<>(module, world.group());
                    Tensor loss = world.rank() == 0 ? module.lossOfEmbeddings() : Training.loss(module, 0, 1);
                    try (Step step = model.step()) {
                        step.backward(loss);
                    } catch (RuntimeException e) {
                        messages.set(world.rank(), String.valueOf(e.getMessage()));
                        throw e;
                    }
                }))
                .isInstanceOf(RuntimeException.class);
        assertThat(messages.get(0)).contains("rank 0").contains("place.weight");
        assertThat(messages.get(1)).contains("rank 0").contains("place.weight");
    }

    @Test
    void aFailedBackwardPassIsReportedToTheOtherRank() {
        AtomicReferenceArray<String> messages = new AtomicReferenceArray<>(2);
        assertThatThrownBy(() -> LocalWorld.run(2, world -> {
                    TwoPaths module = new TwoPaths();
                    var model = new DistributedDataParallel<>(module, world.group());
                    try (Step step = model.step()) {
                        Tensor kept = module.a.exp();
                        Tensor loss = kept.sum().add(module.b.sum()).add(module.never.sum());
                        if (world.rank() == 0) {
                            // The backward of exp needs its result.
                            try (NoGradGuard _ = new NoGradGuard()) {
                                kept.zero_();
                            }
                        }
                        step.backward(loss);
                    } catch (RuntimeException e) {
                        messages.set(world.rank(), String.valueOf(e.getMessage()));
                        throw e;
                    }
                }))
                .isInstanceOf(RuntimeException.class);
        assertThat(messages.get(0)).contains("modified by an inplace operation");
        assertThat(messages.get(1)).contains("rank 0: the backward pass failed").contains("inplace operation");
    }

    @Test
    void plainBackwardThatLeavesAParameterOutFailsAtTheEndOfTheStep() {
        assertThatThrownBy(() -> LocalWorld.run(1, world -> {
                    TwoPaths module = new TwoPaths();
                    var model = new DistributedDataParallel<>(module, world.group());
                    try (Step _ = model.step()) {
                        module.loss(true, true, 1).backward();
                    }
                }))
                .isInstanceOf(ReductionException.class)
                .hasMessageContaining("never");
    }

    @Test
    void unusedParametersAreFoundWhenAsked() {
        LocalWorld.run(2, world -> {
            TwoPaths module = new TwoPaths();
            DdpOptions options =
                    DdpOptions.DEFAULT.withFindUnusedParameters(true).withBuckets(1, 1);
            try (var model = new DistributedDataParallel<>(module, world.group(), options)) {
                for (int pass = 0; pass < 3; pass++) {
                    module.zero_grad(true);
                    try (Step step = model.step()) {
                        // Rank 0 uses a and b, rank 1 only a.
                        step.backward(module.loss(true, world.rank() == 0, 1 + world.rank()));
                    }
                    assertThat(first(module.a)).isEqualTo(1.5f);
                    assertThat(first(module.b))
                            .as("mean with a rank that did not use it")
                            .isEqualTo(0.5f);
                    assertThat(module.never.grad().defined())
                            .as("used by no rank")
                            .isFalse();
                }
            }
        });
    }

    /** The mean of three equal numbers may differ from the number in its last bit. */
    @Test
    void aGradientThatNoRankHasComputedKeepsItsBits() {
        LocalWorld.run(3, world -> {
            TwoPaths module = new TwoPaths();
            DdpOptions options = DdpOptions.DEFAULT.withFindUnusedParameters(true);
            try (var model = new DistributedDataParallel<>(module, world.group(), options)) {
                Tensor earlier = Tensor.create(new float[] {1.3333334f, 1.6666667f});
                module.never.mutable_grad().put(earlier.clone());
                for (int pass = 0; pass < 20; pass++) {
                    try (Step step = model.step()) {
                        step.backward(module.loss(true, true, 1));
                    }
                }
                assertThat(module.never.grad().equal(earlier)).isTrue();
            }
        });
    }

    @Test
    void noSyncAddsUpAndTheNextPassReducesTheSum() {
        LocalWorld.run(2, world -> {
            TinyGpt module = Training.model(1);
            Tensor bias =
                    Objects.requireNonNull(ModuleTensors.parameters(module).get("head.bias"));
            try (var model = new DistributedDataParallel<>(module, world.group())) {
                for (int pass = 0; pass < 2; pass++) {
                    module.zero_grad(true);
                    try (Step step = model.step()) {
                        try (NoSync _ = model.noSync()) {
                            step.backward(Training.loss(module, 0, world.rank()));
                        }
                        assertThat(model.report().reductions()).isEqualTo(pass);
                        Tensor own = bias.grad().clone();
                        step.backward(Training.loss(module, 1, world.rank()));
                        float[] expected = expectedMean();
                        float[] actual = new float[expected.length];
                        bias.grad().data_ptr_float().get(actual);
                        assertThat(actual).containsExactly(expected, Offset.offset(1e-6f));
                        assertThat(own.equal(bias.grad())).isFalse();
                    }
                }
            }
        });
    }

    private static float[] expectedMean() {
        TinyGpt serial = Training.model(1);
        for (int rank = 0; rank < 2; rank++) {
            for (int step = 0; step < 2; step++) {
                Training.loss(serial, step, rank).div(new Scalar(2.0)).backward();
            }
        }
        Tensor gradient = Objects.requireNonNull(
                        ModuleTensors.parameters(serial).get("head.bias"))
                .grad();
        float[] values = new float[Math.toIntExact(gradient.numel())];
        gradient.data_ptr_float().get(values);
        return values;
    }

    @Test
    void everyGradientIsHomeInTheBucketsAfterEveryPass() {
        LocalWorld.run(2, world -> {
            TinyGpt module = Training.model(1);
            Map<String, Tensor> parameters = ModuleTensors.parameters(module);
            try (var model = new DistributedDataParallel<>(module, world.group())) {
                long[] homes = new long[parameters.size()];
                for (int pass = 0; pass < 3; pass++) {
                    module.zero_grad(true);
                    try (Step step = model.step()) {
                        step.backward(Training.loss(module, pass, world.rank()));
                    }
                    long[] now = parameters.values().stream()
                            .mapToLong(parameter -> TensorMemory.address(parameter.grad()))
                            .toArray();
                    if (pass > 0) {
                        assertThat(now).isEqualTo(homes);
                    }
                    homes = now;
                }
            }
        });
    }

    @Test
    void bucketsAreRebuiltOnceInReadyOrder() {
        LocalWorld.run(2, world -> {
            TinyGpt module = Training.model(1);
            try (var model =
                    new DistributedDataParallel<>(module, world.group(), DdpOptions.DEFAULT.withBuckets(1, 1))) {
                var registered = model.buckets();
                assertThat(registered.getFirst()).containsExactly("head.bias");
                assertThat(registered.getLast()).containsExactly("token.weight");
                try (Step step = model.step()) {
                    step.backward(Training.loss(module, 0, world.rank()));
                }
                var rebuilt = model.buckets();
                assertThat(rebuilt).isNotEqualTo(registered).containsExactlyInAnyOrderElementsOf(registered);
                try (Step step = model.step()) {
                    step.backward(Training.loss(module, 1, world.rank()));
                }
                assertThat(model.buckets()).isEqualTo(rebuilt);
            }
        });
    }

    @Test
    void allReducesBeginWhileTheBackwardPassStillRuns() {
        LocalWorld.run(2, world -> {
            TinyGpt module = Training.model(1);
            try (var model =
                    new DistributedDataParallel<>(module, world.group(), DdpOptions.DEFAULT.withBuckets(1000, 4000))) {
                for (int pass = 0; pass < 3; pass++) {
                    try (Step step = model.step()) {
                        step.backward(Training.loss(module, pass, world.rank()));
                    }
                }
                ReductionTimeline timeline = model.lastReduction();
                assertThat(timeline.buckets()).hasSizeGreaterThan(3);
                assertThat(timeline.buckets().stream().map(BucketSpan::launchedNanos))
                        .isSorted();
                assertThat(timeline.buckets().getFirst().launchedNanos()).isLessThan(timeline.lastGradientNanos());
                assertThat(timeline.finishedNanos()).isGreaterThanOrEqualTo(timeline.lastGradientNanos());
            }
        });
    }

    @Test
    void theReportSaysWhatWasReducedAndHowMuchOfItOverlapped() {
        LocalWorld.run(2, world -> {
            TinyGpt module = Training.model(1);
            DdpOptions options = DdpOptions.DEFAULT.withBuckets(List.of(1000L, 2000L, 4000L));
            try (var model = new DistributedDataParallel<>(module, world.group(), options)) {
                assertThat(model.report().reductions()).isZero();
                for (int pass = 0; pass < 3; pass++) {
                    try (Step step = model.step()) {
                        step.backward(Training.loss(module, pass, world.rank()));
                    }
                }
                DdpReport report = model.report();
                Map<String, Tensor> parameters = ModuleTensors.parameters(module);
                assertThat(report.rank()).isEqualTo(world.rank());
                assertThat(report.groupSize()).isEqualTo(2);
                assertThat(report.reductions()).isEqualTo(3);
                assertThat(report.module()).isEqualTo(TinyGpt.class.getName());
                assertThat(report.hook()).isEqualTo("AllReduceHook");
                assertThat(report.isRebuilt()).isTrue();
                assertThat(report.unusedParameters()).isEmpty();
                assertThat(report.parameterTensors()).isEqualTo(parameters.size());
                long bytes =
                        parameters.values().stream().mapToLong(Tensor::nbytes).sum();
                assertThat(report.parameterBytes()).isEqualTo(Map.of(DataType.F32, bytes));
                assertThat(report.last().buckets()).hasSameSizeAs(report.buckets());
                assertThat(report.last().buckets().stream()
                                .mapToLong(BucketSpan::bytes)
                                .sum())
                        .isEqualTo(model.gradientMemory().segments().getFirst().byteSize());
                assertThat(report.overlapPerBucket()).allMatch(part -> part >= 0 && part <= 1);
                assertThat(report.overlapPerBucket().getFirst()).isPositive();
                assertThat(report.overlapPerBucket().getLast()).isZero();
                StepTimes mean = report.mean();
                // Each mean is rounded down by itself.
                assertThat(mean.communication()
                                .minus(mean.overlap())
                                .minus(mean.exposed())
                                .toNanos())
                        .isBetween(0L, 2L);
                assertThat(mean.backward()).isPositive();
                assertThat(mean.forward()).isPositive();
            }
        });
    }

    /** A model whose running statistics differ per rank after each forward pass. */
    private static final class Normed extends Module {
        final LinearImpl linear = register_module("linear", new LinearImpl(2, 2));
        final BatchNorm1dImpl norm = register_module("norm", new BatchNorm1dImpl(new BatchNormOptions(2)));

        /** A model with equal weights on all ranks, and with a running mean that identifies its rank. */
        Normed(double runningMean) {
            try (NoGradGuard _ = new NoGradGuard()) {
                linear.weight().fill_(new Scalar(0.5));
                linear.bias().fill_(new Scalar(0.25));
                runningMean().fill_(new Scalar(runningMean));
            }
        }

        Tensor runningMean() {
            return Objects.requireNonNull(ModuleTensors.buffers(this).get("norm.running_mean"));
        }

        Tensor loss(Tensor x) {
            return norm.forward(linear.forward(x)).pow(new Scalar(3)).sum();
        }
    }

    @Test
    void buffersFollowRankZero() {
        AtomicReferenceArray<Float> means = runningMeans(DdpOptions.DEFAULT);
        assertThat(means.get(0)).isEqualTo(means.get(1)).isNotEqualTo(3f);
    }

    /** From rank 0's, which construction hands out, each goes on with the means of its own batches. */
    @Test
    void buffersAreEachRanksOwnWhenAsked() {
        AtomicReferenceArray<Float> means = runningMeans(DdpOptions.DEFAULT.withSyncBuffers(false));
        for (int rank = 0; rank < 2; rank++) {
            Normed alone = new Normed(3);
            alone.loss(batch(rank));
            alone.loss(batch(rank));
            assertThat(means.get(rank)).as("rank " + rank).isEqualTo(first(alone.runningMean()));
        }
        assertThat(means.get(0)).isNotEqualTo(means.get(1));
    }

    /**
     * The input of each rank's batch norm at the beginning of a third step, after it was constructed with 3 on rank 0.
     */
    private static AtomicReferenceArray<Float> runningMeans(DdpOptions options) {
        AtomicReferenceArray<Float> means = new AtomicReferenceArray<>(2);
        LocalWorld.run(2, world -> {
            Normed module = new Normed(world.rank() + 3.0);
            Tensor running = module.runningMean();
            try (var model = new DistributedDataParallel<>(module, world.group(), options)) {
                assertThat(first(running)).isEqualTo(3f);
                for (int pass = 0; pass < 2; pass++) {
                    try (Step step = model.step()) {
                        step.backward(module.loss(batch(world.rank())));
                    }
                }
                try (Step _ = model.step()) {
                    means.set(world.rank(), first(running));
                }
            }
        });
        return means;
    }

    private static Tensor batch(int rank) {
        return TinyGpt.tokens(rank, 4, 2).to(torch.ScalarType.Float);
    }

    /** Buffers travel as 32-bit words; three bytes are none. */
    @Test
    void buffersOfAnySizeFollowRankZero() {
        AtomicReferenceArray<Tensor> masks = new AtomicReferenceArray<>(2);
        LocalWorld.run(2, world -> {
            Normed module = new Normed(0);
            Tensor mask = torch.ones(new long[] {3}, new TensorOptions(torch.ScalarType.Byte))
                    .mul(new Scalar(world.rank() + 1));
            module.register_buffer("mask", mask);
            try (var _ = new DistributedDataParallel<>(module, world.group())) {
                masks.set(world.rank(), mask.clone());
            }
        });
        assertThat(masks.get(1).equal(torch.ones(new long[] {3}, new TensorOptions(torch.ScalarType.Byte))))
                .isTrue();
    }

    @Test
    void theModelOutlivesItsWrapperAndTheGroup() {
        AtomicReferenceArray<TinyGpt> modules = new AtomicReferenceArray<>(2);
        LocalWorld.run(2, world -> {
            TinyGpt module = Training.model(1);
            try (var model = new DistributedDataParallel<>(module, world.group());
                    Step step = model.step()) {
                step.backward(Training.loss(module, 0, world.rank()));
            }
            modules.set(world.rank(), module);
        });
        Tensor a = gradient(modules.get(0));
        Tensor b = gradient(modules.get(1));
        assertThat(a.equal(b)).isTrue();
        Training.loss(modules.get(0), 1, 0).backward();
        assertThat(gradient(modules.get(0)).equal(b)).isFalse();
    }

    @Test
    void aFailedReductionComesOutOfBackwardAsItself() {
        assertThatThrownBy(() -> LocalWorld.run(1, world -> {
                    TinyGpt module = Training.model(1);
                    var model = new DistributedDataParallel<>(module, world.group());
                    try (Step step = model.step()) {
                        world.group().abort("enough");
                        step.backward(Training.loss(module, 0, 0));
                    }
                }))
                .isInstanceOf(CommException.class)
                .hasMessageContaining("enough");
    }

    /** The engine holds hooks weakly and scopes free what they enclose: neither may take a hook away. */
    @Test
    void hooksSurviveTheCollectorAndTheScopeTheyWereMadeIn() {
        LocalWorld.run(2, world -> {
            TinyGpt module = Training.model(1);
            DistributedDataParallel<TinyGpt> model;
            try (PointerScope _ = new PointerScope()) {
                model = new DistributedDataParallel<>(module, world.group());
            }
            for (int pass = 0; pass < 5; pass++) {
                System.gc();
                try (Step step = model.step()) {
                    module.zero_grad(true);
                    step.backward(Training.loss(module, pass, world.rank()));
                }
            }
            float[] mine = Training.gradients(module);
            float[] other = mine.clone();
            world.group().broadcast(MemorySegment.ofArray(other), DataType.F32, other.length, 0);
            assertThat(mine).isEqualTo(other);
            model.close();
        });
    }

    private static Tensor gradient(TinyGpt module) {
        return Objects.requireNonNull(ModuleTensors.parameters(module).get("head.weight"))
                .grad();
    }

    private static float first(Tensor tensor) {
        Tensor source = tensor.requires_grad() && tensor.is_leaf() ? tensor.grad() : tensor;
        return source.data_ptr_float().get(0);
    }

    /** Each rank would limit the norms of the rows of its own samples. */
    @Test
    void anEmbeddingWithALimitOfItsNormsIsRefused() {
        LocalWorld.run(2, world -> {
            EmbeddingOptions options = new EmbeddingOptions(8, 4);
            options.max_norm().put(0.5);
            EmbeddingBagOptions ofBag = new EmbeddingBagOptions(8, 4);
            ofBag.max_norm().put(0.5);
            Module inner = new Module();
            inner.register_module("words", new EmbeddingBagImpl(ofBag));
            Module outer = new Module();
            outer.register_module("inner", inner);
            assertThatThrownBy(() -> new DistributedDataParallel<>(new EmbeddingImpl(options), world.group()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("the embedding of parameter 'weight' has a max_norm");
            assertThatThrownBy(() -> new DistributedDataParallel<>(outer, world.group()))
                    .hasMessageContaining("parameter 'inner.words.weight'");
        });
    }
}
