package io.jrun.train.layer;

import io.jrun.comm.Device;
import org.bytedeco.pytorch.Tensor;

/**
 * The end of a language model with norms before its branches: a last layer norm, {@code norm}, and a linear layer to one
 * logit for each token of the vocabulary, {@code logits}, as in GPT-2. The parameters of {@code logits} are zero until
 * they are set.
 */
public final class TextHead extends CompositeModule {
    private static final double EPSILON = 1e-5;

    private final Norm norm;
    private final LinearLayer logits;

    /**
     * A head on a device.
     *
     * @param width size of the last dimension of the input
     * @param vocabulary the number of tokens
     */
    public TextHead(long width, long vocabulary, Device device) {
        norm = add("norm", Norm.layer(width, EPSILON, device));
        logits = add("logits", new LinearLayer(width, vocabulary, device));
    }

    /** The logits [B, S, V] of vectors [B, S, D]. */
    public Tensor forward(Tensor x_BSD) {
        return logits.forward(norm.forward(x_BSD));
    }
}
