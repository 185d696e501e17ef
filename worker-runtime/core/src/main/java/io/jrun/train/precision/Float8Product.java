package io.jrun.train.precision;

import io.jrun.train.device.ComputeCapability;
import io.jrun.train.tensor.AtenOperator;
import io.jrun.train.tensor.TensorMemory;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Products of matrices of 8-bit numbers. A GPU that has such products multiplies the codes with libtorch's
 * {@code _scaled_mm}, which sums in float32. Elsewhere, also on an older GPU, the codes are multiplied as float32
 * numbers. The two results differ by the rounding of the sums only.
 *
 * <p>Requirements of {@code _scaled_mm}, from {@code ScaledBlas.cpp} of PyTorch: a GPU of compute capability 8.9 or
 * newer, the first matrix row-major, the second matrix column-major, at most one matrix of e5m2, columns of the first and
 * both sizes of the second matrix divisible by 16, and for each matrix one float32 scale on the device. This class fills
 * the sizes up with zeros, which change no sum. Thread-safe.
 */
public final class Float8Product {
    static final long SIZE_MULTIPLE = 16;
    private static final LongAdder CALLS = new LongAdder();

    /** How a GPU adds the products of a row. */
    public enum Accumulation {
        /** Float32 without intermediate sums of fewer bits. */
        FULL,
        /** Hopper's faster sums with fewer bits: for forward passes, as Transformer Engine and TorchAO do. */
        FAST
    }

    private Float8Product() {}

    /** The number of products of this process so far that a GPU computed with 8-bit arithmetic. */
    public static long deviceProducts() {
        return CALLS.sum();
    }

    /**
     * {@code a * b^T}.
     *
     * @param a [rows, columns]
     * @param b [other rows, columns]; not both of e5m2
     * @return float32, [rows, other rows]
     */
    public static Tensor multiply(Float8Tensor a, Float8Tensor b, Accumulation accumulation) {
        if (!a.codes().is_cuda() || isOlder(ComputeCapability.of(TensorMemory.device(a.codes())))) {
            return inFloat32(a, b);
        }
        CALLS.increment();
        return scaled(a, b, accumulation);
    }

    /** Whether a GPU is known to have no products of 8-bit numbers. */
    static boolean isOlder(Optional<ComputeCapability> gpu) {
        return gpu.isPresent() && !gpu.get().hasFloat8Products();
    }

    /** The product of the codes as float32 numbers. */
    static Tensor inFloat32(Float8Tensor a, Float8Tensor b) {
        return torch.mm(a.numbers(), b.numbers().t()).mul(a.inverseScale()).mul(b.inverseScale());
    }

    /** The product by {@code _scaled_mm}. libtorch has the operator for the CPU too, where it is slow. */
    static Tensor scaled(Float8Tensor a, Float8Tensor b, Accumulation accumulation) {
        Tensor left = filled(a.codes(), 1);
        Tensor right = filled(b.codes(), SIZE_MULTIPLE);
        List<Tensor> product = Kernels.SCALED_PRODUCT.results(
                1,
                AtenOperator.tensor(left),
                AtenOperator.tensor(right.t()),
                AtenOperator.tensor(a.inverseScale()),
                AtenOperator.tensor(b.inverseScale()),
                AtenOperator.none(), // bias
                AtenOperator.none(), // scale_result
                AtenOperator.type(torch.ScalarType.Float),
                AtenOperator.flag(accumulation == Accumulation.FAST));
        return product.getFirst().narrow(1, 0, b.codes().size(0));
    }

    /** Appends columns of zeros up to a multiple of 16, and rows of zeros up to a multiple. */
    static Tensor filled(Tensor codes, long rowMultiple) {
        long rows = missing(codes.size(0), rowMultiple);
        long columns = missing(codes.size(1), SIZE_MULTIPLE);
        if (rows == 0 && columns == 0) {
            return codes;
        }
        // The code of 0 is the byte 0 in both formats.
        return torch.constant_pad_nd(codes.view(torch.ScalarType.Byte), 0, columns, 0, rows)
                .view(codes.scalar_type().intern());
    }

    private static long missing(long size, long multiple) {
        return Math.ceilDiv(size, multiple) * multiple - size;
    }

    /** Found when libtorch is loaded. */
    private static final class Kernels {
        static final AtenOperator SCALED_PRODUCT = AtenOperator.of("aten::_scaled_mm", "");

        private Kernels() {}
    }
}
