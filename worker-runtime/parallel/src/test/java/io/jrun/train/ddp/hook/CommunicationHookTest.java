package io.jrun.train.ddp.hook;

import static io.jrun.train.EqualBits.assertEqualBits;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.Libtorch;
import io.jrun.train.TinyGpt;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.reducer.AllReduceHook;
import io.jrun.train.reducer.BucketReduction;
import io.jrun.train.reducer.CommunicationHook;
import io.jrun.train.reducer.GradientBucket;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Function;
import org.assertj.core.data.Offset;
import org.assertj.core.data.Percentage;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class CommunicationHookTest {
    private static final int RANKS = 2;
    private static final int ROWS = 16;
    private static final int COLUMNS = 12;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** A matrix and a vector. The loss makes any given matrix the gradient of the matrix. */
    private static final class Linear extends Module {
        final Tensor matrix = TensorMemory.own(register_parameter("matrix", torch.zeros(ROWS, COLUMNS)));
        final Tensor vector = TensorMemory.own(register_parameter("vector", torch.zeros(5)));

        Tensor loss(Tensor gradient, double vectorGradient) {
            return matrix.mul(gradient).sum().add(vector.sum().mul(new Scalar(vectorGradient)));
        }
    }

    private static Tensor random(long seed, long... sizes) {
        try (Generator generator = torch.createCPUGenerator(seed)) {
            return torch.randn(sizes, new GeneratorOptional(generator), new TensorOptions(torch.ScalarType.Float));
        }
    }

    private static Tensor mean(Function<Integer, Tensor> perRank) {
        return perRank.apply(0).add(perRank.apply(1)).div(new Scalar(2));
    }

    /** The gradients of the matrix after each of {@code passes} passes with the same gradient; alike on all ranks. */
    private static List<Tensor> reduced(
            Function<ProcessGroup, CommunicationHook> hooks,
            Function<Integer, Tensor> gradients,
            int passes,
            double tolerance) {
        AtomicReferenceArray<List<Tensor>> results = new AtomicReferenceArray<>(RANKS);
        LocalWorld.run(LocalWorldOptions.ofSize(RANKS).withDeterministic(true), world -> {
            Linear module = new Linear();
            List<Tensor> seen = new ArrayList<>();
            try (var model = new DistributedDataParallel<>(module, world.group(), DdpOptions.DEFAULT)) {
                model.registerHook(hooks.apply(world.group()));
                for (int pass = 0; pass < passes; pass++) {
                    module.zero_grad(true);
                    try (Step step = model.step()) {
                        step.backward(module.loss(gradients.apply(world.rank()), 1 + 1000.1 * world.rank()));
                    }
                    // Travels uncompressed in PowerSGD, so nothing may pile up in many passes.
                    assertThat(module.vector.grad().data_ptr_float().get(0))
                            .isCloseTo(501.05f, Percentage.withPercentage(tolerance * 100));
                    seen.add(TensorMemory.own(module.matrix.grad().clone()));
                }
            }
            results.set(world.rank(), seen);
        });
        for (int pass = 0; pass < passes; pass++) {
            assertThat(results.get(0).get(pass).equal(results.get(1).get(pass)))
                    .as("ranks agree in pass " + pass)
                    .isTrue();
        }
        return results.get(0);
    }

    private static double largestDifference(Tensor a, Tensor b) {
        return a.sub(b).abs().max().item_double();
    }

    @Test
    void compressedGradientsAreWithinTheBoundAndRounded() {
        Function<Integer, Tensor> gradients = rank -> random(rank, ROWS, COLUMNS);
        Tensor exact = mean(gradients);
        Tensor magnitudes = mean(rank -> random(rank, ROWS, COLUMNS).abs());
        Map<DataType, Double> units = Map.of(DataType.BF16, 0x1p-8, DataType.F16, 0x1p-11);
        units.forEach((type, unit) -> {
            Tensor result = reduced(_ -> CompressionHook.to(type), gradients, 1, unit * 2)
                    .getFirst();
            double bound = Math.pow(1 + unit, 3) * Math.pow(1 + 0x1p-24, 2) - 1;
            Tensor excess = result.sub(exact).abs().sub(magnitudes.mul(new Scalar(bound)));
            assertThat(excess.max().item_double()).as("%s", type).isLessThanOrEqualTo(0x1p-25);
            assertThat(largestDifference(result, exact))
                    .as("%s is rounded", type)
                    .isGreaterThan(unit / 16);
        });
        assertThatThrownBy(() -> CompressionHook.to(DataType.F64)).hasMessageContaining("BF16 or F16");
    }

    private static Function<ProcessGroup, CommunicationHook> powerSgd(PowerSgdOptions options) {
        return _ -> new PowerSgdHook(options.withStartPass(1));
    }

    @Test
    void powerSgdIsExactForMatricesOfItsRank() {
        Tensor left = random(1, ROWS, 2);
        Function<Integer, Tensor> gradients = rank -> torch.mm(left, random(2L + rank, 2, COLUMNS));
        List<Tensor> seen = reduced(powerSgd(PowerSgdOptions.DEFAULT.withRank(2)), gradients, 3, 1e-6);
        for (Tensor result : seen) {
            assertThat(largestDifference(result, mean(gradients))).isLessThan(1e-5);
        }
    }

    /** libtorch has no QR decomposition of bfloat16: the factors and the error are float32. */
    @Test
    void powerSgdCompressesGradientsOfFewerBits() {
        Tensor matrix = torch.mm(random(1, ROWS, 2), random(2, 2, COLUMNS)).to(torch.ScalarType.BFloat16);
        LocalWorld.run(RANKS, world -> {
            Linear module = new Linear();
            module.to(torch.ScalarType.BFloat16, false);
            PowerSgdHook hook =
                    new PowerSgdHook(PowerSgdOptions.DEFAULT.withRank(2).withStartPass(1));
            try (var model = new DistributedDataParallel<>(module, world.group())) {
                model.registerHook(hook);
                for (int pass = 0; pass < 3; pass++) {
                    module.zero_grad(true);
                    try (Step step = model.step()) {
                        step.backward(module.loss(matrix, 1));
                    }
                }
                Tensor mean = module.matrix.grad();
                assertThat(mean.scalar_type().intern()).isEqualTo(torch.ScalarType.BFloat16);
                // The matrix has rank 2 up to its rounding.
                assertThat(largestDifference(mean, matrix)).isLessThan(0.05);
                assertThat(hook.state().get("matrix.error"))
                        .isNotNull()
                        .extracting(error -> error.scalar_type().intern())
                        .isEqualTo(torch.ScalarType.Float);
            }
        });
    }

    /** Error feedback and warm start keep nothing of a gradient that is NaN. */
    @Test
    void powerSgdForgetsAPassThatWasNotFinite() {
        Tensor matrix = torch.mm(random(1, ROWS, 2), random(2, 2, COLUMNS));
        LocalWorld.run(RANKS, world -> {
            Linear module = new Linear();
            try (var model = new DistributedDataParallel<>(module, world.group())) {
                model.registerHook(
                        new PowerSgdHook(PowerSgdOptions.DEFAULT.withRank(2).withStartPass(1)));
                for (int pass = 0; pass < 4; pass++) {
                    module.zero_grad(true);
                    boolean isBad = pass == 2;
                    double factor = isBad && world.rank() == 1 ? Double.NaN : 1;
                    try (Step step = model.step()) {
                        step.backward(module.loss(matrix.mul(new Scalar(factor)), 1));
                    }
                    assertThat(torch.isfinite(module.matrix.grad()).all().item_bool())
                            .as("pass " + pass)
                            .isNotEqualTo(isBad);
                }
                assertThat(largestDifference(module.matrix.grad(), matrix)).isLessThan(1e-5);
            }
        });
    }

    /**
     * Error feedback returns the error of a pass: the mean over passes approaches the true mean. Without feedback it
     * does not.
     */
    @Test
    void powerSgdGivesBackWhatItLost() {
        Function<Integer, Tensor> gradients = rank -> random(10L + rank, ROWS, COLUMNS);
        assertThat(errorOfMean(PowerSgdOptions.DEFAULT.withRank(2), gradients)).isLessThan(0.15);
        assertThat(errorOfMean(PowerSgdOptions.DEFAULT.withRank(2).withErrorFeedback(false), gradients))
                .isGreaterThan(0.5);
    }

    private static double errorOfMean(PowerSgdOptions options, Function<Integer, Tensor> gradients) {
        int passes = 100;
        List<Tensor> seen = reduced(powerSgd(options), gradients, passes + 1, 1e-6);
        Tensor sum = torch.zeros(ROWS, COLUMNS);
        seen.subList(1, passes + 1).forEach(sum::add_);
        return largestDifference(sum.div(new Scalar(passes)), mean(gradients));
    }

    /** With warm start and equal gradients the passes are a power iteration: they find the best approximation. */
    @Test
    void powerSgdWithWarmStartFindsTheBestApproximation() {
        Function<Integer, Tensor> gradients = rank -> random(20L + rank, ROWS, COLUMNS);
        PowerSgdOptions options = PowerSgdOptions.DEFAULT.withRank(2).withErrorFeedback(false);
        Tensor exact = mean(gradients);
        var svd = torch.svd(exact);
        Tensor best = torch.mm(
                svd.get0().narrow(1, 0, 2).mul(svd.get1().narrow(0, 0, 2)),
                svd.get2().narrow(1, 0, 2).t());
        Tensor warm = reduced(powerSgd(options), gradients, 120, 1e-6).getLast();
        assertThat(largestDifference(warm, best)).isLessThan(0.02);
        Tensor cold = reduced(powerSgd(options.withWarmStart(false)), gradients, 10, 1e-6)
                .getLast();
        assertThat(largestDifference(cold, best)).isGreaterThan(0.2);
    }

    /**
     * One pass with the mean over all ranks, then each rank alone; the mean of the models from step 5 on, every 2
     * steps.
     */
    @Test
    void postLocalSgdEqualsTheSerialComputation() {
        double[] serial = {0, 0};
        double[][] wanted = new double[9][];
        for (int step = 0; step < 9; step++) {
            double[] gradients = {serial[0] - 1, serial[1] - 2};
            double mean = (gradients[0] + gradients[1]) / 2;
            for (int rank = 0; rank < RANKS; rank++) {
                serial[rank] -= 0.1 * (step < 1 ? mean : gradients[rank]);
            }
            if (step >= 5 && (step - 5) % 2 == 0) {
                serial[0] = (serial[0] + serial[1]) / 2;
                serial[1] = serial[0];
            }
            wanted[step] = serial.clone();
        }
        AtomicReferenceArray<double[]> results = new AtomicReferenceArray<>(RANKS);
        LocalWorld.run(RANKS, world -> {
            Module module = new Module();
            Tensor weight = TensorMemory.own(module.register_parameter(
                    "weight", torch.zeros(new long[] {3}, new TensorOptions(torch.ScalarType.Double))));
            try (ProcessGroup alone = world.group().split(world.rank(), 0);
                    var model = new DistributedDataParallel<>(module, world.group())) {
                model.registerHook(new PostLocalSgdHook(alone, 1));
                PeriodicModelAverager averager = new PeriodicModelAverager(world.group(), 2, 5);
                double[] seen = new double[9];
                for (int current = 0; current < 9; current++) {
                    try (Step step = model.step()) {
                        module.zero_grad(true);
                        Tensor distance = weight.sub(new Scalar(world.rank() + 1.0));
                        step.backward(distance.mul(distance).sum().mul(new Scalar(0.5)));
                        try (NoGradGuard _ = new NoGradGuard()) {
                            weight.sub_(weight.grad().mul(new Scalar(0.1)));
                        }
                        averager.stepDone(Map.of("weight", ShardedTensor.of("weight", weight)));
                        seen[current] = weight.data_ptr_double().get(2);
                    }
                }
                results.set(world.rank(), seen);
            }
        });
        assertThat(serial[0]).isNotCloseTo(serial[1], Offset.offset(1e-3));
        for (int rank = 0; rank < RANKS; rank++) {
            for (int step = 0; step < wanted.length; step++) {
                assertThat(results.get(rank)[step])
                        .as("rank %d, step %d", rank, step)
                        .isCloseTo(wanted[step][rank], Offset.offset(1e-14));
            }
        }
    }

    /** The exchange of the inner hook begins at its end: an update before the end would use the gradients of one rank. */
    private static BucketReduction reduceAtTheEnd(GradientBucket bucket, ProcessGroup group) {
        return () -> AllReduceHook.mean(bucket, bucket.divisor(), group).finish();
    }

    @Test
    void anOptimizerInTheHookEqualsOneAfterThePass() {
        List<float[]> after = trained(false);
        assertEqualBits(trained(true), after);
    }

    private static List<float[]> trained(boolean inHook) {
        AtomicReferenceArray<List<float[]>> results = new AtomicReferenceArray<>(RANKS);
        LocalWorld.run(LocalWorldOptions.ofSize(RANKS).withDeterministic(true), world -> {
            TinyGpt module = new TinyGpt(1, 16, 8);
            Map<String, Tensor> parameters = ModuleTensors.parameters(module);
            DdpOptions options = DdpOptions.DEFAULT.withBuckets(2000, 10_000);
            try (var model = new DistributedDataParallel<>(module, world.group(), options);
                    FlatOptimizer optimizer = new FlatOptimizer(
                            Parameters.of(parameters),
                            FusedAdamW.DEFAULT,
                            ParameterGroup.decayMatrices(0.1),
                            LearningRateSchedule.linear(0.01, 0.1, 1, 4),
                            model.gradientMemory())) {
                if (inHook) {
                    model.registerHook(new OptimizerHook(
                            CommunicationHookTest::reduceAtTheEnd, bucket -> optimizer.update(bucket.names())));
                }
                for (int current = 0; current < 6; current++) {
                    try (Step step = model.step()) {
                        module.zero_grad(true);
                        step.backward(module.loss(
                                TinyGpt.tokens(10L * current + world.rank(), 2, 8),
                                TinyGpt.tokens(10L * current + 5 + world.rank(), 2, 8)));
                        if (inHook) {
                            optimizer.endStep();
                        } else {
                            optimizer.step();
                        }
                    }
                }
                assertThat(optimizer.steps()).isEqualTo(6);
                List<float[]> values = new ArrayList<>();
                parameters
                        .values()
                        .forEach(tensor ->
                                values.add(TensorMemory.segment(tensor).toArray(ValueLayout.JAVA_FLOAT)));
                results.set(world.rank(), values);
            }
        });
        assertEqualBits(results.get(0), results.get(1));
        return results.get(0);
    }

    @Test
    void aHookIsRegisteredOnceAndBeforeTheFirstPass() {
        LocalWorld.run(1, world -> {
            Linear module = new Linear();
            try (var model = new DistributedDataParallel<>(module, world.group())) {
                model.registerHook(CompressionHook.to(DataType.BF16));
                assertThat(model.report().hook()).isEqualTo("CompressionHook(BF16, AllReduceHook)");
                assertThatThrownBy(() -> model.registerHook(new AllReduceHook()))
                        .hasMessageContaining("the hook CompressionHook(BF16, AllReduceHook) is registered");
            }
            try (var model = new DistributedDataParallel<>(module, world.group())) {
                try (Step step = model.step()) {
                    step.backward(module.loss(torch.ones(ROWS, COLUMNS), 1));
                }
                assertThatThrownBy(() -> model.registerHook(new AllReduceHook()))
                        .hasMessageContaining("1 passes were reduced");
            }
        });
    }
}
