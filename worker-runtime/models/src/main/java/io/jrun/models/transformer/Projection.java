package io.jrun.models.transformer;

import io.jrun.comm.Device;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.LowRankAdapter;
import io.jrun.train.tensor.TensorMemory;
import java.util.Optional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * A linear map, optionally with a low-rank adapter: {@code x W^T + b + scale (x A^T) B^T}. Source of the adapter: Hu et
 * al. 2021, LoRA, section 4.1; names as in Hugging Face's PEFT.
 */
public final class Projection extends LinearLayer {
    /** The beginning of the names of an adapter's parameters. */
    public static final String ADAPTER_INFIX = ".lora_";

    private @Nullable LowRankAdapter adapter;
    private double scale;
    private boolean isMerged;

    /** A map with zero parameters on a device. */
    public Projection(long inputs, long outputs, boolean hasBias, Layout layout, Device device) {
        super(inputs, outputs, hasBias, layout, device);
    }

    /** The map of the last dimension. */
    @Override
    public Tensor forward(Tensor x) {
        Tensor y = super.forward(x);
        LowRankAdapter added = adapter;
        return added == null || isMerged
                ? y
                : y.add(added.up().forward(added.down().forward(x)), new Scalar(scale));
    }

    @Override
    public Optional<LowRankAdapter> adapter() {
        return Optional.ofNullable(adapter);
    }

    /**
     * Adds an adapter whose matrices are zero. Set {@code down} before the first forward pass.
     *
     * @param rank the inner size
     * @param newScale the factor of the adapter's output
     * @return the adapter
     * @throws IllegalStateException if the map has an adapter, or if the map has another computation already
     */
    public LowRankAdapter addAdapter(long rank, double newScale) {
        if (adapter != null) {
            throw new IllegalStateException("the projection has an adapter already");
        }
        if (!isLocal()) {
            throw new IllegalStateException(
                    "the projection has another computation already, such as that of ranks which share it."
                            + " Attach the adapters before.");
        }
        LowRankAdapter added = new LowRankAdapter(
                register_module(LowRankAdapter.DOWN, map(inputs(), rank)),
                register_module(LowRankAdapter.UP, map(rank, outputs())));
        try (NoGradGuard _ = new NoGradGuard()) {
            added.up().weight().zero_(); // its first values
        }
        adapter = added;
        scale = newScale;
        return added;
    }

    private LinearLayer map(long from, long to) {
        LinearLayer map = new LinearLayer(from, to, false, Layout.LINEAR, TensorMemory.device(weight()));
        map.to(weight().scalar_type(), false);
        return map;
    }

    /**
     * Adds the product of the adapter's matrices to the weight, or subtracts the product again. Without an adapter, or
     * if the map is already in the requested state, the method does nothing. The operations round: after a merge and an
     * unmerge the relative error of the weight is about 1e-7.
     */
    public void setMerged(boolean merged) {
        LowRankAdapter added = adapter;
        if (added == null || isMerged == merged) {
            return;
        }
        try (NoGradGuard _ = new NoGradGuard()) {
            Tensor product = torch.mm(added.up().weight(), added.down().weight());
            weight().add_(layout() == Layout.LINEAR ? product : product.t(), new Scalar(merged ? scale : -scale));
        }
        isMerged = merged;
    }
}
