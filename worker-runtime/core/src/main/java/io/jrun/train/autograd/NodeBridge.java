package io.jrun.train.autograd;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntConsumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** The bridge for presets that map graph nodes: libtorch up to 2.10. */
final class NodeBridge implements AutogradBridge {
    static final AutogradBridge INSTANCE = new NodeBridge();

    private NodeBridge() {}

    @Override
    public LeafHooks watch(List<Tensor> leaves, IntConsumer accumulated) {
        return new NodeHooks(leaves, accumulated);
    }

    @Override
    public List<Tensor> apply(AutogradFunction function, List<Tensor> inputs) {
        return FunctionRunner.apply(function, inputs);
    }

    @Override
    public void backward(List<Tensor> roots, List<Tensor> gradients) {
        try (TensorVector outputs = vector(roots);
                TensorVector given = vector(gradients);
                BoolOptional onlyIfCreated = new BoolOptional();
                TensorVector all = new TensorVector()) {
            torch.backward(outputs, given, onlyIfCreated, false, all);
        } catch (RuntimeException e) {
            throw HookFailures.original(e);
        }
    }

    @Override
    public List<@Nullable Tensor> gradients(List<Tensor> roots, List<Tensor> gradients, List<Tensor> inputs) {
        List<@Nullable Tensor> results = new ArrayList<>();
        try (TensorVector outputs = vector(roots);
                TensorVector wanted = vector(inputs);
                TensorVector given = vector(gradients);
                BoolOptional onlyIfCreated = new BoolOptional();
                TensorVector found = torch.grad(outputs, wanted, given, onlyIfCreated, false, true)) {
            for (long i = 0; i < found.size(); i++) {
                Tensor gradient = found.get(i);
                results.add(gradient.defined() ? new Tensor(gradient) : null);
            }
            return results;
        } catch (RuntimeException e) {
            throw HookFailures.original(e);
        }
    }

    @Override
    public int countOtherLeaves(List<Tensor> roots, List<Tensor> known) {
        Set<Long> expected = new HashSet<>();
        try (PointerScope _ = new PointerScope()) {
            known.forEach(
                    leaf -> expected.add(GradientEdges.accumulateNode(leaf).address()));
            int others = 0;
            for (Node node : GradientEdges.nodesBehind(roots)) {
                boolean isLeaf = node.num_outputs() == 0;
                if (isLeaf && !expected.contains(node.address()) && !LiveCalls.isMarker(node)) {
                    others++;
                }
            }
            return others;
        }
    }

    private static TensorVector vector(List<Tensor> tensors) {
        return new TensorVector(tensors.toArray(Tensor[]::new));
    }
}
