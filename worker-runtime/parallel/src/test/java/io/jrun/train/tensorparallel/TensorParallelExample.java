package io.jrun.train.tensorparallel;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.model.InitialValues;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** All ranks share a feed-forward layer. Start: {@code jrun --nproc-per-node=2 TensorParallelExample.java}. */
public final class TensorParallelExample {
    private TensorParallelExample() {}

    /** Two matrices, from width 8 to 32 and back. The code knows nothing of other ranks. */
    static final class FeedForward extends CompositeModule {
        final LinearLayer up = add("up", new LinearLayer(8, 32, true));
        final LinearLayer down = add("down", new LinearLayer(32, 8, true));

        Tensor forward(Tensor x) {
            return down.forward(torch.gelu(up.forward(x)));
        }
    }

    /** Prints the shape of this rank's part of a matrix. */
    public static void main(String[] args) {
        FeedForward layer = new FeedForward();
        new InitialValues(1, 1).fill(layer); // equal first values on all ranks
        try (World world = Distributed.init();
                DeviceMesh mesh = DeviceMesh.of(world, "tp", world.size())) {
            share(layer, mesh);
            System.out.println(
                    "rank " + world.rank() + " has " + layer.up.weight().size(0) + " rows of 32; the sum is "
                            + layer.forward(torch.ones(2, 8)).sum().item_double());
        }
    }

    /** Each rank keeps some columns of the product in the middle. The forward pass adds the parts of all ranks. */
    static void share(FeedForward layer, DeviceMesh mesh) {
        TensorParallel.apply(layer, mesh.axis("tp"), Map.of("up", ParallelStyle.COLUMN, "down", ParallelStyle.ROW));
    }
}
