package io.jrun.train.fsdp;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/**
 * One training step, or one evaluation. The parameters outside all units are whole while the step is open. The end of
 * the step frees them, and all objects of libtorch that were created in the step. The thread that runs the step opens
 * and closes it.
 */
public final class FsdpStep implements AutoCloseable {
    private final FsdpPass pass;
    private final PointerScope scope;

    FsdpStep(FsdpPass pass) {
        this.pass = pass;
        pass.begin();
        this.scope = new PointerScope();
    }

    /**
     * Computes gradients. Returns when the gradient of each shard is the mean over the ranks, added to the gradient
     * that the shard had. Inside {@code noSync()} each rank keeps the sum of its own whole gradients.
     *
     * @throws io.jrun.comm.CommException if a collective fails
     */
    public void backward(Tensor loss) {
        pass.backward(loss);
    }

    /** Frees the objects that the step has made. */
    @Override
    public void close() {
        try {
            pass.end();
        } finally {
            scope.close();
        }
    }
}
