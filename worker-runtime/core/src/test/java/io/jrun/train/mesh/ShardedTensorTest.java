package io.jrun.train.mesh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.optim.Gradients;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.assertj.core.data.Offset;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ShardedTensorTest {
    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static Tensor whole() {
        return torch.arange(new Scalar(5 * 7 * 2)).to(torch.ScalarType.Float).view(5, 7, 2);
    }

    /** Sizes of torch.chunk: 5 over 4 is 2, 2, 1, 0. */
    @ParameterizedTest
    @CsvSource({"5,4,'2,2,1,0'", "7,3,'3,3,1'", "10,8,'2,2,2,2,2,0,0,0'", "0,2,'0,0'", "4,1,4"})
    void rangesAreThoseOfTorchChunk(long size, int ranks, String lengths) {
        List<String> actual = new ArrayList<>();
        long next = 0;
        for (int rank = 0; rank < ranks; rank++) {
            ShardRange range = ShardRange.of(size, ranks, rank);
            assertThat(range.offset()).isEqualTo(next);
            next += range.length();
            actual.add(Long.toString(range.length()));
        }
        assertThat(String.join(",", actual)).isEqualTo(lengths);
        assertThat(next).isEqualTo(size);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3, 4})
    void theWholeComesBackFromItsParts(int ranks) {
        LocalWorld.run(ranks, world -> {
            MeshAxis axis = new MeshAxis("dp", world.group());
            for (int dim = 0; dim < 3; dim++) {
                ShardedTensor part = ShardedTensor.distribute("w", whole(), new Shard(dim), axis);
                TensorVector chunks = whole().chunk(ranks, dim);
                if (world.rank() < chunks.size()) {
                    assertThat(part.local().equal(chunks.get(world.rank()))).isTrue();
                } else {
                    assertThat(part.local().numel()).isZero();
                }
                ShardRange range = ShardRange.of(whole().size(dim), ranks, world.rank());
                assertThat(part.boxes().getFirst().offsets().get(dim))
                        .isEqualTo(range.length() == 0 ? 0 : range.offset());
                assertThat(part.whole().equal(whole())).isTrue();
            }
            ShardedTensor replica = ShardedTensor.distribute("w", whole(), new Replicate(), axis);
            assertThat(replica.whole().equal(whole())).isTrue();
            ShardedTensor partial = ShardedTensor.distribute("w", whole(), new Partial(ReduceOp.SUM), axis);
            assertThat(partial.whole().equal(whole().mul(new Scalar(ranks)))).isTrue();
        });
    }

    @Test
    void firstValuesDoNotDependOnTheNumberOfRanks() {
        List<Tensor> wholes = new ArrayList<>();
        for (int ranks : new int[] {1, 2, 4}) {
            AtomicReferenceArray<Tensor> results = new AtomicReferenceArray<>(ranks);
            LocalWorld.run(ranks, world -> {
                MeshAxis axis = new MeshAxis("dp", world.group());
                ShardedTensor tensor = ShardedTensor.distribute("layer.weight", whole(), new Shard(1), axis);
                ShardedInitialization.normal(tensor, 7, 1, 0.5);
                results.set(world.rank(), TensorMemory.own(tensor.whole()));
            });
            wholes.add(results.get(0));
        }
        assertThat(wholes.get(1).equal(wholes.get(0))).isTrue();
        assertThat(wholes.get(2).equal(wholes.get(0))).isTrue();
        assertThat(wholes.getFirst().mean().item_double()).isCloseTo(1, Offset.offset(0.2));
        LocalWorld.run(1, world -> {
            MeshAxis axis = new MeshAxis("dp", world.group());
            ShardedTensor other = ShardedTensor.distribute("other.weight", whole(), new Shard(1), axis);
            ShardedInitialization.normal(other, 7, 1, 0.5);
            assertThat(other.local().equal(wholes.getFirst())).isFalse();
        });
    }

    /** The first values of a tensor of another type are the values of float32, also in a part of the tensor. */
    @ParameterizedTest
    @EnumSource(names = {"Double", "BFloat16", "Half"})
    void firstValuesOfOtherTypesAreThoseOfFloat32(torch.ScalarType type) {
        LocalWorld.run(2, world -> {
            MeshAxis axis = new MeshAxis("dp", world.group());
            Tensor expected = whole();
            ShardedInitialization.normal(ShardedTensor.of("layer.weight", expected), 7, 1, 0.5);
            Tensor whole = whole().to(type);
            ShardedInitialization.normal(ShardedTensor.of("layer.weight", whole), 7, 1, 0.5);
            assertThat(whole.equal(expected.to(type))).isTrue();
            ShardedTensor part = ShardedTensor.distribute("layer.weight", whole().to(type), new Shard(1), axis);
            ShardedInitialization.normal(part, 7, 1, 0.5);
            assertThat(part.whole().equal(whole)).isTrue();
        });
    }

    @Test
    void theNormCountsPartsOfAllRanksAndReplicasOnce() {
        double expected =
                torch.linalg_vector_norm(whole().to(torch.ScalarType.Double)).item_double() * Math.sqrt(2);
        LocalWorld.run(3, world -> {
            MeshAxis axis = new MeshAxis("dp", world.group());
            ShardedTensor divided =
                    ShardedTensor.distribute("a", whole().to(torch.ScalarType.Double), new Shard(0), axis);
            Tensor part = divided.local();
            part.mutable_grad().put(part.clone());
            Tensor replica = whole().to(torch.ScalarType.Double);
            replica.mutable_grad().put(replica.clone());
            List<ShardedTensor> parameters = List.of(divided, ShardedTensor.of("b", replica));
            assertThat(Gradients.norm(parameters).value()).isCloseTo(expected, Offset.offset(1e-9));
        });
    }

    @Test
    void impossiblePlacementsAreRefused() {
        Tensor local = whole();
        LocalWorld.run(1, world -> {
            AxisPlacement third = new AxisPlacement(new MeshAxis("dp", world.group()), new Shard(3));
            assertThatThrownBy(() -> new ShardedTensor("w", List.of(5L, 7L, 2L), List.of(third), local))
                    .hasMessageContaining("'w' of shape [5, 7, 2] cannot be sharded along dimension 3");
        });
        assertThatThrownBy(() -> ShardRange.of(5, 2, 2)).hasMessageContaining("no part 2 of 5 elements in 2 parts");
    }
}
