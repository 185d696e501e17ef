package io.jrun.train.autograd;

import io.jrun.train.tensor.ResultScope;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Edge;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * Runs the forward method of an {@link AutogradFunction} and makes the call a node of the graph. The presets cannot
 * create a node. This class therefore uses the node of a concatenation, which has any number of edges and no saved
 * tensors. The class points the edges of the node to the inputs of the call, and replaces the node's outputs by the
 * outputs of the call.
 */
final class FunctionRunner {
    private FunctionRunner() {}

    static List<Tensor> apply(AutogradFunction function, List<Tensor> inputs) {
        FunctionContext context = new FunctionContext(function.name(), inputs);
        boolean isRecorded = false;
        try {
            List<Tensor> outputs = forward(function, context, inputs);
            isRecorded = GradMode.is_enabled()
                    && inputs.stream().anyMatch(Tensor::requires_grad)
                    && record(function, context, inputs, outputs);
            return outputs;
        } finally {
            if (!isRecorded) {
                context.free();
            }
        }
    }

    private static List<Tensor> forward(AutogradFunction function, FunctionContext context, List<Tensor> inputs) {
        List<Tensor> outputs = new ArrayList<>();
        try (ResultScope scope = new ResultScope();
                NoGradGuard _ = new NoGradGuard()) {
            List<Tensor> detached = inputs.stream().map(Tensor::detach).toList();
            Set<Long> used = new HashSet<>();
            detached.forEach(input -> used.add(TensorMemory.identity(input)));
            for (Tensor output : function.forward(context, detached)) {
                outputs.add(scope.result(fresh(context, output, used)));
            }
        }
        return Collections.unmodifiableList(outputs);
    }

    /**
     * A tensor that differs from all inputs and all other outputs and has no history: each output gets a history of its
     * own.
     */
    private static Tensor fresh(FunctionContext context, Tensor output, Set<Long> used) {
        boolean isNew = used.add(TensorMemory.identity(output));
        if (isNew && !output.requires_grad()) {
            return output;
        }
        Tensor alias = output.detach();
        if (!context.isDifferentiable(output)) {
            context.markNonDifferentiable(alias);
        }
        return alias;
    }

    /** Records the call. Returns false if no output is differentiable. */
    private static boolean record(
            AutogradFunction function, FunctionContext context, List<Tensor> inputs, List<Tensor> outputs) {
        int[] differentiable = IntStream.range(0, outputs.size())
                .filter(i -> context.isDifferentiable(outputs.get(i)))
                .toArray();
        if (differentiable.length == 0) {
            return false;
        }
        try (PointerScope _ = new PointerScope()) {
            FunctionCall call = new FunctionCall(function, context, inputs, outputs.size(), differentiable);
            Node node = node(LiveCalls.mark(call), inputs);
            LiveCalls.markerNode(call, node.next_edge(inputs.size()).function());
            call.addHooks(node);
            for (int output : differentiable) {
                torch.create_gradient_edge(outputs.get(output), node);
            }
        }
        return true;
    }

    /** A node with one edge for each input, and one more edge that keeps the leaf {@code marker} alive. */
    private static Node node(Tensor marker, List<Tensor> inputs) {
        Tensor[] sources = Collections.nCopies(inputs.size() + 1, marker).toArray(Tensor[]::new);
        Node node = torch.cat(new TensorVector(sources)).grad_fn();
        for (int i = 0; i < inputs.size(); i++) {
            Edge edge = GradientEdges.of(inputs.get(i));
            node.set_next_edge(i, edge);
        }
        node.clear_input_metadata();
        return node;
    }
}
