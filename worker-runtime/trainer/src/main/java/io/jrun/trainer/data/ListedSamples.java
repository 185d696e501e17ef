package io.jrun.trainer.data;

import io.jrun.train.data.Batch;
import io.jrun.train.data.Dataset;
import java.util.List;
import java.util.function.Function;

/** The samples of {@link TrainingData#of}. */
record ListedSamples<S>(List<S> trained, List<S> held, int vocabulary, Function<List<S>, Batch> batches)
        implements TrainingData<S> {
    ListedSamples {
        trained = List.copyOf(trained);
        held = List.copyOf(held);
        if (trained.isEmpty() || vocabulary < 1) {
            throw new IllegalArgumentException("a training has at least one sample and one class, but there are "
                    + trained.size() + " samples and " + vocabulary + " classes");
        }
    }

    @Override
    public Dataset<S> training() {
        return dataset(trained);
    }

    @Override
    public Dataset<S> heldOut() {
        return dataset(held);
    }

    private static <S> Dataset<S> dataset(List<S> samples) {
        return new Dataset<>() {
            @Override
            public long size() {
                return samples.size();
            }

            @Override
            public S get(long index) {
                return samples.get(Math.toIntExact(index));
            }
        };
    }

    @Override
    public Batch batch(List<S> samples, long step) {
        return batches.apply(samples);
    }

    @Override
    public String identity() {
        return trained.size() + " samples, " + held.size() + " held out";
    }
}
