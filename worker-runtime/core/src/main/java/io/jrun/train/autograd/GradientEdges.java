package io.jrun.train.autograd;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.AutoGradMode;
import org.bytedeco.pytorch.Edge;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;

/** Finds the nodes and edges of the autograd graph that take the gradient of a tensor. Stateless. */
final class GradientEdges {
    private GradientEdges() {}

    /** The edge to the node that takes the tensor's gradient; an invalid edge if the tensor requires no gradient. */
    static Edge of(Tensor tensor) {
        if (!tensor.requires_grad()) {
            return new Edge();
        }
        return tensor.is_leaf()
                ? new Edge(accumulateNode(tensor), 0)
                : new Edge(tensor.grad_fn(), Math.toIntExact(tensor.output_nr()));
    }

    /**
     * The node that adds to the {@code .grad} of a leaf. The presets map no accessor. The method finds the node at the
     * end of the history of a view of the leaf.
     */
    static Node accumulateNode(Tensor leaf) {
        try (AutoGradMode _ = new AutoGradMode(true)) {
            return leaf.view_as(leaf).grad_fn().next_edge(0).function();
        }
    }

    /** All nodes that a backward pass from {@code roots} can reach, in the caller's {@code PointerScope}. */
    static Collection<Node> nodesBehind(List<Tensor> roots) {
        Map<Long, Node> seen = new LinkedHashMap<>();
        Deque<Node> open = new ArrayDeque<>();
        for (Tensor root : roots) {
            Edge edge = of(root);
            visit(edge, seen, open);
        }
        while (!open.isEmpty()) {
            Node node = open.pop();
            int edges = node.num_outputs();
            for (int i = 0; i < edges; i++) {
                visit(node.next_edge(i), seen, open);
            }
        }
        return seen.values();
    }

    private static void visit(Edge edge, Map<Long, Node> seen, Deque<Node> open) {
        if (edge.is_valid()) {
            Node node = edge.function();
            if (seen.putIfAbsent(node.address(), node) == null) {
                open.push(node);
            }
        }
    }
}
