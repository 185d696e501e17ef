package io.jrun.train.tensorparallel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.CountingGroup;
import io.jrun.train.Libtorch;
import io.jrun.train.ParallelTraining;
import io.jrun.train.ParallelTraining.Batch;
import io.jrun.train.TinyTransformer;
import io.jrun.train.TinyTransformer.Options;
import io.jrun.train.autograd.DeferredGradients;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.TokenEmbedding;
import io.jrun.train.layer.TokenLoss;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.optim.Gradients;
import io.jrun.train.tensor.ModuleTensors;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.assertj.core.data.Offset;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LayerNormImpl;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TensorParallelTest {
    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static MeshAxis axis(ProcessGroup group) {
        return new MeshAxis("tp", group);
    }

    private static Tensor loss(TinyTransformer model, int step) {
        Batch batch = ParallelTraining.batch(step, true);
        return model.loss(batch.tokens(), batch.next());
    }

    /** Biases, tied vocabulary of 130 tokens over the ranks, grouped queries, tokens without a target. */
    @ParameterizedTest
    @CsvSource({"2,false,Double", "2,true,Float", "4,false,Float", "4,true,Double"})
    void parametersAfterTenStepsEqualTheSerialOnes(int ranks, boolean isSequenceParallel, torch.ScalarType type) {
        Options options = new Options(type, 4, 0, false);
        Map<String, Tensor> serial = ParallelTraining.serial(options, true);
        LocalWorld.run(ranks, world -> {
            MeshAxis axis = axis(world.group());
            TinyTransformer model = new TinyTransformer(options);
            TensorParallel.apply(model, axis, isSequenceParallel, TinyTransformer.plan(4));
            Map<String, ShardedTensor> parameters = Parameters.of(model);
            assertThat(parameters.keySet()).containsExactlyElementsOf(serial.keySet());
            ParallelTraining.train(model, ParallelTraining.STEPS, TensorParallelTest::loss);
            parameters.forEach((name, parameter) -> assertThat(
                            ParallelTraining.difference(parameter.whole(), Objects.requireNonNull(serial.get(name))))
                    .as(name)
                    .isLessThan(ParallelTraining.tolerance(type)));
        });
    }

    /** The tensors of every rank, for the comparison of bits. */
    private record Run(List<Double> losses, Map<String, Tensor> values) {}

    private static List<Run> run(Options options, boolean isSequenceParallel, boolean isEverythingTrained) {
        Map<Integer, Run> runs = new ConcurrentHashMap<>();
        LocalWorld.run(2, world -> {
            TinyTransformer model = new TinyTransformer(options);
            TensorParallel.apply(model, axis(world.group()), isSequenceParallel, TinyTransformer.plan(2));
            Map<String, ShardedTensor> parameters = Parameters.of(model);
            parameters.values().forEach(parameter -> {
                boolean isReplicated = parameter.placements().isEmpty();
                parameter.local().requires_grad_(isEverythingTrained || !isReplicated);
            });
            List<Double> losses = ParallelTraining.train(model, ParallelTraining.STEPS, TensorParallelTest::loss);
            runs.put(world.rank(), new Run(losses, ParallelTraining.values(model)));
        });
        return List.of(Objects.requireNonNull(runs.get(0)), Objects.requireNonNull(runs.get(1)));
    }

    private static void assertSameBits(List<Run> actual, List<Run> expected) {
        for (int rank = 0; rank < expected.size(); rank++) {
            assertThat(actual.get(rank).losses()).isEqualTo(expected.get(rank).losses());
            Map<String, Tensor> values = expected.get(rank).values();
            actual.get(rank)
                    .values()
                    .forEach((name, tensor) -> assertThat(tensor.equal(Objects.requireNonNull(values.get(name))))
                            .as(name)
                            .isTrue());
        }
    }

    /**
     * Without the parameters that all ranks hold: their gradients are sums over the tokens, which sequence parallelism
     * adds in another order.
     */
    @Test
    void sequenceParallelismHasTheBitsOfTensorParallelismWithDropout() {
        Options options = new Options(torch.ScalarType.Float, 2, 0.2, false);
        assertSameBits(run(options, true, false), run(options, false, false));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void recomputedSegmentsHaveTheBitsOfKeptOnesWithDropout(boolean isSequenceParallel) {
        Options kept = new Options(torch.ScalarType.Float, 2, 0.2, false);
        Options recomputed = new Options(torch.ScalarType.Float, 2, 0.2, true);
        assertSameBits(run(recomputed, isSequenceParallel, true), run(kept, isSequenceParallel, true));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void replicatedTensorsStayEqualOnAllRanks(boolean isSequenceParallel) {
        List<Run> runs = run(new Options(torch.ScalarType.Float, 2, 0, false), isSequenceParallel, true);
        for (String name : List.of("norm.weight", "places.weight", "joint.out.bias", "grouped.attentionnorm.weight")) {
            assertThat(Objects.requireNonNull(runs.get(0).values().get(name))
                            .equal(Objects.requireNonNull(runs.get(1).values().get(name))))
                    .as(name)
                    .isTrue();
        }
    }

    private static Offset<Double> within(double distance) {
        return Offset.offset(distance);
    }

    /** The gradients of a rank's parts against differences of the loss, in float64. */
    @Test
    void gradientsEqualFiniteDifferences() {
        LocalWorld.run(2, world -> {
            TinyTransformer model = new TinyTransformer(Options.of(torch.ScalarType.Double));
            TensorParallel.apply(model, axis(world.group()), true, TinyTransformer.plan(2));
            Map<String, ShardedTensor> parameters = Parameters.of(model);
            loss(model, 0).backward();
            double step = 1e-6;
            for (String name : List.of("tokens.weight", "joint.qkv.weight", "joint.down.weight", "grouped.key.bias")) {
                Tensor weight = Objects.requireNonNull(parameters.get(name)).local();
                Tensor element = weight.detach().view(-1).narrow(0, 3, 1);
                double gradient = weight.grad().view(-1).narrow(0, 3, 1).item_double();
                double change = world.rank() == 0 ? step : 0; // the element of rank 0 alone
                element.add_(new Scalar(change));
                double above = loss(model, 0).item_double();
                element.sub_(new Scalar(2 * change));
                double below = loss(model, 0).item_double();
                element.add_(new Scalar(change));
                if (world.rank() == 0) {
                    assertThat((above - below) / (2 * step)).as(name).isCloseTo(gradient, within(1e-7));
                }
            }
        });
    }

    /**
     * The factor of one gradient step; the norm of the parts is that of the whole, and what all ranks hold counts once.
     */
    @Test
    void clippedGradientsEqualTheSerialOnes() {
        Options options = Options.of(torch.ScalarType.Double);
        TinyTransformer serial = new TinyTransformer(options);
        loss(serial, 0).backward();
        Map<String, Tensor> expected = ModuleTensors.parameters(serial);
        double norm = Gradients.clip(Parameters.of(expected).values(), 0.1).value();
        LocalWorld.run(2, world -> {
            MeshAxis axis = axis(world.group());
            TinyTransformer model = new TinyTransformer(options);
            TensorParallel.apply(model, axis, true, TinyTransformer.plan(2));
            Map<String, ShardedTensor> parameters = Parameters.of(model);
            loss(model, 0).backward();
            assertThat(Gradients.clip(parameters.values(), 0.1).value()).isCloseTo(norm, within(1e-12));
            parameters.forEach((name, parameter) -> {
                ShardedTensor gradient = parameter.withLocal(parameter.gradient());
                assertThat(ParallelTraining.difference(
                                gradient.whole(),
                                Objects.requireNonNull(expected.get(name)).grad()))
                        .as(name)
                        .isLessThan(1e-12);
            });
        });
    }

    /** The weights of nine products: in the pass for the weights of a zero-bubble pipeline. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aPipelinePutsTheGradientsOfWeightsOff(boolean isSequenceParallel) {
        LocalWorld.run(2, world -> {
            Options options = Options.of(torch.ScalarType.Double);
            TinyTransformer whole = new TinyTransformer(options);
            TensorParallel.apply(whole, axis(world.group()), isSequenceParallel, TinyTransformer.plan(2));
            loss(whole, 0).backward();
            TinyTransformer split = new TinyTransformer(options);
            TensorParallel.apply(split, axis(world.group()), isSequenceParallel, TinyTransformer.plan(2));
            Map<String, Tensor> parameters = ModuleTensors.parameters(split);
            try (DeferredGradients later = new DeferredGradients()) {
                try (DeferredGradients.Scope _ = later.open()) {
                    loss(split, 0).backward();
                }
                assertThat(later.size()).isEqualTo(9);
                assertThat(Objects.requireNonNull(parameters.get("joint.up.weight"))
                                .grad()
                                .defined())
                        .isFalse();
                later.compute();
            }
            ModuleTensors.parameters(whole)
                    .forEach((name, parameter) -> assertThat(ParallelTraining.difference(
                                    Objects.requireNonNull(parameters.get(name)).grad(), parameter.grad()))
                            .as(name)
                            .isLessThan(1e-12));
        });
    }

    private static List<CountingGroup.Call> calls(World world, boolean isSequenceParallel) {
        CountingGroup counting = new CountingGroup(world.group());
        TinyTransformer model = new TinyTransformer(Options.of(torch.ScalarType.Float));
        TensorParallel.apply(model, axis(counting.group()), isSequenceParallel, TinyTransformer.plan(2));
        long before;
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            Tensor _ = loss(model, 0); // compares the tokens of the ranks once
            before = counting.calls().size();
        }
        try (PointerScope _ = new PointerScope()) {
            loss(model, 0).backward();
        }
        return counting.calls().stream().skip(before).toList();
    }

    /**
     * Per layer two sums of [B, S, D] in the forward and two in the backward pass; here one layer has no feed-forward
     * part. The logits (4 * 16 * 130 * 4 = 33,280 bytes) never travel.
     */
    @Test
    void bytesAreThoseOfTheFormula() {
        long activation = 4L * 16 * 32 * Float.BYTES;
        long perPosition = 4L * 16 * Float.BYTES;
        LocalWorld.run(2, world -> {
            List<CountingGroup.Call> tensor = calls(world, false);
            assertThat(tensor.stream().filter(call -> call.bytes() == activation))
                    .hasSize(3 + 3 + 2); // three branches forward and backward; embedding forward, logits backward
            assertThat(tensor.stream().mapToLong(CountingGroup.Call::bytes).sum())
                    .isEqualTo(8 * activation + 3 * perPosition);
            List<CountingGroup.Call> sequence = calls(world, true);
            assertThat(sequence.stream().mapToLong(CountingGroup.Call::bytes).max())
                    .hasValue(activation);
            long scattered = sequence.stream()
                    .filter(call -> call.operation().startsWith("reduceScatter"))
                    .count();
            assertThat(scattered).isEqualTo(3 + 3 + 2);
            long gathered = sequence.stream()
                    .filter(call -> call.operation().startsWith("allGather"))
                    .count();
            assertThat(gathered).isEqualTo(4 + 4 + 4); // the last four: inputs of column layers, gathered again
        });
    }

    @Test
    void aSecondApplicationAndAPlanWithoutSequenceStylesAreRefused() {
        LocalWorld.run(2, world -> {
            MeshAxis axis = axis(world.group());
            TinyTransformer model = new TinyTransformer(TinyTransformer.Options.of(torch.ScalarType.Float));
            var parallel = new TensorParallel(axis, false, TinyTransformer.plan(2));
            parallel.apply(model);
            parallel.apply(model); // has nothing left to do
            assertThatThrownBy(() -> TensorParallel.apply(model, axis, TinyTransformer.plan(2)))
                    .hasMessageContaining("ranks of the axis 'tp' share its weight already");
            TinyTransformer other = new TinyTransformer(TinyTransformer.Options.of(torch.ScalarType.Float));
            assertThatThrownBy(() -> parallel.apply(other)).hasMessageContaining("belongs to a second model");

            Map<String, ParallelStyle> plan = new HashMap<>(TinyTransformer.plan(2));
            plan.remove("*.*norm");
            assertThatThrownBy(() -> TensorParallel.apply(other, axis, true, plan))
                    .hasMessageMatching("parameter '(joint|grouped)\\.\\w*norm\\.weight' is in no layer with a style,"
                            + " but with sequence parallelism.*");
            Map<String, ParallelStyle> blocks = new HashMap<>(TinyTransformer.plan(2));
            blocks.keySet().removeAll(List.of("tokens", "places", "loss"));
            assertThatThrownBy(() -> TensorParallel.apply(other, axis, true, blocks))
                    .hasMessageContaining("parameter 'tokens.weight' is in no layer with a style");
            TensorParallel.apply(other, axis, true, TinyTransformer.plan(2)); // nothing was changed
        });
    }

    /** Whole sequences of two ranks would be one sequence of twice the length, which gives another loss. */
    @Test
    void sequenceParallelismOfBlocksAloneIsRefused() {
        Options options = Options.of(torch.ScalarType.Double);
        double serial = loss(new TinyTransformer(options), 0).item_double();
        LocalWorld.run(2, world -> {
            var parallel = new TensorParallel(axis(world.group()), true, TinyTransformer.plan(2));
            TinyTransformer model = new TinyTransformer(options, parallel::apply);
            assertThatThrownBy(() -> loss(model, 0))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(
                            "was applied to blocks, but not to their model: no layer divides the sequence")
                    .hasMessageContaining("Call apply(model) after the last block");
            parallel.apply(model);
            assertThat(loss(model, 0).item_double()).isCloseTo(serial, within(1e-12));
        });
    }

    /** A layer of libtorch in a model of jrun's layers. */
    private static final class NetWithForeignNorm extends CompositeModule {
        private final Map<String, ParallelStyle> plan =
                Map.of("up", ParallelStyle.COLUMN, "down", ParallelStyle.ROW, "rows", ParallelStyle.SEQUENCE);

        NetWithForeignNorm() {
            add("rows", new TokenEmbedding(4, 8));
            add("norm", new LayerNormImpl(new LongVector(8L)));
            add("up", new LinearLayer(8, 16, false));
            add("down", new LinearLayer(16, 8, false));
        }
    }

    /** Its gradient would be that of a part of the sequence, and the ranks would differ after a step. */
    @Test
    void sequenceParallelismRefusesALayerOfLibtorch() {
        LocalWorld.run(2, world -> {
            NetWithForeignNorm net = new NetWithForeignNorm();
            assertThatThrownBy(() -> TensorParallel.apply(net, axis(world.group()), true, net.plan))
                    .hasMessageContaining("parameter 'norm.weight' is in no layer with a style");
            TensorParallel.apply(net, axis(world.group()), false, net.plan);
            NetWithForeignNorm frozen = new NetWithForeignNorm();
            ModuleTensors.parameters(frozen).values().forEach(tensor -> tensor.set_requires_grad(false));
            TensorParallel.apply(frozen, axis(world.group()), true, frozen.plan);
        });
    }

    /** The classes of a text are others than its tokens. */
    @Test
    void theLossTakesTheLogitsOfTheLinearLayerAlone() {
        LocalWorld.run(2, world -> {
            CompositeModule model = new CompositeModule();
            TokenEmbedding tokens = model.add("tokens", new TokenEmbedding(5, 4));
            model.add("head", new LinearLayer(4, 6, false));
            model.add("loss", new TokenLoss());
            Map<String, ParallelStyle> plan = Map.of(
                    "tokens", ParallelStyle.VOCABULARY,
                    "head", ParallelStyle.VOCABULARY,
                    "loss", ParallelStyle.VOCABULARY);
            TensorParallel.apply(model, axis(world.group()), plan);
            assertThatThrownBy(() -> tokens.logits(torch.ones(3, 4)))
                    .hasMessage("the embedding 'tokens' gives the logits of 5 tokens, but the loss 'loss' of the style"
                            + " VOCABULARY takes the 6 outputs of 'head'. Give one of the two layers another style.");
            CompositeModule twoHeads = new CompositeModule();
            twoHeads.add("head", new LinearLayer(4, 6, false));
            twoHeads.add("head2", new LinearLayer(4, 8, false));
            assertThatThrownBy(() -> TensorParallel.apply(
                            twoHeads, axis(world.group()), Map.of("head*", ParallelStyle.VOCABULARY)))
                    .hasMessageContaining("tokens, but another such layer of the style VOCABULARY has");
        });
    }

    /** The logits of a second head that each rank has completely. */
    @Test
    void aSecondLossWithoutAStyleIsAccepted() {
        LocalWorld.run(2, world -> {
            CompositeModule model = new CompositeModule();
            model.add("head", new LinearLayer(4, 16, false));
            TokenLoss first = model.add("loss", new TokenLoss());
            LinearLayer head2 = model.add("head2", new LinearLayer(4, 6, false));
            TokenLoss second = model.add("loss2", new TokenLoss());
            Map<String, ParallelStyle> plan =
                    Map.of("head", ParallelStyle.VOCABULARY, "loss", ParallelStyle.VOCABULARY);
            TensorParallel.apply(model, axis(world.group()), plan);
            try (NoGradGuard _ = new NoGradGuard()) {
                head2.weight().fill_(new Scalar(1));
            }
            Tensor targets = torch.zeros(3).to(torch.ScalarType.Long);
            Tensor logits = head2.forward(torch.ones(3, 4));
            assertThat(second.mean(logits, targets).item_double()).isCloseTo(Math.log(6), within(1e-6));
            assertThatThrownBy(() -> first.mean(logits, targets)).hasMessageContaining("VOCABULARY got logits of 6");
        });
    }
}
