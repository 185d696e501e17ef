package io.jrun.train.data;

import java.io.IOException;

/**
 * Samples by number. Every rank has the same dataset. Several threads call the methods at the same time.
 *
 * @param <S> a sample
 */
public interface Dataset<S> {
    /** The number of samples. It must not change. */
    long size();

    /**
     * Reads a sample.
     *
     * @param index from 0 to {@code size() - 1}
     * @throws IOException if the sample cannot be read; the loader adds {@link #location} to the message
     */
    S get(long index) throws IOException;

    /** The file and the record of a sample, for errors. This method must not read the file. */
    default String location(long index) {
        return "sample " + index;
    }
}
