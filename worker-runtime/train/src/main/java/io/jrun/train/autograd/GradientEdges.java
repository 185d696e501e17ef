package io.jrun.train.autograd;

import org.bytedeco.pytorch.Edge;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;

/** Where the gradient of a tensor goes in the graph. */
final class GradientEdges {
    private GradientEdges() {}

    /** The edge to the node that takes the tensor's gradient; an invalid edge if the tensor requires none. */
    static Edge of(Tensor tensor) {
        if (!tensor.requires_grad()) {
            return new Edge();
        }
        return tensor.is_leaf()
                ? new Edge(accumulateNode(tensor), 0)
                : new Edge(tensor.grad_fn(), Math.toIntExact(tensor.output_nr()));
    }

    /** The node that adds to the {@code .grad} of a leaf. The presets map no accessor; the history of any view ends there. */
    static Node accumulateNode(Tensor leaf) {
        return leaf.view_as(leaf).grad_fn().next_edge(0).function();
    }
}
