package io.jrun.train.layer;

import io.jrun.comm.Device;
import org.bytedeco.pytorch.Tensor;

/**
 * A block of a transformer with norms before its branches, as in GPT-2: {@code norm1}, {@code attention}, {@code norm2}
 * and {@code feedForward}. torch's {@code TransformerEncoderLayer} with {@code norm_first=True}, a causal mask, GELU and
 * no dropout. The matrices are zero until they are set.
 */
public final class TransformerBlock extends CompositeModule {
    private static final double EPSILON = 1e-5;

    private final Norm norm1;
    private final SelfAttention attention;
    private final Norm norm2;
    private final FeedForward feedForward;

    /**
     * A block on a device.
     *
     * @param width size of the last dimension of input and output
     * @param heads divides {@code width}
     * @param inner size between the layers of the feed-forward part, often 4 times {@code width}
     */
    public TransformerBlock(long width, long heads, long inner, Device device) {
        norm1 = add("norm1", Norm.layer(width, EPSILON, device));
        attention = add("attention", new SelfAttention(width, heads, device));
        norm2 = add("norm2", Norm.layer(width, EPSILON, device));
        feedForward = add("feedForward", new FeedForward(width, inner, device));
    }

    /** Each position [B, S, D] sees itself and the positions before. */
    public Tensor forward(Tensor x_BSD) {
        Tensor y_BSD = x_BSD.add(attention.forward(norm1.forward(x_BSD)));
        return y_BSD.add(feedForward.forward(norm2.forward(y_BSD)));
    }
}
