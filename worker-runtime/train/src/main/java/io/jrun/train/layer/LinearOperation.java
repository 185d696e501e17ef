package io.jrun.train.layer;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;

/** The computation of {@link LinearLayer}s. One operation may serve several layers that have the same input. */
@FunctionalInterface
public interface LinearOperation {
    /** Each rank alone: {@code x W^T + b}. */
    LinearOperation LOCAL = (x, layers) -> {
        List<Tensor> outputs = new ArrayList<>();
        for (LinearLayer layer : layers) {
            Tensor bias = layer.bias();
            outputs.add(
                    bias == null
                            ? torch.linear(x, layer.matrix())
                            : torch.linear(x, layer.matrix(), new TensorOptional(bias)));
        }
        return outputs;
    };

    /**
     * The outputs of layers for one input.
     *
     * @param x the input of all layers; the last dimension is the one that is mapped
     * @return one output for each layer, in order
     */
    List<Tensor> apply(Tensor x, List<? extends LinearLayer> layers);
}
