package io.jrun.train.context;

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
import io.jrun.train.context.ContextParallel.Exchange;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.layer.AttentionLayer;
import io.jrun.train.layer.AttentionOperation;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensorparallel.TensorParallel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ContextParallelTest {
    private static final long BATCH = 2;
    private static final long SEQUENCE = 16;
    private static final long WIDTH = 8;
    private static final torch.ScalarType BF16 = torch.ScalarType.BFloat16;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static Tensor random(long heads, int seed, torch.ScalarType type) {
        Generator generator = torch.createCPUGenerator(seed);
        return torch.zeros(new long[] {BATCH, heads, SEQUENCE, WIDTH}, new TensorOptions(type))
                .normal_(0, 1, new GeneratorOptional(generator));
    }

    /** Outputs, and gradients relative to the largest of each operand, with 4 query heads. */
    @ParameterizedTest
    @CsvSource({
        "RING,2,4,true,Double", "RING,4,2,true,Double", "RING,4,1,false,Float", "ALL_GATHER,2,2,true,Float",
        "ALL_GATHER,4,4,false,Double", "ULYSSES,2,2,true,Double", "ULYSSES,4,4,true,Float", "RING,3,2,false,Double"
    })
    void attentionAndItsGradientsEqualThoseOfTheWhole(
            Exchange exchange, int ranks, long keyHeads, boolean isCausal, torch.ScalarType type) {
        long sequence = ranks == 3 ? 12 : SEQUENCE;
        List<Tensor> whole = List.of(random(4, 1, type), random(keyHeads, 2, type), random(keyHeads, 3, type)).stream()
                .map(tensor -> tensor.narrow(2, 0, sequence).clone().set_requires_grad(true))
                .toList();
        Tensor direction = random(4, 4, type).narrow(2, 0, sequence);
        Tensor expected = AttentionOperation.LOCAL.apply(whole.get(0), whole.get(1), whole.get(2), isCausal);
        expected.mul(direction).sum().backward();
        LocalWorld.run(ranks, world -> {
            CompositeModule model = new CompositeModule();
            AttentionLayer layer = model.add("attention", new AttentionLayer(WIDTH));
            ContextParallel parallel = ContextParallel.apply(
                    model, new MeshAxis("cp", world.group()), new MeshAxis("cp", world.group()), exchange);
            Tensor mine = Tensor.create(parallel.split().positions(sequence, world.rank()));
            List<Tensor> parts = whole.stream()
                    .map(tensor -> tensor.detach().index_select(2, mine).set_requires_grad(true))
                    .toList();
            Tensor joined = layer.attend(parts.get(0), parts.get(1), parts.get(2), isCausal);
            Tensor output = layer.split(joined);
            output.mul(direction.index_select(2, mine)).sum().backward();
            double tolerance = ParallelTraining.tolerance(type);
            assertThat(ParallelTraining.difference(
                            output.detach(), expected.detach().index_select(2, mine)))
                    .isLessThan(tolerance);
            for (int i = 0; i < parts.size(); i++) {
                Tensor gradient = whole.get(i).grad();
                double largest = gradient.abs().max().item_double();
                assertThat(ParallelTraining.difference(parts.get(i).grad(), gradient.index_select(2, mine)))
                        .as("gradient of operand " + i)
                        .isLessThan(tolerance * Math.max(1, largest));
            }
        });
    }

    /** The blocks of bfloat16 are merged in float32: the output has one rounding, not one for each block. */
    @Test
    void blocksOfBfloat16AreMergedInFloat32() {
        List<Tensor> narrow = List.of(random(4, 1, BF16), random(2, 2, BF16), random(2, 3, BF16));
        List<Tensor> wide =
                narrow.stream().map(tensor -> tensor.to(torch.ScalarType.Float)).toList();
        Tensor expected = AttentionOperation.LOCAL.apply(wide.get(0), wide.get(1), wide.get(2), false);
        LocalWorld.run(4, world -> {
            CompositeModule model = new CompositeModule();
            AttentionLayer layer = model.add("attention", new AttentionLayer(WIDTH));
            ContextParallel parallel = ContextParallel.apply(
                    model, new MeshAxis("cp", world.group()), new MeshAxis("cp", world.group()), Exchange.RING);
            Tensor mine = Tensor.create(parallel.split().positions(SEQUENCE, world.rank()));
            Tensor output = layer.split(layer.attend(
                    narrow.get(0).index_select(2, mine),
                    narrow.get(1).index_select(2, mine),
                    narrow.get(2).index_select(2, mine),
                    false));
            Tensor nearest = expected.index_select(2, mine).to(BF16);
            double equal = output.eq(nearest).to(torch.ScalarType.Double).mean().item_double();
            assertThat(equal).as("share of elements that are rounded once").isGreaterThan(0.98);
        });
    }

    private static Tensor loss(ContextParallel parallel, TinyTransformer model, Batch batch) {
        return model.loss(parallel.tokens(batch.tokens()), parallel.tokens(batch.next()));
    }

    /** Global positions, and a mean over the tokens of all ranks, of which some ranks have few with targets. */
    @ParameterizedTest
    @CsvSource({"RING,2,Double", "RING,4,Float", "ALL_GATHER,4,Double", "ULYSSES,2,Float"})
    void parametersAfterTenStepsEqualTheSerialOnes(Exchange exchange, int ranks, torch.ScalarType type) {
        Options options = Options.of(type);
        Map<String, Tensor> serial = ParallelTraining.serial(options, true);
        LocalWorld.run(ranks, world -> {
            TinyTransformer module = new TinyTransformer(options);
            ContextParallel parallel = ContextParallel.apply(
                    module, new MeshAxis("cp", world.group()), new MeshAxis("cp", world.group()), exchange);
            trainWithDdp(module, world.group(), step -> loss(parallel, module, ParallelTraining.batch(step, true)));
            ParallelTraining.values(module)
                    .forEach((name, tensor) -> assertThat(
                                    ParallelTraining.difference(tensor, Objects.requireNonNull(serial.get(name))))
                            .as(name)
                            .isLessThan(ParallelTraining.tolerance(type)));
        });
    }

    private static void trainWithDdp(TinyTransformer module, ProcessGroup group, IntFunction<Tensor> loss) {
        try (DistributedDataParallel<TinyTransformer> ddp = new DistributedDataParallel<>(module, group)) {
            ParallelTraining.train(module, ParallelTraining.STEPS, step -> {
                try (var current = ddp.step()) {
                    Tensor value = loss.apply(step);
                    current.backward(value);
                    return value.item_double();
                }
            });
        }
    }

    /** Tensor, sequence, context and data parallelism together. */
    @Test
    void theThreeDimensionalMeshEqualsTheSerialModel() {
        Options options = Options.of(torch.ScalarType.Double);
        Map<String, Tensor> serial = ParallelTraining.serial(options, true);
        LocalWorld.run(8, world -> {
            try (DeviceMesh mesh = DeviceMesh.of(world, "dp", 2, "cp", 2, "tp", 2)) {
                MeshAxis tensorAxis = mesh.axis("tp");
                TinyTransformer module = new TinyTransformer(options);
                ContextParallel context =
                        ContextParallel.apply(module, mesh.axis("cp"), mesh.axis("dp", "cp"), Exchange.RING);
                TensorParallel.apply(module, tensorAxis, true, TinyTransformer.plan(2));
                Map<String, ShardedTensor> parameters = Parameters.of(module);
                trainWithDdp(module, mesh.group("dp", "cp"), step -> {
                    Batch batch = ParallelTraining.batch(step, true).texts(2L * mesh.coordinate("dp"), 2);
                    return loss(context, module, batch);
                });
                parameters.forEach((name, parameter) -> assertThat(ParallelTraining.difference(
                                parameter.whole(), Objects.requireNonNull(serial.get(name))))
                        .as(name)
                        .isLessThan(1e-12));
            }
        });
    }

    /** Elements per rank: keys and values (c-1) times forward and backward, their gradients c times. */
    @Test
    void theRingSendsTheBytesOfTheFormula() {
        int ranks = 4;
        long keysValues = 2 * BATCH * 2 * (SEQUENCE / ranks) * WIDTH * Double.BYTES;
        LocalWorld.run(ranks, world -> {
            CountingGroup counting = new CountingGroup(world.group());
            attend(world, counting, Exchange.RING);
            assertThat(counting.bytes().get("sendAsync")).isEqualTo(keysValues * (2 * (ranks - 1) + ranks));
        });
    }

    /** All-gather: the own keys and values twice, and gradients for all ranks. Ulysses: queries and outputs too. */
    @Test
    void theOtherExchangesHaveTheBytesOfTheFormula() {
        long keys = BATCH * 2 * (SEQUENCE / 2) * WIDTH * Double.BYTES;
        LocalWorld.run(2, world -> {
            CountingGroup gathering = new CountingGroup(world.group());
            attend(world, gathering, Exchange.ALL_GATHER);
            assertThat(gathering.bytes()).isEqualTo(Map.of("allGather", 2 * 2 * keys, "reduceScatter", 2 * 2 * keys));
            CountingGroup exchanging = new CountingGroup(world.group());
            attend(world, exchanging, Exchange.ULYSSES);
            assertThat(exchanging.bytes()).isEqualTo(Map.of("allToAll", 2 * (2 * keys + 2 * 2 * keys)));
            assertThat(exchanging.calls()).hasSize(8);
        });
    }

    /** Each hop is under way while the rank computes with the tensor before. */
    @Test
    void theRingSendsBeforeItComputes() {
        int ranks = 3;
        LocalWorld.run(ranks, world -> {
            CountingGroup counting = new CountingGroup(world.group());
            var ring = new RingExchange(new MeshAxis("cp", counting.group()));
            List<Long> computed = new ArrayList<>();
            Tensor own = torch.ones(8);
            ring.forEach(own, (_, _) -> computed.add(System.nanoTime()));
            Tensor _ = ring.sumGradients(own, (_, x) -> {
                computed.add(System.nanoTime());
                return x.clone();
            });
            List<CountingGroup.Call> keys = counting.calls().stream()
                    .filter(call -> call.operation().equals("sendAsync"))
                    .toList();
            // Forward two hops of keys; backward two hops of keys, each before a hop of gradients, and the last sum.
            assertThat(keys).hasSize(2 + 2 + 3);
            assertTravels(keys.get(0), computed.get(0));
            assertTravels(keys.get(1), computed.get(1));
            assertTravels(keys.get(2), computed.get(3));
            assertTravels(keys.get(4), computed.get(4));
            assertTravels(keys.get(3), computed.get(4));
            assertTravels(keys.get(5), computed.get(5));
        });
    }

    private static void assertTravels(CountingGroup.Call call, long computed) {
        assertThat(computed).isBetween(call.begun(), call.awaited().get());
    }

    private static void attend(World world, CountingGroup counting, Exchange exchange) {
        CompositeModule model = new CompositeModule();
        AttentionLayer layer = model.add("attention", new AttentionLayer(WIDTH));
        ContextParallel.apply(model, new MeshAxis("cp", counting.group()), new MeshAxis("cp", world.group()), exchange);
        long local = SEQUENCE / world.size();
        Tensor q = random(4, 1, torch.ScalarType.Double)
                .narrow(2, 0, local)
                .clone()
                .set_requires_grad(true);
        Tensor k = random(2, 2, torch.ScalarType.Double)
                .narrow(2, 0, local)
                .clone()
                .set_requires_grad(true);
        layer.attend(q, k, k, true).sum().backward();
    }

    /** Brandon et al. 2023: with contiguous parts the last rank has 58 of 136 pairs. Orders as torch's head-tail. */
    @Test
    void zigzagGivesAllRanksEqualWork() {
        assertThat(pairs(new SequenceSplit(4, true))).containsExactly(34, 34, 34, 34);
        assertThat(pairs(new SequenceSplit(4, false))).containsExactly(10, 26, 42, 58);
        assertThat(new SequenceSplit(2, true).positions(8, 0)).containsExactly(0, 1, 6, 7);
        assertThat(new SequenceSplit(2, true).positions(8, 1)).containsExactly(2, 3, 4, 5);
        long[] all = IntStream.range(0, 4)
                .mapToObj(rank -> new SequenceSplit(4, true).positions(8, rank))
                .flatMapToLong(Arrays::stream)
                .toArray();
        assertThat(all).containsExactly(0, 7, 1, 6, 2, 5, 3, 4);
        assertThat(LongStream.of(all).sorted()).containsExactly(0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L);
    }

    /** The pairs of a query and a key that each rank computes for 16 tokens. */
    private static long[] pairs(SequenceSplit split) {
        return IntStream.range(0, split.ranks())
                .mapToLong(rank -> IntStream.range(0, split.ranks())
                        .boxed()
                        .flatMap(other -> split.blocks(rank, other, split.localLength(16), true).stream())
                        .mapToLong(ContextParallelTest::pairs)
                        .sum())
                .toArray();
    }

    private static long pairs(SequenceSplit.Block block) {
        return block.isCausal() ? block.queries() * (block.queries() + 1) / 2 : block.queries() * block.keys();
    }

    @Test
    void sizesThatDoNotDivideHaveErrors() {
        assertThatThrownBy(() -> new SequenceSplit(4, true).localLength(12))
                .hasMessageContaining("12 tokens cannot be shared by 4 context parallel ranks: 8 equal chunks");
        LocalWorld.run(2, world -> {
            CompositeModule model = new CompositeModule();
            AttentionLayer layer = model.add("attention", new AttentionLayer(WIDTH));
            ContextParallel.apply(
                    model, new MeshAxis("cp", world.group()), new MeshAxis("cp", world.group()), Exchange.ULYSSES);
            Tensor q = random(4, 1, torch.ScalarType.Float);
            Tensor k = random(1, 2, torch.ScalarType.Float);
            assertThatThrownBy(() -> layer.attend(q, k, k, true))
                    .hasMessageContaining("1 key heads cannot be shared by 2 context parallel ranks");
        });
    }
}
