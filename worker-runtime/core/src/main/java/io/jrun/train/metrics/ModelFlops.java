package io.jrun.train.metrics;

/**
 * Floating point operations that a model needs, for model FLOPs utilisation (MFU): achieved operations over the peak of
 * the device. Recomputed activations do not count.
 *
 * @param perToken operations of the forward and the backward pass for one token
 * @param formula the name of the formula of {@code perToken}
 */
public record ModelFlops(double perToken, String formula) {
    public ModelFlops {
        if (!(perToken > 0)) {
            throw new IllegalArgumentException("perToken must be more than 0, not " + perToken);
        }
    }

    /**
     * A transformer: {@code 6 P + 12 L W S} for each token. Source: Chowdhery and others, PaLM, arXiv:2204.02311,
     * appendix B, with W as the number of heads times the width of a head. The causal mask does not lower the number.
     *
     * @param parameters P, without embeddings that the model uses for look-ups only
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
     * @param tokensPerSecond tokens of all ranks in a second
     * @param peakFlopsPerSecond the sum of the peaks of all ranks' devices
     */
    public double utilisation(double tokensPerSecond, double peakFlopsPerSecond) {
        return tokensPerSecond * perToken / peakFlopsPerSecond;
    }
}
