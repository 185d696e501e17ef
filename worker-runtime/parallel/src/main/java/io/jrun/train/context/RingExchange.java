package io.jrun.train.context;

import io.jrun.comm.Device;
import io.jrun.comm.Work;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Each rank sends its present tensor to the next rank while it computes. Every tensor thereby visits every rank (Liu et
 * al. 2023). The gradients of keys and values follow one hop behind, until they reach the rank of the keys.
 */
final class RingExchange implements KeyExchange {
    private final int ranks;
    private final int self;
    private final TensorCollectives collectives;

    RingExchange(MeshAxis axis) {
        ranks = axis.size();
        self = axis.coordinate();
        collectives = new TensorCollectives(axis.group());
    }

    @Override
    public void forEach(Tensor own, BiConsumer<Integer, Tensor> use) {
        Tensor current = own;
        for (int step = 0; step < ranks; step++) {
            @Nullable Hop hop = step < ranks - 1 ? new Hop(current) : null;
            use.accept(owner(step), current);
            if (hop != null) {
                current = hop.received();
            }
        }
    }

    @Override
    public Tensor sumGradients(Tensor own, BiFunction<Integer, Tensor, Tensor> gradients) {
        Tensor current = own;
        @Nullable Hop sum = null;
        for (int step = 0; step < ranks; step++) {
            @Nullable Hop hop = step < ranks - 1 ? new Hop(current) : null;
            Tensor mine = gradients.apply(owner(step), current);
            if (sum != null) {
                mine.add_(sum.received());
            }
            sum = new Hop(mine);
            if (hop != null) {
                current = hop.received();
            }
        }
        if (sum == null) {
            throw new IllegalStateException("a ring has at least one rank");
        }
        return sum.received();
    }

    private int owner(int step) {
        return Math.floorMod(self - step, ranks);
    }

    /** A tensor on its way to the next rank, and the previous rank's tensor on its way here. */
    private final class Hop {
        private final Tensor incoming;
        private final Device device;
        private final Work sent;
        private final Work arrived;

        Hop(Tensor outgoing) {
            incoming = torch.empty_like(outgoing);
            device = TensorMemory.device(outgoing);
            sent = collectives.sendAsync(outgoing, Math.floorMod(self + 1, ranks));
            arrived = collectives.recvAsync(incoming, Math.floorMod(self - 1, ranks));
        }

        /** The tensor for all later work. On a GPU the host does not wait. */
        Tensor received() {
            DeviceWaits.order(sent, device);
            DeviceWaits.order(arrived, device);
            return incoming;
        }
    }
}
