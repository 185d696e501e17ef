package io.jrun.train.tensor;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * A part of a computation, such as the forward pass. Its end frees the objects of libtorch that were created in it, like
 * the end of a {@code PointerScope}, except its results. Autograd itself keeps the tensors that the backward pass needs;
 * without this scope the other tensors of a forward pass live until the step ends. The thread that opens the scope
 * closes it.
 *
 * <pre>{@code
 * try (ResultScope scope = new ResultScope()) {
 *     return scope.result(cross_entropy_loss(forward(x), y));
 * }
 * }</pre>
 */
public final class ResultScope implements AutoCloseable {
    private final @Nullable PointerScope outer = PointerScope.getInnerScope();
    private final PointerScope inner = new PointerScope();

    /**
     * A reference to a tensor that lives on after this scope. It belongs to the {@code PointerScope} around this scope;
     * without one it lives until it is closed or unreachable.
     */
    public Tensor result(Tensor tensor) {
        Tensor result = TensorMemory.own(tensor);
        if (outer != null) {
            outer.attach(result);
            result.releaseReference();
        }
        return result;
    }

    /** Frees what was created in the scope, without the results. */
    @Override
    public void close() {
        inner.close();
    }
}
