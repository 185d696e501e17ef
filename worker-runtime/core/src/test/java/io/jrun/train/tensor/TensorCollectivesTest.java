package io.jrun.train.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.ThrowingConsumer;
import io.jrun.comm.Work;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.LiveMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TensorCollectivesTest {
    private static final int RANKS = 3;
    private static final int SUM_OF_RANKS = 3;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** The program of one rank, with its number and its collectives. */
    private interface Body {
        void run(int rank, TensorCollectives collectives, Values values) throws Exception;
    }

    /** Makes tensors of one type. */
    private record Values(DataType type) {
        Tensor of(long... elements) {
            Tensor exact = Tensor.create(elements, elements.length);
            return exact.to(TensorTypes.scalarType(type));
        }

        Tensor zeros(long count) {
            return of(new long[Math.toIntExact(count)]);
        }

        /** {@code count} times one value. */
        Tensor all(long value, int count) {
            return of(LongStream.generate(() -> value).limit(count).toArray());
        }
    }

    private static void assertValues(Tensor tensor, long... expected) {
        Tensor whole = tensor.to(torch.ScalarType.Long).reshape(-1);
        assertThat(LongStream.range(0, whole.numel())
                        .map(i -> whole.select(0, i).item_long()))
                .containsExactly(LongStream.of(expected).boxed().toArray(Long[]::new));
    }

    private static void run(DataType type, Body body) {
        LocalWorld.run(RANKS, world -> {
            try (PointerScope _ = new PointerScope()) {
                body.run(world.rank(), new TensorCollectives(world.group()), new Values(type));
            }
        });
    }

    /** The blocking method, and the asynchronous one awaited. */
    private static void both(Runnable blocking, Supplier<Work> asynchronous, Runnable reset, Runnable check) {
        blocking.run();
        check.run();
        reset.run();
        asynchronous.get().await();
        check.run();
    }

    @ParameterizedTest
    @EnumSource(
            value = DataType.class,
            names = {"BOOL"},
            mode = EnumSource.Mode.EXCLUDE)
    void reductionsOfEveryType(DataType type) {
        run(type, (rank, collectives, values) -> {
            Tensor tensor = values.of(rank, 2L * rank).view(2, 1);
            both(
                    () -> collectives.allReduce(tensor, ReduceOp.SUM),
                    () -> collectives.allReduceAsync(tensor, ReduceOp.SUM),
                    () -> tensor.copy_(values.of(rank, 2L * rank).view(2, 1)),
                    () -> assertValues(tensor, SUM_OF_RANKS, 2 * SUM_OF_RANKS));
            Tensor atRoot = values.all(rank, 2);
            both(
                    () -> collectives.reduce(atRoot, ReduceOp.MAX, 1),
                    () -> collectives.reduceAsync(atRoot, ReduceOp.MAX, 1),
                    () -> atRoot.fill_(new Scalar(rank)),
                    () -> assertValues(atRoot, rank == 1 ? 2 : rank, rank == 1 ? 2 : rank));
            Tensor input = values.of(rank, rank + 10L, rank + 20L);
            Tensor block = values.zeros(1);
            both(
                    () -> collectives.reduceScatter(input, block, ReduceOp.SUM),
                    () -> collectives.reduceScatterAsync(input, block, ReduceOp.SUM),
                    block::zero_,
                    () -> assertValues(block, SUM_OF_RANKS + 30L * rank));
            Tensor uneven = values.zeros(rank);
            both(
                    () -> collectives.reduceScatterV(input, uneven, ReduceOp.SUM, 0, 1, 2),
                    () -> collectives.reduceScatterVAsync(input, uneven, ReduceOp.SUM, 0, 1, 2),
                    uneven::zero_,
                    () -> assertValues(
                            uneven, rank == 0 ? new long[0] : rank == 1 ? new long[] {3} : new long[] {33, 63}));
        });
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void copiesOfEveryType(DataType type) {
        run(type, (rank, collectives, values) -> {
            int other = rank == 1 ? 1 : 0;
            Tensor tensor = values.all(other, 3);
            both(
                    () -> collectives.broadcast(tensor, 1),
                    () -> collectives.broadcastAsync(tensor, 1),
                    () -> tensor.fill_(new Scalar(other)),
                    () -> assertValues(tensor, 1, 1, 1));
            Tensor own = values.of(other);
            Tensor all = values.zeros(RANKS);
            both(
                    () -> collectives.allGather(own, all),
                    () -> collectives.allGatherAsync(own, all),
                    all::zero_,
                    () -> assertValues(all, 0, 1, 0));
            Tensor uneven = values.all(1, rank);
            both(
                    () -> collectives.allGatherV(uneven, all, 0, 1, 2),
                    () -> collectives.allGatherVAsync(uneven, all, 0, 1, 2),
                    all::zero_,
                    () -> assertValues(all, 1, 1, 1));
            Tensor atRoot = rank == 2 ? values.zeros(RANKS) : null;
            both(
                    () -> collectives.gather(own, atRoot, 2),
                    () -> collectives.gatherAsync(own, atRoot, 2),
                    () -> {},
                    () -> {
                        if (atRoot != null) {
                            assertValues(atRoot, 0, 1, 0);
                        }
                    });
            both(
                    () -> collectives.gatherV(uneven, atRoot, 2, 0, 1, 2),
                    () -> collectives.gatherVAsync(uneven, atRoot, 2, 0, 1, 2),
                    () -> {},
                    () -> {
                        if (atRoot != null) {
                            assertValues(atRoot, 1, 1, 1);
                        }
                    });
        });
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void exchangesOfEveryType(DataType type) {
        run(type, (rank, collectives, values) -> {
            Tensor source = rank == 0 ? values.of(0, 1, 0) : null;
            Tensor block = values.zeros(1);
            both(
                    () -> collectives.scatter(source, block, 0),
                    () -> collectives.scatterAsync(source, block, 0),
                    block::zero_,
                    () -> assertValues(block, rank == 1 ? 1 : 0));
            Tensor ones = rank == 0 ? values.all(1, 3) : null;
            Tensor uneven = values.zeros(rank);
            both(
                    () -> collectives.scatterV(ones, uneven, 0, 0, 1, 2),
                    () -> collectives.scatterVAsync(ones, uneven, 0, 0, 1, 2),
                    uneven::zero_,
                    () -> assertThat(uneven.to(torch.ScalarType.Long).sum().item_long())
                            .isEqualTo(rank));
            Tensor input = values.of(rank == 0 ? 1 : 0, 0, rank == 2 ? 1 : 0);
            Tensor output = values.zeros(3);
            long[] expected = {rank == 0 ? 1 : 0, 0, rank == 2 ? 1 : 0};
            both(
                    () -> collectives.allToAll(input, output),
                    () -> collectives.allToAllAsync(input, output),
                    output::zero_,
                    () -> assertValues(output, expected));
            both(
                    () -> collectives.allToAllV(input, new long[] {1, 1, 1}, output, new long[] {1, 1, 1}),
                    () -> collectives.allToAllVAsync(input, new long[] {1, 1, 1}, output, new long[] {1, 1, 1}),
                    output::zero_,
                    () -> assertValues(output, expected));
            Tensor message = values.all(1, 2);
            if (rank == 0) {
                collectives.send(message, 1);
                collectives.sendAsync(message, 1).await();
            } else if (rank == 1) {
                Tensor received = values.zeros(2);
                both(
                        () -> collectives.recv(received, 0),
                        () -> collectives.recvAsync(received, 0),
                        received::zero_,
                        () -> assertValues(received, 1, 1));
            }
        });
    }

    @Test
    void aBroadcastOfAnyLayoutAndTypeIsBitForBit() {
        run(DataType.F32, (rank, collectives, values) -> {
            Tensor transposed =
                    torch.arange(new Scalar(6)).mul(new Scalar(rank)).view(2, 3).t();
            Tensor shorts = torch.full(new long[] {3}, new Scalar(rank), new TensorOptions(torch.ScalarType.Short));
            Tensor complex =
                    torch.full(new long[] {2}, new Scalar(rank), new TensorOptions(torch.ScalarType.ComplexFloat));
            Tensor none =
                    torch.empty(new long[] {0}, new TensorOptions(torch.ScalarType.Float), new MemoryFormatOptional());
            collectives.broadcastAll(List.of(transposed, shorts, complex, none), 2);
            assertThat(transposed.is_contiguous()).isFalse();
            assertValues(transposed, 0, 6, 2, 8, 4, 10);
            assertValues(shorts, 2, 2, 2);
            assertThat(torch.real(complex).sum(new ScalarTypeOptional()).item_float())
                    .isEqualTo(4);
        });
    }

    @Test
    void aTensorThatDoesNotFitIsAnErrorThatSaysWhatToDo() {
        refused(
                "allReduce of a tensor Float[3, 2]: the tensor is not contiguous. Pass tensor.contiguous()",
                collectives -> collectives.allReduce(torch.ones(2, 3).t(), ReduceOp.SUM));
        refused(
                "broadcast of a tensor ComplexFloat[2]: process groups do not know this element type",
                collectives -> collectives.broadcastAsync(
                        torch.zeros(new long[] {2}, new TensorOptions(torch.ScalarType.ComplexFloat)), 0));
        refused(
                "input and output have different types, f32 and f64",
                collectives -> collectives.allGather(
                        torch.ones(1), torch.ones(new long[] {2}, new TensorOptions(torch.ScalarType.Double))));
        refused(
                "has 3 elements (expected 2 blocks of 1)",
                collectives -> collectives.allGather(torch.ones(1), torch.ones(3)));
    }

    /** Every rank is told, and the group stays usable. */
    private static void refused(String message, ThrowingConsumer<TensorCollectives> call) {
        LocalWorld.run(2, world -> {
            TensorCollectives collectives = new TensorCollectives(world.group());
            assertThatThrownBy(() -> call.accept(collectives))
                    .isInstanceOf(CommException.class)
                    .hasMessageContaining(message);
            Tensor one = torch.ones(1);
            collectives.allReduce(one, ReduceOp.SUM);
            assertValues(one, 2);
        });
    }

    private static final int LARGE = 8 << 20; // floats

    /** The JVM's compilers take megabytes with malloc and free them again. */
    private static final long NOISE_BYTES = (long) LARGE * Float.BYTES / 2;

    @Test
    void aTensorLivesUntilItsWorkIsDoneAndNoLonger() {
        LiveMemory.freeUnreachable();
        LocalWorld.run(2, world -> {
            TensorCollectives collectives = new TensorCollectives(world.group());
            long before = LiveMemory.bytes();
            List<Work> works = new ArrayList<>();
            if (world.rank() == 1) {
                try (PointerScope _ = new PointerScope()) {
                    works.add(collectives.recvAsync(torch.zeros(LARGE), 0));
                    works.add(collectives.recvAsync(torch.zeros(LARGE), 0));
                }
                assertThat(LiveMemory.bytes() - before).isGreaterThan(2L * LARGE * Float.BYTES - NOISE_BYTES);
            }
            world.group().barrier();
            if (world.rank() == 0) {
                try (Tensor ones = torch.ones(LARGE)) {
                    collectives.send(ones, 1);
                    collectives.send(ones, 1);
                }
            }
            works.forEach(Work::await);
            world.group().barrier();
            // A thread of the group frees the tensors after it has reported the end of the work. The loop makes little
            // garbage, so the collector does not free them in its place.
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
            while (LiveMemory.bytes() - before > NOISE_BYTES && System.nanoTime() < end) {
                TimeUnit.MILLISECONDS.sleep(10);
            }
            assertThat(LiveMemory.bytes() - before).isLessThan(NOISE_BYTES);
        });
    }
}
