package io.jrun.train.data;

/** The treatment of samples beyond a multiple of the number of ranks. */
public enum Remainder {
    /**
     * Every rank gets ceil(samples/ranks) samples: the first samples of the order are repeated at its end. torch's
     * default.
     */
    REPEAT,
    /** Every rank gets floor(samples/ranks) samples: the last samples are omitted. torch's {@code drop_last=True}. */
    DROP,
    /**
     * Each sample is used exactly once; some ranks get one sample more than others. For evaluation: a repeated sample
     * would count twice. Not for training: a rank with one more step would wait for the other ranks.
     */
    EXACT
}
