package io.jrun.train.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DataLoaderTest {
    private static final Duration DEADLINE = Duration.ofSeconds(30);

    /**
     * Golden values of torch 2.13's DataLoader, DistributedSampler and RandomSampler, printed by make.py beside the
     * file.
     */
    @ParameterizedTest
    @CsvFileSource(resources = "batches.txt", delimiter = '|')
    void batchesEqualTorchs(
            int samples, int ranks, int rank, int batch, long seed, long epoch, Remainder remainder, String expected) {
        SamplerOptions order = SamplerOptions.TRAINING.withSeed(seed).withRemainder(remainder);
        DataLoaderOptions options = DataLoaderOptions.training(batch, seed).withOrder(order);
        DataLoaderState from = new DataLoaderState(seed, epoch, 0);
        try (DataLoader<Long> loader = DataLoader.of(numbers(samples), ranks, rank, options, from)) {
            List<String> batches = new ArrayList<>();
            loader.epoch().forEach(values -> batches.add(values.toString().replace(" ", "")));
            assertThat(String.join(" ", batches)).isEqualTo(expected);
            assertThat(loader.state()).isEqualTo(new DataLoaderState(seed, epoch + 1, 0));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"REPEAT", "DROP"})
    void aLoaderThatStartsAtASavedStateGivesTheRestOfTheStream(Remainder remainder) {
        DataLoaderOptions options = DataLoaderOptions.training(3, 7)
                .withOrder(SamplerOptions.TRAINING.withSeed(7).withRemainder(remainder));
        List<List<Long>> stream = new ArrayList<>();
        List<DataLoaderState> states = new ArrayList<>();
        try (DataLoader<Long> loader = loader(31, 2, 1, options, DataLoaderState.start(7))) {
            for (int i = 0; i < 20; i++) {
                states.add(DataLoaderState.parse(loader.state().toJson()));
                stream.add(loader.next());
            }
        }
        try (DataLoader<Long> other = loader(31, 2, 1, options, DataLoaderState.start(99))) {
            for (int i = 0; i < 20; i++) {
                try (DataLoader<Long> resumed = loader(31, 2, 1, options, states.get(i))) {
                    assertThat(take(resumed, 20 - i)).isEqualTo(stream.subList(i, 20));
                }
                other.restore(states.get(i));
                assertThat(take(other, 20 - i)).isEqualTo(stream.subList(i, 20));
            }
        }
    }

    @Test
    void anotherNumberOfRanksGivesTheSameSetForEachGlobalBatch() {
        List<Set<Long>> expected = globalBatches(1, DataLoaderState.start(3), 9);
        for (int ranks : List.of(2, 3, 4, 6, 12)) {
            assertThat(globalBatches(ranks, DataLoaderState.start(3), 9)).isEqualTo(expected);
        }
        DataLoaderState afterThree = new DataLoaderState(3, 0, 36);
        for (int ranks : List.of(1, 4, 6)) {
            assertThat(globalBatches(ranks, afterThree, 6)).isEqualTo(expected.subList(3, 9));
        }
    }

    @Test
    void aRunThatGoesOnWithAnotherGlobalBatchTakesNoSampleOfTheEpochTwice() {
        Set<Long> taken = new HashSet<>();
        DataLoaderState state = DataLoaderState.start(1);
        for (int ranks : List.of(4, 3, 5, 2)) {
            List<DataLoader<Long>> loaders = new ArrayList<>();
            for (int rank = 0; rank < ranks; rank++) {
                loaders.add(loader(60, ranks, rank, DataLoaderOptions.training(3, 1), state));
            }
            loaders.forEach(loader -> assertThat(loader.next())
                    .allSatisfy(sample -> assertThat(taken.add(sample)).isTrue()));
            state = loaders.getFirst().state();
            loaders.forEach(DataLoader::close);
        }
        assertThat(taken).hasSize((4 + 3 + 5 + 2) * 3);
        assertThat(state).isEqualTo(new DataLoaderState(1, 0, 42));
    }

    /** Over ends of epochs, with each rule for the remainder. */
    @Test
    void batchesThatAreSkippedAreNotReadAndTheStreamContinues() {
        for (Remainder remainder : Remainder.values()) {
            DataLoaderOptions options = DataLoaderOptions.training(2, 3)
                    .withOrder(new SamplerOptions(true, 3, remainder))
                    .withThreads(1, 1);
            List<List<Long>> all = new ArrayList<>();
            try (DataLoader<Long> loader = DataLoader.of(new Numbers(11), 2, 1, options, DataLoaderState.start(3))) {
                for (int i = 0; i < 12; i++) {
                    all.add(loader.next());
                }
            }
            for (int skipped = 0; skipped < 11; skipped++) {
                List<Long> read = Collections.synchronizedList(new ArrayList<>());
                Dataset<Long> recorded = new Numbers(11) {
                    @Override
                    public Long get(long index) throws IOException {
                        read.add(index);
                        return super.get(index);
                    }
                };
                try (DataLoader<Long> loader = DataLoader.of(recorded, 2, 1, options, DataLoaderState.start(3))) {
                    loader.skip(skipped);
                    assertThat(loader.next()).isEqualTo(all.get(skipped));
                }
                List<Long> expected = new ArrayList<>(all.get(skipped));
                expected.addAll(all.get(skipped + 1)); // one batch is read ahead
                assertThat(read).isEqualTo(expected.subList(0, read.size()));
            }
        }
    }

    @Test
    void anEvaluationHasEachSampleExactlyOnce() {
        for (int ranks = 1; ranks <= 5; ranks++) {
            for (long samples = 1; samples <= 17; samples++) {
                List<Long> all = new ArrayList<>();
                for (int rank = 0; rank < ranks; rank++) {
                    try (DataLoader<Long> loader =
                            loader(samples, ranks, rank, DataLoaderOptions.evaluation(2), DataLoaderState.start(0))) {
                        loader.epoch().forEach(all::addAll);
                    }
                }
                assertThat(all)
                        .as("%d samples on %d ranks", samples, ranks)
                        .containsExactlyInAnyOrderElementsOf(
                                LongStream.range(0, samples).boxed().toList());
            }
        }
    }

    @Test
    void batchesAreReadAheadUpToTheLimit() throws InterruptedException {
        Semaphore reads = new Semaphore(0);
        AtomicInteger count = new AtomicInteger();
        Dataset<Long> dataset = new Numbers(100) {
            @Override
            public Long get(long index) {
                count.incrementAndGet();
                reads.release();
                return index;
            }
        };
        DataLoaderOptions options = DataLoaderOptions.training(5, 1).withThreads(2, 3);
        try (DataLoader<Long> loader = DataLoader.of(dataset, 1, 0, options, DataLoaderState.start(1))) {
            assertThat(loader.next()).hasSize(5);
            assertThat(reads.tryAcquire(4 * 5, DEADLINE.toSeconds(), TimeUnit.SECONDS))
                    .as("three batches are read before the program asks for them")
                    .isTrue();
        }
        assertThat(count).hasValue(4 * 5);
    }

    @Test
    void aSlowReaderIsAnErrorAfterTheDeadlineAndTheBatchIsNotLost() {
        CountDownLatch storage = new CountDownLatch(1);
        Dataset<Long> dataset = new Numbers(10) {
            @Override
            public Long get(long index) throws IOException {
                try {
                    boolean _ = storage.await(DEADLINE.toSeconds(), TimeUnit.SECONDS);
                    return index;
                } catch (InterruptedException e) {
                    throw new IOException("interrupted", e);
                }
            }
        };
        DataLoaderOptions options = inOrder(2).withDeadline(Duration.ofMillis(50));
        DataLoaderState begin = new DataLoaderState(0, 0, 6);
        try (DataLoader<Long> loader = DataLoader.of(dataset, 1, 0, options, begin)) {
            for (int i = 0; i < 2; i++) {
                assertThatThrownBy(loader::next)
                        .isInstanceOf(DataException.class)
                        .hasMessage(
                                "rank 0 has waited 0.05 s for numbers.txt, record 6. The storage is slow or does not"
                                        + " answer. Check the storage, or raise the deadline of the loader.");
                assertThat(loader.state()).isEqualTo(begin);
            }
            storage.countDown();
            assertThat(patiently(loader)).containsExactly(6L, 7L);
            assertThat(patiently(loader)).containsExactly(8L, 9L);
        }
    }

    private static <S> List<S> patiently(DataLoader<S> loader) {
        long end = System.nanoTime() + DEADLINE.toNanos();
        while (true) {
            try {
                return loader.next();
            } catch (DataException e) {
                assertThat(System.nanoTime()).as("%s", e).isLessThan(end);
            }
        }
    }

    @Test
    void aReaderThatFailsIsAnErrorWithFileAndRecord() {
        Dataset<Long> dataset = new Numbers(10) {
            @Override
            public Long get(long index) throws IOException {
                if (index == 5) {
                    throw new IOException("Input/output error");
                }
                return index;
            }
        };
        try (DataLoader<Long> loader = DataLoader.of(dataset, 2, 1, inOrder(2), DataLoaderState.start(0))) {
            assertThat(loader.next()).containsExactly(1L, 3L);
            for (int i = 0; i < 2; i++) {
                assertThatThrownBy(loader::next)
                        .isInstanceOf(DataException.class)
                        .hasMessage(
                                "rank 1 cannot read numbers.txt, record 5: java.io.IOException: Input/output error");
            }
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "5  | 2 | 0 | the dataset has 5 samples, too few for 2 ranks with batches of 3. Give more data, a smaller"
                        + " batch, or fewer ranks.",
                "0  | 1 | 0 | the dataset has 0 samples, too few for 1 ranks with batches of 3. Give more data, a smaller"
                        + " batch, or fewer ranks.",
                "20 | 2 | 24 | the saved state has consumed 24 samples of its epoch, but the dataset has 20. Give the"
                        + " dataset with which the state was saved."
            })
    void indivisibleNumbersAreRefused(long samples, int ranks, long consumed, String message) {
        assertThatThrownBy(() -> loader(
                        samples, ranks, 0, DataLoaderOptions.training(3, 1), new DataLoaderState(1, 0, consumed)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void theStateIsOneJsonObject() {
        DataLoaderState state = new DataLoaderState(-1, 2, 3_000_000_000L);
        assertThat(state.toJson()).isEqualTo("{\"seed\":-1,\"epoch\":2,\"consumed\":3000000000}");
        assertThat(DataLoaderState.parse(state.toJson())).isEqualTo(state);
        assertThatThrownBy(() -> DataLoaderState.parse("{\"seed\":1,\"epoch\":2}"))
                .hasMessage("data loader state lacks 'consumed'");
        assertThatThrownBy(() -> new DataLoaderState(0, -1, 0)).isInstanceOf(IllegalArgumentException.class);
    }

    private static List<Set<Long>> globalBatches(int ranks, DataLoaderState from, int count) {
        List<List<List<Long>>> shares = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            try (DataLoader<Long> loader = loader(50, ranks, rank, DataLoaderOptions.training(12 / ranks, 3), from)) {
                shares.add(take(loader, count));
            }
        }
        List<Set<Long>> batches = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int step = i;
            batches.add(
                    shares.stream().flatMap(share -> share.get(step).stream()).collect(Collectors.toSet()));
            assertThat(batches.getLast()).hasSize(12);
        }
        return batches;
    }

    private static <S> List<List<S>> take(DataLoader<S> loader, int count) {
        List<List<S>> batches = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            batches.add(loader.next());
        }
        return batches;
    }

    private static DataLoader<Long> loader(
            long samples, int ranks, int rank, DataLoaderOptions options, DataLoaderState from) {
        return DataLoader.of(numbers(samples), ranks, rank, options, from);
    }

    private static DataLoaderOptions inOrder(int batch) {
        return DataLoaderOptions.training(batch, 0)
                .withOrder(SamplerOptions.TRAINING.withShuffle(false).withRemainder(Remainder.DROP));
    }

    private static Dataset<Long> numbers(long count) {
        return new Numbers(count);
    }

    /** The numbers from 0. */
    private static class Numbers implements Dataset<Long> {
        private final long count;

        Numbers(long count) {
            this.count = count;
        }

        @Override
        public long size() {
            return count;
        }

        @Override
        public Long get(long index) throws IOException {
            return index;
        }

        @Override
        public String location(long index) {
            return "numbers.txt, record " + index;
        }
    }
}
