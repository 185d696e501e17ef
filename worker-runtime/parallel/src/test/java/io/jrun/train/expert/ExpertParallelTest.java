package io.jrun.train.expert;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.CountingGroup;
import io.jrun.train.Libtorch;
import io.jrun.train.ParallelTraining;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.optim.Gradients;
import io.jrun.train.recompute.Recompute;
import io.jrun.train.step.NoSync;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.IntToDoubleFunction;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Ranks that share experts, compared with one process that computes the batches of all ranks one after the other. */
class ExpertParallelTest {
    private static final int PASSES = 2;
    private static final double CLIP = 0.5;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** Trains and returns the norms of the gradients before they are clipped. */
    private static List<Double> train(ExpertStack model, IntToDoubleFunction gradients) {
        SGDOptions options = new SGDOptions(0.1);
        options.momentum().put(0.9);
        SGD optimizer = new SGD(model.parameters(), options);
        List<Double> norms = new ArrayList<>();
        for (int step = 0; step < ParallelTraining.STEPS; step++) {
            try (PointerScope _ = new PointerScope()) {
                optimizer.zero_grad();
                norms.add(gradients.applyAsDouble(step));
                optimizer.step();
            }
        }
        return norms;
    }

    private static int batch(int step, int pass, int rank) {
        return step * 100 + pass * 10 + rank;
    }

    private static Tensor mean(Tensor loss, int count) {
        return loss.div(new Scalar((double) count));
    }

    /** The auxiliary losses of this model are divided by the number of passes already. */
    private static List<Double> trainAlone(ExpertStack model, int ranks) {
        return train(model, step -> {
            for (int rank = 0; rank < ranks; rank++) {
                for (int pass = 0; pass < PASSES; pass++) {
                    mean(model.loss(batch(step, pass, rank)), PASSES).backward();
                }
            }
            List<Tensor> parameters =
                    List.copyOf(ModuleTensors.parameters(model).values());
            parameters.forEach(tensor -> tensor.mutable_grad().div_(new Scalar((double) ranks)));
            return Gradients.clip(Parameters.of(model).values(), CLIP).value();
        });
    }

    private static List<Double> trainTogether(ExpertDataParallel<ExpertStack> parallel, int rank) {
        parallel.module().layer("gated").setLossScale(1.0 / PASSES);
        parallel.module().layer("plain").setLossScale(1.0 / PASSES);
        return train(parallel.module(), step -> {
            try (Step current = parallel.step()) {
                try (NoSync _ = parallel.noSync()) {
                    current.backward(mean(parallel.module().loss(batch(step, 0, rank)), PASSES));
                }
                current.backward(mean(parallel.module().loss(batch(step, 1, rank)), PASSES));
                return Gradients.clip(Parameters.of(parallel.module()).values(), CLIP)
                        .value();
            }
        });
    }

    private static ExpertDataParallel<ExpertStack> build(
            DeviceMesh mesh, ExpertOptions options, torch.ScalarType type, boolean isSkewed) {
        ExpertStack model = new ExpertStack(options, type, isSkewed);
        ExpertParallel experts = new ExpertParallel(mesh.axis("ep"));
        experts.apply(model);
        return new ExpertDataParallel<>(model, experts, mesh.axis("dp"));
    }

    /** With clipping and accumulation. Skewed: all tokens choose expert 0, so other ranks get no rows at first. */
    @ParameterizedTest
    @CsvSource({
        "2,2,1,1,Double,false",
        "4,2,2,1.25,Double,false",
        "4,4,2,0,Double,false",
        "4,2,1,0,Double,true",
        "2,1,2,0.5,Double,false",
        "2,2,2,1,Float,false"
    })
    void parametersAfterTenStepsEqualTheSerialOnes(
            int ranks, int ep, int topK, double factor, torch.ScalarType type, boolean isSkewed) {
        ExpertOptions options = new ExpertOptions(4, topK, factor, 0.05, 0.01);
        ExpertOptions divided = new ExpertOptions(4, topK, factor, 0.05 / PASSES, 0.01 / PASSES);
        ExpertStack serial = new ExpertStack(divided, type, isSkewed);
        List<Double> norms = trainAlone(serial, ranks);
        Map<String, Tensor> expected = new LinkedHashMap<>();
        ModuleTensors.parameters(serial).forEach((name, tensor) -> expected.put(name, tensor.detach()));
        double tolerance = ParallelTraining.tolerance(type);
        LocalWorld.run(LocalWorldOptions.ofSize(ranks).withDeterministic(true), world -> {
            try (DeviceMesh mesh = DeviceMesh.of(world, "dp", ranks / ep, "ep", ep);
                    var parallel = build(mesh, options, type, isSkewed)) {
                List<Double> found = trainTogether(parallel, world.rank());
                for (int step = 0; step < found.size(); step++) {
                    assertThat(Math.abs(found.get(step) - norms.get(step))).isLessThan(tolerance * 10);
                }
                Parameters.of(parallel.module())
                        .forEach((name, parameter) -> assertThat(ParallelTraining.difference(
                                        parameter.whole(), Objects.requireNonNull(expected.get(name))))
                                .as(name)
                                .isLessThan(tolerance));
                RoutingReport report = parallel.module().layer("gated").report().overRanks(world.group());
                assertThat(report).isEqualTo(serial.layer("gated").report());
                assertThat(report.dropped() > 0).isEqualTo(factor > 0);
            }
        });
        assertThat(norms.getFirst()).as("the gradients are clipped").isGreaterThan(CLIP);
    }

    /** Blocks computed twice exchange twice, and give the same bits and the same counts. */
    @Test
    void recomputedLayersGiveTheSameBits() {
        ExpertOptions options = new ExpertOptions(4, 2, 1, 0.05, 0);
        LocalWorld.run(LocalWorldOptions.ofSize(2).withDeterministic(true), world -> {
            try (DeviceMesh mesh = DeviceMesh.of(world, "dp", 1, "ep", 2);
                    var kept = build(mesh, options, torch.ScalarType.Float, false);
                    var again = build(mesh, options, torch.ScalarType.Float, false)) {
                Recompute.apply(again.module());
                trainTogether(kept, world.rank());
                trainTogether(again, world.rank());
                Parameters.of(again.module()).forEach((name, parameter) -> {
                    ShardedTensor other =
                            Objects.requireNonNull(Parameters.of(kept.module()).get(name));
                    assertThat(parameter.local().equal(other.local())).as(name).isTrue();
                });
                assertThat(again.module().layer("plain").report())
                        .isEqualTo(kept.module().layer("plain").report());
            }
        });
    }

    /** Rank r sends r + to - 1 rows to each rank: none, one or several. Gradients come back to the rows. */
    @Test
    void rowsAndTheirGradientsTravelWithUnevenAndZeroCounts() {
        int ranks = 3;
        LocalWorld.run(ranks, world -> {
            int rank = world.rank();
            long[] counts = LongStream.range(0, ranks)
                    .map(other -> Math.max(0, rank + other - 1))
                    .toArray();
            long total = LongStream.of(counts).sum();
            Tensor rows = torch.arange(new Scalar(2 * total), new TensorOptions(torch.ScalarType.Double))
                    .add(new Scalar(100.0 * rank))
                    .view(total, 2)
                    .set_requires_grad(true);
            Tensor arrived = RowExchange.apply(rows, new MeshAxis("ep", world.group()), counts, counts);
            Tensor weight = torch.arange(new Scalar(2 * total), new TensorOptions(torch.ScalarType.Double))
                    .view(total, 2);
            Tensor back = RowExchange.apply(arrived, new MeshAxis("ep", world.group()), counts, counts);
            assertThat(back.equal(rows)).isTrue();
            arrived.mul(weight).sum().backward();
            Tensor expected = RowExchange.apply(weight, new MeshAxis("ep", world.group()), counts, counts);
            assertThat(rows.grad().equal(expected)).isTrue();
            if (rank == 2) { // Rank 0 sends its second row here, its first row goes to nobody but rank 2.
                assertThat(arrived.select(0, 0).select(0, 0).item_double()).isZero();
            }
        });
    }

    /** Rows to the experts and results back, forward and backward: 4 times T x K x D elements. */
    @Test
    void theExchangesHaveTheBytesOfTheFormula() {
        ExpertOptions options = new ExpertOptions(4, 2, 0, 0.01, 0);
        LocalWorld.run(2, world -> {
            ExpertStack model = new ExpertStack(options, torch.ScalarType.Double, false);
            CountingGroup counting = new CountingGroup(world.group());
            new ExpertParallel(new MeshAxis("ep", counting.group())).apply(model);
            model.loss(world.rank()).backward();
            long rows = model.layer("gated").report().choices();
            assertThat(rows).isEqualTo(12 * 2);
            // Rows that arrive and leave in the backward pass are as many on both ranks together.
            long[] bytes = {Objects.requireNonNull(counting.bytes().get("allToAllV"))};
            world.group().allReduce(MemorySegment.ofArray(bytes), DataType.I64, 1, ReduceOp.SUM);
            long layers = 2;
            assertThat(bytes[0]).isEqualTo(layers * world.size() * 4 * rows * ExpertStack.WIDTH * Double.BYTES);
        });
    }

    @Test
    void expertsThatDoNotDivideAreAnError() {
        LocalWorld.run(2, (World world) -> {
            ExpertStack model = new ExpertStack(new ExpertOptions(3, 1, 1, 0, 0), torch.ScalarType.Float, false);
            assertThatThrownBy(() -> new ExpertParallel(new MeshAxis("ep", world.group())).apply(model))
                    .hasMessageContaining("layer 'gated': 3 experts cannot be shared by 2 expert parallel ranks");
        });
    }
}
