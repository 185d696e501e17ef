package io.jrun.train.layer;

import io.jrun.comm.Device;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.TensorMemory;
import java.util.List;
import java.util.Optional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** A linear map of the last dimension: {@code x W^T + b}. The parameters are zero until they are set. */
public class LinearLayer extends Module {
    /** The layout of a weight. */
    public enum Layout {
        /** [outputs, inputs], as torch.nn.Linear. */
        LINEAR,
        /** [inputs, outputs], as GPT-2's Conv1D. */
        CONV1D
    }

    private final Layout layout;
    private final long inputs;
    private final long outputs;
    private final Tensor weight;
    private final @Nullable Tensor bias;
    private final ZeroWeightCheck values;
    private LinearOperation operation = LinearOperation.LOCAL;

    /** A map on the CPU with a weight of the layout of torch. */
    public LinearLayer(long inputs, long outputs, boolean hasBias) {
        this(inputs, outputs, hasBias, Layout.LINEAR);
    }

    /** A map on the CPU with zero parameters. */
    public LinearLayer(long inputs, long outputs, boolean hasBias, Layout layout) {
        this(inputs, outputs, hasBias, layout, Device.CPU);
    }

    /** A map with a bias, and a weight of the layout of torch, on a device. */
    public LinearLayer(long inputs, long outputs, Device device) {
        this(inputs, outputs, true, Layout.LINEAR, device);
    }

    /** A map with zero parameters on a device. */
    public LinearLayer(long inputs, long outputs, boolean hasBias, Layout layout, Device device) {
        this.layout = layout;
        this.inputs = inputs;
        this.outputs = outputs;
        weight = TensorMemory.own(register_parameter(
                "weight",
                layout == Layout.LINEAR
                        ? DeviceTensors.zeros(device, outputs, inputs)
                        : DeviceTensors.zeros(device, inputs, outputs)));
        values = new ZeroWeightCheck("LinearLayer", weight);
        bias = hasBias ? TensorMemory.own(register_parameter("bias", DeviceTensors.zeros(device, outputs))) : null;
    }

    /**
     * The map of the last dimension.
     *
     * @throws IllegalStateException if the parameters were not set
     */
    public Tensor forward(Tensor x) {
        values.require();
        return operation.apply(x, List.of(this)).getFirst();
    }

    /**
     * The maps of one input by several layers. A parallel operation then exchanges the input, and the input's gradient,
     * once for all layers.
     */
    public static List<Tensor> forwardAll(Tensor x, List<? extends LinearLayer> layers) {
        LinearLayer first = layers.getFirst();
        LinearOperation shared = first.operation;
        boolean isJoint = layers.stream()
                .allMatch((LinearLayer layer) ->
                        layer.operation.equals(shared) && layer.adapter().isEmpty());
        if (isJoint) {
            layers.forEach((LinearLayer layer) -> layer.values.require());
        }
        return isJoint
                ? shared.apply(x, layers)
                : layers.stream().map(layer -> layer.forward(x)).toList();
    }

    /** The adapter whose output a subclass adds to the output of the map; empty if the map is alone. */
    public Optional<LowRankAdapter> adapter() {
        return Optional.empty();
    }

    /** Whether this rank alone computes the map, from the whole weight. */
    public final boolean isLocal() {
        return operation.equals(LinearOperation.LOCAL);
    }

    /** Replaces the computation. */
    public final void setOperation(LinearOperation newOperation) {
        operation = newOperation;
    }

    /** The weight as it is stored; a part of it if the layer is parallel. */
    public final Tensor weight() {
        return weight;
    }

    /** The weight as [outputs, inputs]. */
    public final Tensor matrix() {
        return layout == Layout.LINEAR ? weight : weight.t();
    }

    /** The bias [outputs]; null for a map without one. */
    public final @Nullable Tensor bias() {
        return bias;
    }

    /** The size of the last dimension of the input of the whole map. */
    public final long inputs() {
        return inputs;
    }

    /** The size of the last dimension of the output of the whole map. */
    public final long outputs() {
        return outputs;
    }

    /** The layout of the weight. */
    public final Layout layout() {
        return layout;
    }
}
