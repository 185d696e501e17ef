package io.jrun.train.pipeline;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The time that each layer takes, measured. */
public final class LayerCosts {
    private static final int RUNS = 3;

    private LayerCosts() {}

    /**
     * Runs a forward and a backward pass of each layer on this rank, three times, and returns the shortest times of
     * rank 0 in nanoseconds: all ranks need the same cut. Gradients of the layers are dropped. Collective.
     *
     * @param input an input of the model, as long as one micro-batch
     */
    public static double[] measure(List<PipelineLayer> layers, Tensor input, ProcessGroup group) {
        double[] nanos = new double[layers.size()];
        Arrays.fill(nanos, Double.POSITIVE_INFINITY);
        for (int run = 0; run < RUNS && group.groupRank() == 0; run++) {
            try (PointerScope _ = new PointerScope()) {
                Tensor x = input;
                for (int layer = 0; layer < layers.size(); layer++) {
                    Tensor leaf = x.is_floating_point() ? x.detach().requires_grad_(true) : x;
                    long begin = System.nanoTime();
                    Tensor y = layers.get(layer).forward().apply(leaf);
                    AutogradBridge.instance().backward(List.of(y), List.of(torch.ones_like(y)));
                    x = y.detach();
                    waitFor(x);
                    nanos[layer] = Math.min(nanos[layer], (double) (System.nanoTime() - begin));
                }
            }
        }
        layers.forEach(layer -> layer.parameters()
                .values()
                .forEach(parameter -> parameter.mutable_grad().reset()));
        group.broadcast(MemorySegment.ofArray(nanos), DataType.F64, nanos.length, 0);
        return nanos;
    }

    /** Returns when a device has done all its work. */
    private static void waitFor(Tensor last) {
        if (!TensorMemory.device(last).isCpu()) {
            double _ = DeviceWaits.number(last.view(-1).select(0, 0));
        }
    }
}
