package io.jrun.train.autograd;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntConsumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Edge;
import org.bytedeco.pytorch.FunctionPostHook;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/** The bridge for presets that map graph nodes (libtorch up to 2.10): what c10d's own Reducer does. */
final class NodeBridge implements AutogradBridge {
    static final AutogradBridge INSTANCE = new NodeBridge();

    private NodeBridge() {}

    @Override
    public LeafHooks watch(List<Tensor> leaves, IntConsumer accumulated) {
        return new NodeWatch(leaves, accumulated);
    }

    private static final class NodeWatch implements LeafHooks {
        /** A leaf refers to its node only weakly, so these keep the hooks' nodes alive between passes. */
        private final List<Node> nodes = new ArrayList<>();

        private final List<AfterAccumulate> hooks = new ArrayList<>();
        private final List<Long> hookKeys = new ArrayList<>();
        private final Map<Long, Integer> leafByNode = new HashMap<>();

        NodeWatch(List<Tensor> leaves, IntConsumer accumulated) {
            for (int leaf = 0; leaf < leaves.size(); leaf++) {
                Node node = accumulateNode(leaves.get(leaf));
                AfterAccumulate hook = new AfterAccumulate(leaf, accumulated);
                // An enclosing PointerScope of the caller must not free the hook under the engine.
                hook.retainReference();
                nodes.add(node);
                hooks.add(hook);
                hookKeys.add(node.add_post_hook(hook));
                leafByNode.put(node.address(), leaf);
            }
        }

        /** The node has no accessor of its own; it is where the history of any view of the leaf ends. */
        private static Node accumulateNode(Tensor leaf) {
            try (PointerScope scope = new PointerScope()) {
                Node node = leaf.view_as(leaf).grad_fn().next_edge(0).function();
                node.retainReference();
                scope.detach(node);
                return node;
            }
        }

        @Override
        public BitSet reachableFrom(Tensor root) {
            BitSet reached = new BitSet(nodes.size());
            try (PointerScope _ = new PointerScope()) {
                Node start = root.grad_fn();
                Set<Long> seen = new HashSet<>();
                Deque<Node> open = new ArrayDeque<>();
                if (start != null && !start.isNull()) {
                    open.push(start);
                }
                while (!open.isEmpty()) {
                    Node node = open.pop();
                    Integer leaf = leafByNode.get(node.address());
                    if (leaf != null) {
                        reached.set(leaf);
                    }
                    pushNext(node, seen, open);
                }
            }
            return reached;
        }

        private static void pushNext(Node node, Set<Long> seen, Deque<Node> open) {
            int edges = node.num_outputs();
            for (int i = 0; i < edges; i++) {
                Edge edge = node.next_edge(i);
                if (edge.is_valid()) {
                    Node next = edge.function();
                    if (seen.add(next.address())) {
                        open.push(next);
                    }
                }
            }
        }

        @Override
        public void close() {
            for (int i = 0; i < nodes.size(); i++) {
                nodes.get(i).del_post_hook(hookKeys.get(i));
                nodes.get(i).releaseReference();
                hooks.get(i).releaseReference();
            }
            nodes.clear();
            hooks.clear();
            hookKeys.clear();
            leafByNode.clear();
        }
    }

    private static final class AfterAccumulate extends FunctionPostHook {
        private final int leaf;
        private final IntConsumer accumulated;

        AfterAccumulate(int leaf, IntConsumer accumulated) {
            this.leaf = leaf;
            this.accumulated = accumulated;
        }

        @Override
        public TensorVector apply(TensorVector outputs, TensorVector inputs) {
            accumulated.accept(leaf);
            return outputs;
        }
    }
}
