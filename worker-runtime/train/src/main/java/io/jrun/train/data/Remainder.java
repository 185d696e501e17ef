package io.jrun.train.data;

/** The treatment of samples beyond a multiple of the number of ranks. */
public enum Remainder {
    /** Every rank gets ceil(samples/ranks): the first samples of the order come again at its end. torch's default. */
    REPEAT,
    /** Every rank gets the same number and up to ranks-1 samples are left out. torch's {@code drop_last=True}. */
    DROP,
    /**
     * Every sample exactly once; some ranks get one more than others. For evaluation: a repeated sample would count
     * twice. Not for training, where a rank with one more step would wait for the others.
     */
    EXACT
}
