package io.jrun.train.layer;

import io.jrun.comm.Device;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Two linear layers with a GELU between them (Vaswani et al. 2017, 3.3; Hendrycks and Gimpel 2016), named {@code up} and
 * {@code down}. The parameters are zero until they are set.
 */
public final class FeedForward extends CompositeModule {
    private final LinearLayer up;
    private final LinearLayer down;

    /**
     * Layers on a device.
     *
     * @param width size of the last dimension of input and output
     * @param inner size between the layers, often 4 times {@code width}
     */
    public FeedForward(long width, long inner, Device device) {
        up = add("up", new LinearLayer(width, inner, device));
        down = add("down", new LinearLayer(inner, width, device));
    }

    /** The map of the last dimension. */
    public Tensor forward(Tensor x) {
        return down.forward(torch.gelu(up.forward(x)));
    }
}
