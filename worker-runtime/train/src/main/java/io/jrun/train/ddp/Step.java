package io.jrun.train.ddp;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/**
 * One training step. The end of the step frees all objects of libtorch that were created in the step. The garbage collector
 * does not see native memory and would free them too late. An object that must live longer is created before the step or gets
 * {@code retainReference()}. The thread that runs the step opens and closes it.
 *
 * <pre>{@code
 * try (var step = model.step()) {
 *     optimizer.zero_grad();
 *     var loss = torch.cross_entropy_loss(model.module().forward(x), y);
 *     step.backward(loss);
 *     optimizer.step();
 * }
 * }</pre>
 */
public final class Step implements AutoCloseable {
    private final GradientReducer reducer;
    private final PointerScope scope;

    Step(GradientReducer reducer) {
        this.reducer = reducer;
        this.scope = new PointerScope();
        reducer.clock().stepBegins();
    }

    /**
     * Computes gradients and returns when every {@code .grad} is the mean over ranks (inside noSync(): this rank's own
     * sum). Plain {@code loss.backward()} does the same as long as every parameter is used; this method moreover finds
     * unused parameters before an optimizer uses the gradients.
     *
     * @throws DdpException naming the parameters that got no gradient, if they had to
     * @throws io.jrun.comm.CommException if the reduction fails
     */
    public void backward(Tensor loss) {
        reducer.backward(loss);
    }

    /**
     * Frees the step's native memory.
     *
     * @throws DdpException if a backward pass of this step left a reduction unfinished
     */
    @Override
    public void close() {
        try {
            // The caller already gets the exception of a failed pass.
            if (!reducer.hasFailed()) {
                reducer.requireIdle();
            }
        } finally {
            scope.close();
        }
    }
}
