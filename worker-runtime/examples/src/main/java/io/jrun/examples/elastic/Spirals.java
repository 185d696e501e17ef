package io.jrun.examples.elastic;

import org.bytedeco.pytorch.Tensor;

/** Points on two interleaved spirals. Sample i lies on spiral i mod 2. */
final class Spirals {
    static final int SAMPLES = 480;
    private static final double TURNS = 1.5;

    private Spirals() {}

    /** Float [samples, 2]. */
    static Tensor points(long[] samples) {
        float[] points = new float[2 * samples.length];
        for (int i = 0; i < samples.length; i++) {
            double distance = (samples[i] + 1.0) / SAMPLES;
            double angle = TURNS * 2 * Math.PI * distance + Math.PI * (samples[i] % 2);
            points[2 * i] = (float) (distance * Math.cos(angle));
            points[2 * i + 1] = (float) (distance * Math.sin(angle));
        }
        return Tensor.create(points, samples.length, 2);
    }

    /** Long [samples]. */
    static Tensor labels(long[] samples) {
        long[] labels = new long[samples.length];
        for (int i = 0; i < samples.length; i++) {
            labels[i] = samples[i] % 2;
        }
        return Tensor.create(labels, samples.length);
    }
}
