package io.jrun.train.autograd;

import java.util.List;
import java.util.function.IntConsumer;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

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

    private static TensorVector vector(List<Tensor> tensors) {
        return new TensorVector(tensors.toArray(Tensor[]::new));
    }
}
