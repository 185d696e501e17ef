package io.jrun.train.ddp.hook;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.train.reducer.BucketReduction;
import io.jrun.train.reducer.GradientBucket;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * The factors and the error of one bucket of {@link PowerSgdHook}. The factors of all matrices lie in one memory each.
 * They are float32 if the gradients have fewer bits.
 */
final class LowRankBucket {
    private static final String ERROR = ".error";
    private static final String RIGHT = ".right";

    /** The part of a bucket that is one parameter; {@code rank} 0 if the parameter is sent uncompressed. */
    private record Matrix(int index, long rows, long columns, int rank) {}

    private final PowerSgdOptions options;
    private final List<String> names;
    private final List<Matrix> low = new ArrayList<>();
    private final List<Matrix> plain = new ArrayList<>();
    /** All P, then all uncompressed gradients. One all-reduce sums this memory. */
    private final Tensor left;
    /** All Q. */
    private final Tensor right;

    private final @Nullable Tensor error;
    /** The places of the gradients in the bucket, in elements. */
    private final List<Long> offsets;

    private final Device device;
    /**
     * All Q of the first pass of this bucket, on a device: the host does not know in time that a pass was not finite.
     */
    private @Nullable Tensor firstRight;

    private final Set<String> started = new HashSet<>();

    /** @param earlier states of parameters; the bucket takes the states of its parameters out, and frees the tensors */
    LowRankBucket(GradientBucket bucket, PowerSgdOptions options, Map<String, Tensor> earlier) {
        this.options = options;
        this.names = bucket.names();
        this.offsets = bucket.offsets();
        this.device = bucket.buffer().device();
        long leftElements = 0;
        long rightElements = 0;
        for (int i = 0; i < bucket.gradients().size(); i++) {
            Matrix matrix = matrix(i, bucket.gradients().get(i));
            (matrix.rank() > 0 ? low : plain).add(matrix);
            leftElements += matrix.rows() * (matrix.rank() > 0 ? matrix.rank() : matrix.columns());
            rightElements += matrix.columns() * matrix.rank();
        }
        try (PointerScope _ = new PointerScope()) {
            left = zeros(leftElements, bucket.flat());
            right = zeros(rightElements, bucket.flat());
            error = options.errorFeedback() ? zeros(bucket.flat().numel(), bucket.flat()) : null;
            take(earlier);
        }
    }

    private void take(Map<String, Tensor> earlier) {
        List<Tensor> rights = rights();
        for (int i = 0; i < low.size(); i++) {
            Matrix matrix = low.get(i);
            String name = names.get(matrix.index());
            Tensor factor = earlier.remove(name + RIGHT);
            if (factor != null) {
                rights.get(i).copy_(factor);
                factor.close();
                started.add(name);
            }
            Tensor lost = earlier.remove(name + ERROR);
            if (lost != null) {
                if (error != null) {
                    errorOf(error, matrix).copy_(lost);
                }
                lost.close();
            }
        }
    }

    private Tensor errorOf(Tensor errors, Matrix matrix) {
        return errors.narrow(0, offsets.get(matrix.index()), matrix.rows() * matrix.columns());
    }

    List<String> names() {
        return names;
    }

    /** Copies of the errors and factors by the names of the parameters. The caller frees the tensors. */
    Map<String, Tensor> state() {
        Map<String, Tensor> state = new HashMap<>();
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            List<Tensor> rights = rights();
            for (int i = 0; i < low.size(); i++) {
                Matrix matrix = low.get(i);
                String name = names.get(matrix.index());
                if (options.warmStart() && started.contains(name)) {
                    state.put(name + RIGHT, TensorMemory.own(rights.get(i).clone()));
                }
                if (error != null) {
                    state.put(
                            name + ERROR,
                            TensorMemory.own(errorOf(error, matrix).clone()));
                }
            }
        }
        return state;
    }

    private Matrix matrix(int index, Tensor gradient) {
        long rows = gradient.dim() > 1 ? gradient.size(0) : gradient.numel();
        long columns = rows == 0 ? 0 : gradient.numel() / rows;
        int rank = (int) Math.min(options.rank(), Math.min(rows, columns));
        boolean pays = gradient.dim() > 1 && (rows + columns) * rank * options.minimumRate() < rows * columns;
        return new Matrix(index, rows, columns, pays ? rank : 0);
    }

    private static Tensor zeros(long elements, Tensor like) {
        torch.ScalarType type = like.element_size() < Float.BYTES
                ? torch.ScalarType.Float
                : like.scalar_type().intern();
        try (Tensor zeros = TensorMemory.zeros(TensorMemory.device(like), type, elements)) {
            return TensorMemory.own(zeros);
        }
    }

    BucketReduction reduce(GradientBucket bucket, ProcessGroup group, long pass) {
        TensorCollectives collectives = new TensorCollectives(group);
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            if (error != null) {
                error.add_(bucket.flat());
            }
            List<Tensor> lefts = lefts();
            List<Tensor> rights = rights();
            prepare(rights, pass);
            for (int i = 0; i < low.size(); i++) {
                lefts.get(i).copy_(torch.mm(compressed(bucket, low.get(i)), rights.get(i)));
            }
            for (int i = 0; i < plain.size(); i++) {
                lefts.get(low.size() + i).copy_(value(bucket, plain.get(i)));
            }
            Work work = collectives.allReduceAsync(left, ReduceOp.SUM);
            return () -> finish(bucket, collectives, work);
        }
    }

    private void finish(GradientBucket bucket, TensorCollectives collectives, Work work) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            DeviceWaits.order(work, device);
            List<Tensor> lefts = lefts();
            List<Tensor> rights = rights();
            for (int i = 0; i < low.size(); i++) {
                orthogonalize(lefts.get(i));
                rights.get(i).copy_(torch.mm(compressed(bucket, low.get(i)).t(), lefts.get(i)));
            }
            collectives.allReduce(right, ReduceOp.SUM);
            Scalar divisor = new Scalar((double) bucket.divisor());
            right.div_(divisor);
            for (int i = 0; i < low.size(); i++) {
                value(bucket, low.get(i))
                        .copy_(torch.mm(lefts.get(i), rights.get(i).t()));
            }
            for (int i = 0; i < plain.size(); i++) {
                value(bucket, plain.get(i)).copy_(lefts.get(low.size() + i).div_(divisor));
            }
            if (error != null) {
                keepError(bucket);
            }
            restartUnlessFinite();
        }
    }

    /**
     * Forgets the factors and the error after a gradient that was not finite. Otherwise error and warm start would make
     * all later gradients NaN. All Q are equal on all ranks, so all ranks decide alike.
     */
    private void restartUnlessFinite() {
        if (!device.isCpu()) {
            restartOnDevice();
            return;
        }
        if (DeviceWaits.flag(torch.isfinite(right).all())) {
            return;
        }
        started.clear();
        if (error != null) {
            error.zero_();
        }
    }

    /** Chooses the new values on the device: the host does not wait for the result. */
    private void restartOnDevice() {
        Tensor isFinite = torch.isfinite(right).all();
        right.copy_(torch.where(isFinite, right, Objects.requireNonNull(firstRight)));
        if (error != null) {
            Scalar zero = new Scalar(0.0);
            error.copy_(torch.where(isFinite, error, zero));
        }
    }

    /** Stores the error of this rank: its gradients plus the earlier error, minus the gradients that all ranks use. */
    private void keepError(GradientBucket bucket) {
        Tensor lost = Objects.requireNonNull(error);
        lost.sub_(bucket.flat());
        for (Matrix matrix : plain) {
            errorOf(lost, matrix).zero_();
        }
    }

    /**
     * Makes the columns of all Q orthonormal. Q is the Q of the last pass, or random: the pass and the name of the
     * parameter decide. Equal on all ranks.
     */
    private void prepare(List<Tensor> rights, long pass) {
        for (int i = 0; i < low.size(); i++) {
            String name = names.get(low.get(i).index());
            if (started.add(name) || !options.warmStart()) {
                Generator generator = torch.createCPUGenerator(options.seed() + 31 * pass + name.hashCode());
                fillRandomly(rights.get(i), generator);
            }
            orthogonalize(rights.get(i));
        }
        if (firstRight == null && !device.isCpu()) {
            firstRight = TensorMemory.own(right.clone());
        }
    }

    /** A generator of the CPU fills host memory only. The numbers are the same on each device. */
    private void fillRandomly(Tensor matrix, Generator generator) {
        GeneratorOptional given = new GeneratorOptional(generator);
        if (device.isCpu()) {
            matrix.normal_(0, 1, given);
        } else {
            long[] sizes = TensorMemory.sizes(matrix);
            Tensor random = torch.empty(sizes, new TensorOptions(matrix.scalar_type()), new MemoryFormatOptional());
            random.normal_(0, 1, given);
            matrix.copy_(random);
        }
    }

    private static void orthogonalize(Tensor matrix) {
        matrix.copy_(torch.linalg_qr(matrix).get0());
    }

    /** The matrix that the factors stand for: the gradient and the earlier error, in the type of the factors. */
    private Tensor compressed(GradientBucket bucket, Matrix matrix) {
        return error == null
                ? value(bucket, matrix).to(right.scalar_type())
                : errorOf(error, matrix).view(matrix.rows(), matrix.columns());
    }

    private static Tensor value(GradientBucket bucket, Matrix matrix) {
        return bucket.gradients().get(matrix.index()).view(matrix.rows(), matrix.columns());
    }

    private List<Tensor> lefts() {
        List<Tensor> parts = new ArrayList<>();
        long at = 0;
        for (Matrix matrix : low) {
            parts.add(left.narrow(0, at, matrix.rows() * matrix.rank()).view(matrix.rows(), matrix.rank()));
            at += matrix.rows() * matrix.rank();
        }
        for (Matrix matrix : plain) {
            parts.add(left.narrow(0, at, matrix.rows() * matrix.columns()).view(matrix.rows(), matrix.columns()));
            at += matrix.rows() * matrix.columns();
        }
        return parts;
    }

    private List<Tensor> rights() {
        List<Tensor> parts = new ArrayList<>();
        long at = 0;
        for (Matrix matrix : low) {
            parts.add(right.narrow(0, at, matrix.columns() * matrix.rank()).view(matrix.columns(), matrix.rank()));
            at += matrix.columns() * matrix.rank();
        }
        return parts;
    }

    void close() {
        left.close();
        right.close();
        if (firstRight != null) {
            firstRight.close();
        }
        if (error != null) {
            error.close();
        }
    }
}
