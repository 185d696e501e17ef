package io.jrun.train.tensorparallel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.CountingGroup;
import io.jrun.train.Libtorch;
import io.jrun.train.ParallelTraining;
import io.jrun.train.autograd.SavedTensors;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.DropoutLayer;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.Norm;
import io.jrun.train.layer.TokenEmbedding;
import io.jrun.train.layer.TokenLoss;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ShardRange;
import io.jrun.train.model.InitialValues;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import org.assertj.core.data.Offset;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Single layers that ranks share. */
class TensorParallelLayersTest {
    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static MeshAxis axis(ProcessGroup group) {
        return new MeshAxis("tp", group);
    }

    @Test
    void masksBetweenColumnAndRowLayersDifferBetweenRanksAndOthersAreEqual() {
        Map<Integer, List<Tensor>> masked = new ConcurrentHashMap<>();
        LocalWorld.run(2, world -> {
            CompositeModule model = new CompositeModule();
            DropoutLayer inner = model.add("inner", new DropoutLayer(0.5, 5));
            DropoutLayer outer = model.add("outer", new DropoutLayer(0.5, 5));
            TensorParallel.apply(model, axis(world.group()), false, Map.of("inner", ParallelStyle.DISTINCT));
            masked.put(world.rank(), List.of(inner.forward(torch.ones(64)), outer.forward(torch.ones(64))));
        });
        List<Tensor> first = Objects.requireNonNull(masked.get(0));
        List<Tensor> second = Objects.requireNonNull(masked.get(1));
        assertThat(first.get(0).equal(second.get(0))).isFalse();
        assertThat(first.get(0).equal(first.get(1))).isFalse();
        assertThat(first.get(1).equal(second.get(1))).isTrue();
    }

    /** The blocks of a model may have one dropout layer. */
    @Test
    void aSharedDropoutLayerGetsItsSeedOnce() {
        LocalWorld.run(2, world -> {
            CompositeModule model = new CompositeModule();
            DropoutLayer dropout = model.add("first", new DropoutLayer(0.5, 5));
            model.add("second", dropout);
            TensorParallel.apply(model, axis(world.group()), false, Map.of("*", ParallelStyle.DISTINCT));
            assertThat(dropout.seed()).isEqualTo(5 + 2718 + world.rank());
        });
    }

    /** The ranks would have other masks where they need equal ones. */
    @Test
    void aSharedDropoutLayerWithTwoStylesIsRefused() {
        LocalWorld.run(2, world -> {
            CompositeModule model = new CompositeModule();
            DropoutLayer dropout = model.add("inner", new DropoutLayer(0.5, 5));
            model.add("outer", dropout);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> TensorParallel.apply(
                            model, axis(world.group()), false, Map.of("inner", ParallelStyle.DISTINCT)))
                    .withMessage("layer 'outer' is the same dropout layer as layer 'inner', but the plan does not give"
                            + " both names the same style. Make a DropoutLayer of its own for each.");
            assertThat(dropout.seed()).isEqualTo(5);
        });
    }

    /** A maximum of one rank alone would overflow; every rank has targets. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void crossEntropyOfPartsIsThatOfTheWhole(int ranks) {
        int vocabulary = 131;
        Tensor logits = torch.arange(new Scalar(7.0 * vocabulary), new TensorOptions(torch.ScalarType.Double))
                .sin()
                .mul(new Scalar(9.0))
                .add(new Scalar(1e4))
                .view(7, vocabulary)
                .clone();
        logits.narrow(1, 100, 31).sub_(new Scalar(2e4)); // the last ranks have small logits only
        Tensor targets = Tensor.create(new long[] {0, 130, 65, TokenLoss.IGNORED, 33, 98, 64}, 7);
        Tensor whole = logits.clone().set_requires_grad(true);
        Tensor expected = torch.cross_entropy_loss(whole, targets);
        expected.backward();
        LocalWorld.run(ranks, world -> {
            ShardRange range = ShardRange.of(vocabulary, ranks, world.rank());
            Tensor part =
                    logits.narrow(1, range.offset(), range.length()).clone().set_requires_grad(true);
            TokenLoss loss = new TokenLoss();
            loss.setPerToken(new VocabularyCrossEntropy(new SequenceCollectives(axis(world.group())), range));
            Tensor actual = loss.mean(part, targets);
            actual.backward();
            assertThat(actual.item_double()).isCloseTo(expected.item_double(), within(1e-9));
            assertThat(ParallelTraining.difference(part.grad(), whole.grad().narrow(1, range.offset(), range.length())))
                    .isLessThan(1e-12);
        });
    }

    /** The last rank has fewer outputs than the others. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aGatheredLayerHasAllOutputs(boolean isSequenceParallel) {
        Tensor sequence_BSK = torch.arange(new Scalar(48.0), new TensorOptions(torch.ScalarType.Double))
                .sin()
                .view(2, 6, 4);
        GatheredModel alone = new GatheredModel();
        Tensor whole = sequence_BSK.clone().set_requires_grad(true);
        Tensor expected = alone.head.forward(whole);
        expected.square().mean().backward();
        LocalWorld.run(3, world -> {
            GatheredModel model = new GatheredModel();
            TensorParallel.apply(
                    model,
                    axis(world.group()),
                    isSequenceParallel,
                    Map.of("up", ParallelStyle.COLUMN, "head", ParallelStyle.GATHERED_COLUMN));
            Tensor x = (isSequenceParallel ? sequence_BSK.narrow(1, 2L * world.rank(), 2) : sequence_BSK)
                    .clone()
                    .set_requires_grad(true);
            Tensor actual = model.head.forward(x);
            assertThat(ParallelTraining.difference(actual, expected)).isLessThan(1e-15);
            actual.square().mean().backward();
            ShardRange range = ShardRange.of(7, 3, world.rank());
            assertThat(ParallelTraining.difference(
                            model.head.weight().grad(),
                            alone.head.weight().grad().narrow(0, range.offset(), range.length())))
                    .isLessThan(1e-15);
            Tensor gradient = isSequenceParallel ? whole.grad().narrow(1, 2L * world.rank(), 2) : whole.grad();
            assertThat(ParallelTraining.difference(x.grad(), gradient)).isLessThan(1e-15);
        });
    }

    private static final class GatheredModel extends CompositeModule {
        private final LinearLayer head = add("head", new LinearLayer(4, 7, true));

        GatheredModel() {
            add("up", new LinearLayer(4, 6, true));
            new InitialValues(1, 1).fill(this);
            to(torch.ScalarType.Double, false);
        }
    }

    private static Offset<Double> within(double distance) {
        return Offset.offset(distance);
    }

    /** The sum of the input's gradients is awaited only after the products for the weights. */
    @Test
    void theGradientOfTheInputTravelsWhileTheWeightsGradientIsComputed() {
        LocalWorld.run(2, world -> {
            CountingGroup counting = new CountingGroup(world.group());
            CompositeModule model = new CompositeModule();
            LinearLayer layer = model.add("up", new LinearLayer(64, 8192, false));
            new InitialValues(1, 1).fill(model);
            TensorParallel.apply(model, axis(counting.group()), false, Map.of("up", ParallelStyle.COLUMN));
            Tensor x = torch.ones(new long[] {8, 64, 64}).set_requires_grad(true);
            layer.forward(x).sum().backward();
            CountingGroup.Call call = counting.calls().getLast();
            assertThat(call.operation()).isEqualTo("allReduceAsync");
            long weightProduct = call.awaited().get() - call.begun();
            assertThat(weightProduct).isGreaterThan(100_000L); // 2 * 512 * 64 * 4096 operations lie between
        });
    }

    private static final class NormedBlock extends CompositeModule {
        private final Norm norm = add("norm", Norm.layer(128, 1e-5));
        private final LinearLayer up = add("up", new LinearLayer(128, 512, false));
        private final LinearLayer down = add("down", new LinearLayer(512, 128, false));

        Tensor forward(Tensor x) {
            return x.add(down.forward(torch.gelu(up.forward(norm.forward(x)))));
        }
    }

    /** Bytes that a rank keeps for the backward pass, in units of the whole input, for each block. */
    private static List<Double> keptPerBlock(boolean isSequenceParallel) {
        int ranks = 4;
        int blocks = 4;
        long length = 64;
        Map<Integer, Double> kept = new ConcurrentHashMap<>();
        LocalWorld.run(ranks, world -> {
            CompositeModule model = new CompositeModule();
            List<NormedBlock> stack = IntStream.range(0, blocks)
                    .mapToObj(i -> model.add("block" + i, new NormedBlock()))
                    .toList();
            new InitialValues(1, blocks).fill(model);
            TensorParallel.apply(
                    model,
                    axis(world.group()),
                    isSequenceParallel,
                    Map.of(
                            "*.norm", ParallelStyle.SEQUENCE,
                            "*.up", ParallelStyle.COLUMN,
                            "*.down", ParallelStyle.ROW));
            Tensor x = torch.ones(2, isSequenceParallel ? length / ranks : length, 128);
            try (PointerScope _ = new PointerScope()) {
                Tensor next = x;
                for (NormedBlock block : stack) {
                    next = block.forward(next);
                }
                kept.put(world.rank(), (double) SavedTensors.bytes(next) / blocks / (2 * length * 128 * Float.BYTES));
            }
        });
        return List.copyOf(kept.values());
    }

    /** In units of the input: norm and output have 1 each, up and gelu 4 each. Korthikanti et al. 2022, equation 2. */
    @Test
    void activationsBetweenTheLayersShrinkWithSequenceParallelism() {
        assertThat(keptPerBlock(false))
                .hasSize(4)
                .allSatisfy(kept -> assertThat(kept).isCloseTo(2 + 8 / 4.0, within(0.1)));
        assertThat(keptPerBlock(true))
                .hasSize(4)
                .allSatisfy(kept -> assertThat(kept).isCloseTo((2 + 8) / 4.0, within(0.1)));
    }

    @Test
    void eachSizeThatDoesNotDivideHasItsOwnError() {
        LocalWorld.run(3, world -> {
            CompositeModule model = new CompositeModule();
            LinearLayer q = model.add("q", new LinearLayer(6, 12, true));
            model.add("joint", new LinearLayer(6, 10, true));
            model.add("odd", new LinearLayer(7, 8, true));
            model.add("few", new TokenEmbedding(4, 6));
            Tensor before = q.weight().clone();
            assertError(world, model, "q", ParallelStyle.heads(4), "layer 'q': 4 heads cannot be shared by 3 tensor");
            assertError(world, model, "odd", ParallelStyle.COLUMN, "layer 'odd': 8 outputs cannot be shared by 3");
            assertError(world, model, "odd", ParallelStyle.ROW, "layer 'odd': 7 inputs cannot be shared by 3 tensor");
            assertError(world, model, "joint", ParallelStyle.jointHeads(3), "10 outputs are not 3 equal sections");
            assertError(
                    world, model, "few", ParallelStyle.VOCABULARY, "a vocabulary of 4 tokens leaves a rank without");
            assertError(world, model, "few", ParallelStyle.ROW, "is a TokenEmbedding, for which there is no style Row");
            assertError(world, model, "no*", ParallelStyle.ROW, "the model has no such layer. Its layers are q, joint");
            model.add("loss", new TokenLoss());
            Map<String, ParallelStyle> noLogits = Map.of("q", ParallelStyle.COLUMN, "loss", ParallelStyle.VOCABULARY);
            assertThatThrownBy(() -> TensorParallel.apply(model, axis(world.group()), true, noLogits))
                    .hasMessageContaining(
                            "layer 'loss' is a loss of the style VOCABULARY, but the plan has no layer of");
            assertThat(q.weight().equal(before)).isTrue();
            Tensor five = torch.ones(1, 5, 2);
            assertThatThrownBy(() -> new SequenceCollectives(axis(world.group())).slice(five, 1))
                    .hasMessageContaining("a sequence of 5 tokens cannot be shared by 3 tensor parallel ranks");
        });
    }

    private static void assertError(
            World world, CompositeModule model, String name, ParallelStyle style, String message) {
        assertThatThrownBy(() -> TensorParallel.apply(model, axis(world.group()), true, Map.of(name, style)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(message);
    }
}
