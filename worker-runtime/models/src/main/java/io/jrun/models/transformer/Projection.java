package io.jrun.models.transformer;

import io.jrun.train.layer.LinearLayer;
import io.jrun.train.tensor.TensorMemory;
import org.bytedeco.pytorch.Module;
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

    private @Nullable Matrix down;
    private @Nullable Matrix up;
    private double scale;
    private boolean isMerged;

    /** A map with zero parameters. */
    public Projection(long inputs, long outputs, boolean hasBias, Layout layout) {
        super(inputs, outputs, hasBias, layout);
    }

    /** The map of the last dimension. */
    @Override
    public Tensor forward(Tensor x) {
        Tensor y = super.forward(x);
        Matrix a = down;
        Matrix b = up;
        if (a == null || b == null || isMerged) {
            return y;
        }
        return y.add(torch.linear(torch.linear(x, a.weight()), b.weight()), new Scalar(scale));
    }

    @Override
    protected boolean isPlain() {
        return !hasAdapter();
    }

    /** Whether the map has an adapter. */
    public boolean hasAdapter() {
        return down != null;
    }

    /**
     * Adds an adapter whose matrices are zero.
     *
     * @param rank the inner size
     * @param newScale the factor of the adapter's output
     * @throws IllegalStateException if the map has an adapter
     */
    public void addAdapter(long rank, double newScale) {
        if (down != null) {
            throw new IllegalStateException("the projection has an adapter already");
        }
        down = register_module("lora_A", new Matrix(torch.zeros(rank, inputs()).to(weight().scalar_type())));
        up = register_module("lora_B", new Matrix(torch.zeros(outputs(), rank).to(weight().scalar_type())));
        scale = newScale;
    }

    /** The inner matrix [rank, inputs] of the adapter; null without an adapter. */
    public @Nullable Tensor down() {
        Matrix a = down;
        return a == null ? null : a.weight();
    }

    /**
     * Adds the product of the adapter's matrices to the weight, or subtracts the product again. Without an adapter, or
     * if the map is already in the requested state, the method does nothing. The operations round: after a merge and an
     * unmerge the relative error of the weight is about 1e-7.
     */
    public void setMerged(boolean merged) {
        Matrix a = down;
        Matrix b = up;
        if (a == null || b == null || isMerged == merged) {
            return;
        }
        try (NoGradGuard _ = new NoGradGuard()) {
            Tensor product = torch.mm(b.weight(), a.weight());
            weight().add_(layout() == Layout.LINEAR ? product : product.t(), new Scalar(merged ? scale : -scale));
        }
        isMerged = merged;
    }

    /** A module with one parameter {@code weight}. */
    private static final class Matrix extends Module {
        private final Tensor weight;

        Matrix(Tensor initial) {
            weight = TensorMemory.own(register_parameter("weight", initial));
        }

        Tensor weight() {
            return weight;
        }
    }
}
