package io.jrun.train.autograd;

import io.jrun.train.tensor.LibtorchScope;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.bytedeco.pytorch.FunctionPostHook;
import org.bytedeco.pytorch.FunctionPreHook;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * The Java side of one recorded call. The node itself computes nothing: a hook before the node removes the gradients of
 * the outputs, and a hook after the node replaces the node's results by the gradients of the inputs.
 */
final class FunctionCall implements AutoCloseable {
    private final AutogradFunction function;
    private final FunctionContext context;
    /** Type and shape of each input. The gradient of the input must have the same type and shape. */
    private final List<String> forms;
    /** The output number of each gradient that the engine passes. */
    private final int[] differentiable;

    private final int outputCount;
    private long markerNode;
    private final TakeGradients before = new TakeGradients();
    private final PutGradients after = new PutGradients();
    /**
     * The gradients between the two hooks, by thread. Both hooks of a pass run on one thread. Several threads may run
     * passes at once.
     */
    private final Map<Thread, List<Tensor>> taken = new ConcurrentHashMap<>();

    FunctionCall(
            AutogradFunction function,
            FunctionContext context,
            List<Tensor> inputs,
            int outputCount,
            int[] differentiable) {
        this.function = function;
        this.context = context;
        this.forms = inputs.stream().map(TensorMemory::form).toList();
        this.outputCount = outputCount;
        this.differentiable = differentiable;
    }

    /** The address of the node of this call's marker, see {@link LiveCalls}. */
    long markerNode() {
        return markerNode;
    }

    void setMarkerNode(long address) {
        markerNode = address;
    }

    List<Tensor> savedTensors() {
        return context.savedTensors();
    }

    /** Adds the two hooks. The node then owns the native halves of the hooks. */
    void addHooks(Node node) {
        node.add_pre_hook(before);
        long _ = node.add_post_hook(after);
    }

    /** Frees the call after libtorch has freed the node. */
    @Override
    public void close() {
        context.free();
    }

    private final class TakeGradients extends FunctionPreHook {
        /** Changes the engine's own list: a new list would need an owner until the engine has read the list. */
        @Override
        public TensorVector apply(TensorVector gradients) {
            List<Tensor> owned = new ArrayList<>();
            for (long i = 0; i < gradients.size(); i++) {
                owned.add(TensorMemory.own(gradients.get(i)));
            }
            taken.put(Thread.currentThread(), owned);
            gradients.resize(1);
            try (Tensor undefined = new Tensor()) {
                gradients.put(0, undefined);
            }
            return gradients;
        }
    }

    private final class PutGradients extends FunctionPostHook {
        /** Changes the engine's own list, like {@link TakeGradients}. */
        @Override
        public TensorVector apply(TensorVector results, TensorVector undefined) {
            List<Tensor> gradients = Objects.requireNonNull(taken.remove(Thread.currentThread()));
            try (LibtorchScope _ = new LibtorchScope();
                    NoGradGuard _ = new NoGradGuard()) {
                if (gradients.stream().anyMatch(Tensor::defined)) {
                    replace(results, function.backward(context, perOutput(gradients)));
                }
                return results;
            } catch (Throwable e) {
                throw HookFailures.record(e);
            } finally {
                gradients.forEach(Tensor::close);
                if (!torch.get_current_graph_task_keep_graph()) {
                    context.free();
                }
            }
        }
    }

    private List<@Nullable Tensor> perOutput(List<Tensor> gradients) {
        List<@Nullable Tensor> all = new ArrayList<>();
        for (int i = 0; i < outputCount; i++) {
            all.add(null);
        }
        for (int i = 0; i < differentiable.length; i++) {
            Tensor gradient = gradients.get(i);
            all.set(differentiable[i], gradient.defined() ? gradient : null);
        }
        return Collections.unmodifiableList(all);
    }

    private void replace(TensorVector results, List<@Nullable Tensor> gradients) {
        if (gradients.size() != forms.size()) {
            throw new IllegalStateException(
                    "the backward method of " + function.name() + " returned " + gradients.size() + " gradients for "
                            + forms.size() + " inputs. Return one for each input; null stands for no gradient.");
        }
        for (int input = 0; input < forms.size(); input++) {
            Tensor gradient = gradients.get(input);
            if (gradient != null && context.needsGradient(input)) {
                requireForm(input, gradient);
                results.put(input, gradient);
            }
        }
    }

    private void requireForm(int input, Tensor gradient) {
        String form = TensorMemory.form(gradient);
        if (!form.equals(forms.get(input))) {
            throw new IllegalStateException(
                    "the backward method of " + function.name() + " returned a gradient of type and"
                            + " shape " + form + " for input " + input + ", which has " + forms.get(input)
                            + ". Return a gradient of the type and shape of the input.");
        }
    }
}
