package io.jrun.train.ddp;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/**
 * One training step. The end of the step frees all objects of libtorch that were created in the step. The garbage
 * collector does not count native memory and would free the objects too late. Create an object that must live longer
 * before the step, or call {@code retainReference()}. The thread that runs the step opens and closes it.
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
        reducer.reductions().clock().stepBegins();
    }

    /**
     * Computes gradients and returns when every {@code .grad} is the mean over ranks (inside noSync(): this rank's own
     * sum). A plain {@code loss.backward()} does the same if every parameter is used. This method also finds unused
     * parameters before an optimizer uses the gradients.
     *
     * @throws DdpException if a parameter without a gradient must have a gradient; the message names the parameters
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
            // The caller already has the exception of a failed pass.
            if (!reducer.hasFailed()) {
                reducer.requireIdle();
            }
        } finally {
            scope.close();
        }
    }
}
