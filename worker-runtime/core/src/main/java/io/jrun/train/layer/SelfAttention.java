package io.jrun.train.layer;

import io.jrun.comm.Device;
import org.bytedeco.pytorch.Tensor;

/**
 * Causal attention of a sequence to itself, with its projections (Vaswani et al. 2017, 3.2.2): {@code qkv} makes the
 * queries, keys and values of all heads, {@code out} mixes the heads. The parameters are zero until they are set.
 */
public final class SelfAttention extends CompositeModule {
    private final AttentionLayer attention;
    private final LinearLayer qkv;
    private final LinearLayer out;

    /**
     * Attention on a device.
     *
     * @param width size of the last dimension
     * @param heads divides {@code width}
     */
    public SelfAttention(long width, long heads, Device device) {
        if (heads < 1 || width % heads != 0) {
            throw new IllegalArgumentException(
                    "the width " + width + " cannot be divided into " + heads + " heads: choose a multiple");
        }
        attention = add("attention", new AttentionLayer(width / heads));
        qkv = add("qkv", new LinearLayer(width, 3 * width, device));
        out = add("out", new LinearLayer(width, width, device));
    }

    /** Each position [B, S, D] sees itself and the positions before. */
    public Tensor forward(Tensor x_BSD) {
        return out.forward(attention.attendJoint(qkv.forward(x_BSD), true));
    }
}
