package io.jrun.train.metrics;

/**
 * Floating point operations that a model needs, for model FLOPs utilisation (MFU): achieved operations over the peak of the
 * device. Recomputed activations do not count.
 *
 * @param perToken forward and backward pass
 * @param formula which formula gave {@code perToken}
 */
public record ModelFlops(double perToken, String formula) {
    public ModelFlops {
        if (!(perToken > 0)) {
            throw new IllegalArgumentException("perToken must be more than 0, not " + perToken);
        }
    }

    /**
     * A transformer: {@code 6 P + 12 L W S} for each token. Source: Chowdhery and others, PaLM, arXiv:2204.02311, appendix B, where
     * heads times the width of a head is W. The causal mask does not lower the number.
     *
     * @param parameters P, without embeddings that are only looked up
     * @param layers L
     * @param width W of the hidden state
     * @param sequence S tokens
     */
    public static ModelFlops palm(long parameters, int layers, int width, int sequence) {
        return new ModelFlops(6.0 * parameters + 12.0 * layers * width * sequence, "PaLM appendix B");
    }

    /**
     * The part of a device's peak that a training achieves.
     *
     * @param tokensPerSecond of all ranks
     * @param peakFlopsPerSecond of all ranks' devices together
     */
    public double utilisation(double tokensPerSecond, double peakFlopsPerSecond) {
        return tokensPerSecond * perToken / peakFlopsPerSecond;
    }
}
