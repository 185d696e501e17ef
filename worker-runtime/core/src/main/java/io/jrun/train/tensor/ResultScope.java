package io.jrun.train.tensor;

import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * A part of a computation, such as the forward pass. Its end frees the tensors that were created in it, as
 * {@link LibtorchScope} does, except its results. Autograd itself keeps the tensors that the backward pass needs; without
 * this scope the other tensors of a forward pass live until the step ends. The thread that opens the scope closes it.
 *
 * <pre>{@code
 * Tensor loss = ResultScope.of(() -> cross_entropy_loss(forward(x), y));
 * }</pre>
 */
public final class ResultScope implements AutoCloseable {
    private final @Nullable PointerScope outer = PointerScope.getInnerScope();
    private final PointerScope inner = new LibtorchScope();

    /**
     * The result of a computation in a scope of its own.
     *
     * @throws IllegalStateException if the computation uses an object whose memory is free, such as a tensor of an earlier
     *     pass in a field
     */
    public static Tensor of(Supplier<Tensor> computation) {
        try (ResultScope scope = new ResultScope()) {
            return scope.result(computation.get());
        } catch (NullPointerException e) {
            throw isOfFreedMemory(e) ? freed(e) : e;
        }
    }

    /** Whether JavaCPP has found an object without memory. */
    private static boolean isOfFreedMemory(NullPointerException e) {
        String message = String.valueOf(e.getMessage());
        return message.startsWith("This pointer address is NULL")
                || (message.startsWith("Pointer address of argument") && message.endsWith("is NULL."));
    }

    private static IllegalStateException freed(NullPointerException e) {
        return new IllegalStateException(
                "a model uses an object of libtorch whose memory is free. The ends of a block, of the loss and of a step"
                        + " free the tensors that were created in them. A tensor in a field lives on if the field has"
                        + " TensorMemory.own(tensor); close that tensor after its last use.",
                e);
    }

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
