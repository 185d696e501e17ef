package io.jrun.train.layer;

import io.jrun.train.autograd.DeferredLinear;
import io.jrun.train.tensor.TensorMemory;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** The computation of {@link LinearLayer}s. One operation may serve several layers that have the same input. */
@FunctionalInterface
public interface LinearOperation {
    /** Each rank alone: {@code x W^T + b}. A pipeline may put the gradients of weights off. */
    LinearOperation LOCAL =
            (x, layers) -> layers.stream().map(layer -> local(x, layer)).toList();

    private static Tensor local(Tensor x, LinearLayer layer) {
        if (x.size(-1) != layer.inputs()) {
            throw new IllegalArgumentException("a LinearLayer of " + layer.inputs() + " inputs got a tensor of shape "
                    + TensorMemory.shape(x) + ". If ranks share the layer before it (ParallelStyle.COLUMN), this layer"
                    + " needs the style ROW.");
        }
        return DeferredLinear.linear(x, layer.weight(), layer.bias(), layer.layout() == LinearLayer.Layout.CONV1D);
    }

    /**
     * The outputs of layers for one input.
     *
     * @param x the input of all layers; the last dimension is the one that is mapped
     * @return one output for each layer, in order
     */
    List<Tensor> apply(Tensor x, List<? extends LinearLayer> layers);
}
