package io.jrun.train.autograd;

import io.jrun.train.tensor.LibtorchScope;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntConsumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.FunctionPostHook;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/** Hooks after the nodes that add to the {@code .grad} of leaves, like the hooks of c10d's Reducer. */
final class NodeHooks implements LeafHooks {
    /**
     * A leaf refers to its node only weakly. A node refers to the Java half of a hook only weakly. These lists keep
     * both alive.
     */
    private final List<Node> nodes = new ArrayList<>();

    private final List<AfterAccumulate> hooks = new ArrayList<>();
    private final List<Long> hookKeys = new ArrayList<>();
    private final Map<Long, Integer> leafByNode = new HashMap<>();

    NodeHooks(List<Tensor> leaves, IntConsumer accumulated) {
        for (int leaf = 0; leaf < leaves.size(); leaf++) {
            Node node = ownAccumulateNode(leaves.get(leaf));
            AfterAccumulate hook = new AfterAccumulate(leaf, accumulated);
            nodes.add(node);
            hooks.add(hook);
            hookKeys.add(node.add_post_hook(hook));
            leafByNode.put(node.address(), leaf);
        }
    }

    private static Node ownAccumulateNode(Tensor leaf) {
        try (PointerScope _ = new PointerScope()) {
            Node node = GradientEdges.accumulateNode(leaf);
            node.retainReference();
            return node;
        }
    }

    @Override
    public BitSet reachableFrom(Tensor root) {
        BitSet reached = new BitSet(nodes.size());
        try (PointerScope _ = new PointerScope()) {
            for (Node node : GradientEdges.nodesBehind(List.of(root))) {
                Integer leaf = leafByNode.get(node.address());
                if (leaf != null) {
                    reached.set(leaf);
                }
            }
        }
        return reached;
    }

    @Override
    public void close() {
        for (int i = 0; i < nodes.size(); i++) {
            nodes.get(i).del_post_hook(hookKeys.get(i));
            nodes.get(i).releaseReference();
        }
        nodes.clear();
        hooks.clear();
        hookKeys.clear();
        leafByNode.clear();
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
            // libtorch's threads have no scope, and nothing else would free what the hook makes.
            try (LibtorchScope _ = new LibtorchScope()) {
                accumulated.accept(leaf);
                return outputs;
            } catch (Throwable e) {
                throw HookFailures.record(e);
            }
        }
    }
}
