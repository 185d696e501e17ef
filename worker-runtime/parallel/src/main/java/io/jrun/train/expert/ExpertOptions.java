package io.jrun.train.expert;

/**
 * The settings of a layer of experts.
 *
 * @param experts the number of experts
 * @param topK experts of a token
 * @param capacityFactor limits the tokens of an expert to this multiple of an equal share; 0 for no limit
 * @param balanceWeight the factor of the load-balancing loss; Switch Transformer has 0.01
 * @param logitWeight the factor of the router's z-loss, which keeps logits small (Zoph et al. 2022, ST-MoE); 0 for none
 */
public record ExpertOptions(int experts, int topK, double capacityFactor, double balanceWeight, double logitWeight) {
    public ExpertOptions {
        if (experts < 1) {
            throw new IllegalArgumentException("a layer must have at least 1 expert, not " + experts);
        }
        if (topK < 1 || topK > experts) {
            throw new IllegalArgumentException(
                    "a token can have 1 to " + experts + " of " + experts + " experts, not " + topK);
        }
        if (!(capacityFactor >= 0) || !(balanceWeight >= 0) || !(logitWeight >= 0)) {
            throw new IllegalArgumentException("the capacity factor and the weights of losses must be 0 or more, not "
                    + capacityFactor + ", " + balanceWeight + " and " + logitWeight);
        }
    }

    /**
     * The tokens that an expert accepts from a batch of one rank: Switch Transformer, equation 3, for {@link #topK}
     * choices of each token.
     */
    public long capacity(long tokens) {
        return capacityFactor == 0 ? Long.MAX_VALUE : (long) Math.ceil(capacityFactor * topK * tokens / experts);
    }
}
