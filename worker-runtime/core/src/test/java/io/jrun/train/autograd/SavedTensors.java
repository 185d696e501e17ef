package io.jrun.train.autograd;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AutogradCompilerCall;
import org.bytedeco.pytorch.CompiledNodeArgs;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.NodeCall;
import org.bytedeco.pytorch.SizeInput;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/** The tensors that an autograd graph keeps for the backward pass. */
public final class SavedTensors {
    private SavedTensors() {}

    /**
     * The bytes of the storages that the graph behind {@code root} keeps for the backward pass. A storage of several
     * saved tensors counts once. The storages of leaves do not count, because a leaf exists without the graph.
     */
    public static long bytes(Tensor root) {
        try (PointerScope _ = new PointerScope()) {
            Map<Long, Long> storages = new HashMap<>();
            List<Tensor> leaves = new ArrayList<>();
            for (Node node : GradientEdges.nodesBehind(List.of(root))) {
                boolean isLeaf = node.num_outputs() == 0;
                for (Tensor tensor : isLeaf ? LiveCalls.savedTensors(node) : savedBy(node)) {
                    storages.put(address(tensor), tensor.storage().nbytes());
                }
                if (isLeaf) {
                    leaves.addAll(savedBy(node));
                }
            }
            leaves.forEach(leaf -> storages.remove(address(leaf)));
            return storages.values().stream().mapToLong(Long::longValue).sum();
        }
    }

    /** Returns the saved tensors of a node; the tensor itself for a leaf. */
    private static List<Tensor> savedBy(Node node) {
        AutogradCompilerCall call = new AutogradCompilerCall(SizeInput.DynType.STATIC);
        node.compiled_args(new CompiledNodeArgs(call, new NodeCall(0, node)));
        TensorVector found = call.tensor_args().inputs();
        List<Tensor> tensors = new ArrayList<>();
        for (long i = 0; i < found.size(); i++) {
            tensors.add(found.get(i));
        }
        return tensors;
    }

    private static long address(Tensor tensor) {
        return tensor.storage().data().address();
    }
}
