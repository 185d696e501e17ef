package io.jrun.trainer.data;

import io.jrun.train.data.Batch;
import io.jrun.train.data.Dataset;
import io.jrun.train.token.Tokenizer;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * The samples of a training: windows of tokens, conversations, images, rows of a table. All ranks have equal data.
 * Threads of the loader read the samples; the training thread calls the other methods. {@link #of} is for samples in
 * memory; samples that are read from files need a class of their own.
 *
 * @param <S> a sample in host memory
 */
public interface TrainingData<S> extends AutoCloseable {
    /**
     * Samples in host memory.
     *
     * @param training the samples to train on
     * @param heldOut the samples to evaluate on; empty for no evaluation
     * @param vocabulary the size of the model's output, such as the number of classes
     * @param batch see {@link #batch}
     * @throws IllegalArgumentException if there is no sample to train on, or if {@code vocabulary} is below 1
     */
    static <S> TrainingData<S> of(List<S> training, List<S> heldOut, int vocabulary, Function<List<S>, Batch> batch) {
        return new ListedSamples<>(training, heldOut, vocabulary, batch);
    }

    /** The samples to train on. */
    Dataset<S> training();

    /** The samples to evaluate on. A dataset without samples turns evaluation off. */
    Dataset<S> heldOut();

    /**
     * The batch of one forward pass, in host memory; made in the PointerScope of the caller.
     *
     * @param samples B samples; the first dimension of both tensors is B
     * @param step from 1; 0 for samples that are held out
     */
    Batch batch(List<S> samples, long step);

    /**
     * The number of targets of a sample that count in the mean loss, at least 1. If samples have unequal numbers, the
     * loss of a step is the mean over all targets of the step that count, on all ranks.
     */
    default long targets(S sample) {
        return 1;
    }

    /** The number of targets of several samples that count. */
    default double targets(List<S> samples) {
        return samples.stream().mapToLong(this::targets).sum();
    }

    /** Whether {@link #targets} differs between samples. */
    default boolean hasUnequalSamples() {
        return false;
    }

    /** The size of the model's output: tokens of the vocabulary, or classes. The model finds it in its setup. */
    int vocabulary();

    /** Tokens of a sample that the model sees at once; 1 for samples that are no text. */
    default int length() {
        return 1;
    }

    /** The unit of a sample, for reports: {@code token}, {@code byte} or {@code sample}. */
    default String unit() {
        return SAMPLE;
    }

    /** The data in words, equal for equal data. A training that goes on from a checkpoint of other data says so. */
    String identity();

    /** The data to train on in words, such as {@code 2.1 MB of text}. */
    default String summary() {
        return training().size() + " samples";
    }

    /** The tokenizer of text; empty for other samples, and for tokens whose tokenizer was not given. */
    default Optional<Tokenizer> tokenizer() {
        return Optional.empty();
    }

    /** A simple model to compare the held-out loss with, such as {@code bigram baseline 2.5142}; empty for none. */
    default Optional<String> baseline() {
        return Optional.empty();
    }

    /** Frees what {@code ModelFactory.open} has opened. */
    @Override
    default void close() {}

    /** The unit of samples that are no text. */
    String SAMPLE = "sample";
}
