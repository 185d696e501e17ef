package io.jrun.examples.gpt;

import io.jrun.train.data.DistributedSampler;

/** This rank's samples, epoch after epoch, from any position on. So a resumed run sees the same data as one that never stopped. */
final class SampleStream {
    private final DistributedSampler sampler;
    private long position;
    private long epoch = -1;
    private long[] order = new long[0];

    /** @param position how many samples this rank has taken already */
    SampleStream(DistributedSampler sampler, long position) {
        this.sampler = sampler;
        this.position = position;
    }

    long[] next(int count) {
        long[] samples = new long[count];
        for (int i = 0; i < count; i++) {
            long perEpoch = sampler.size();
            if (position / perEpoch != epoch) {
                epoch = position / perEpoch;
                sampler.setEpoch(epoch);
                order = sampler.indices().toArray();
            }
            samples[i] = order[(int) (position % perEpoch)];
            position++;
        }
        return samples;
    }
}
