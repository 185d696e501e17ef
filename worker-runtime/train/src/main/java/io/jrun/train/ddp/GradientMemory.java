package io.jrun.train.ddp;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The registered memory all gradients live in, cut into buckets and these into one slice per parameter. A gradient at
 * home is a {@code from_blob} tensor over its slice, not a view of a bucket tensor: {@code optimizer.zero_grad()} may then
 * detach it, which torch forbids for views.
 *
 * <p>Confined to the rank's training thread. The memory lives until the group is closed.
 */
final class GradientMemory {
    /** Every slice begins on a cache line. It also makes the sum of sizes independent of the order of slices. */
    private static final long ALIGNMENT_BYTES = 64;

    private final List<Parameter> parameters;
    private final MemorySegment memory;
    private final Tensor[] homes;
    private final long[] addresses;
    private List<Bucket> buckets = List.of();

    GradientMemory(List<Parameter> parameters, ProcessGroup group, BucketPlan plan) {
        this.parameters = parameters;
        this.memory = group.allocate(
                parameters.stream().mapToLong(GradientMemory::sliceBytes).sum());
        this.homes = new Tensor[parameters.size()];
        this.addresses = new long[parameters.size()];
        cut(plan);
    }

    /** In the order in which they are reduced. */
    List<Bucket> buckets() {
        return buckets;
    }

    /** Whether this parameter's gradient exists, here or elsewhere. */
    boolean hasGradient(int parameter) {
        return parameters.get(parameter).tensor().mutable_grad().defined();
    }

    /**
     * Makes the parameter's gradient live in its slice. A gradient that user code dropped ({@code zero_grad()} does) is
     * created anew by the engine outside: its values are copied home, and it is replaced.
     */
    void bringHome(int parameter) {
        Tensor gradient = parameters.get(parameter).tensor().mutable_grad();
        if (!gradient.defined()) {
            clear(parameter);
        } else if (TensorMemory.address(gradient) != addresses[parameter]) {
            try (NoGradGuard _ = new NoGradGuard()) {
                homes[parameter].copy_(gradient);
            }
            gradient.put(homes[parameter]);
        }
    }

    /** Makes the slice the parameter's gradient with the values it has. */
    void install(int parameter) {
        parameters.get(parameter).tensor().mutable_grad().put(homes[parameter]);
    }

    /** Zeroes a slice, so that this rank contributes nothing to the mean. */
    void clear(int parameter) {
        TensorMemory.segment(homes[parameter]).fill((byte) 0);
    }

    /** Cuts the memory anew; gradients at home move with their values. */
    void recut(BucketPlan plan) {
        try (NoGradGuard _ = new NoGradGuard()) {
            Map<Integer, Tensor> saved = new HashMap<>();
            for (int i = 0; i < homes.length; i++) {
                if (isHome(i)) {
                    saved.put(i, homes[i].clone());
                }
                homes[i].releaseReference();
            }
            memory.fill((byte) 0);
            cut(plan);
            saved.forEach((parameter, values) -> {
                homes[parameter].copy_(values);
                install(parameter);
                values.close();
            });
        }
    }

    /** Moves gradients out, so that they outlive the registered memory. */
    void release() {
        try (NoGradGuard _ = new NoGradGuard()) {
            for (int i = 0; i < homes.length; i++) {
                if (isHome(i)) {
                    try (Tensor copy = homes[i].clone()) {
                        parameters.get(i).tensor().mutable_grad().put(copy);
                    }
                }
                homes[i].releaseReference();
            }
        }
    }

    private boolean isHome(int parameter) {
        Tensor gradient = parameters.get(parameter).tensor().mutable_grad();
        return gradient.defined() && TensorMemory.address(gradient) == addresses[parameter];
    }

    private void cut(BucketPlan plan) {
        List<Bucket> cut = new ArrayList<>();
        long at = 0;
        for (List<Integer> members : plan.buckets()) {
            long begin = at;
            for (int member : members) {
                Parameter parameter = parameters.get(member);
                Tensor home = TensorMemory.tensor(
                        memory.asSlice(at, parameter.bytes()),
                        parameter.type() == DataType.F32 ? torch.ScalarType.Float : torch.ScalarType.Double,
                        TensorMemory.sizes(parameter.tensor()));
                home.retainReference();
                homes[member] = home;
                addresses[member] = memory.address() + at;
                at += sliceBytes(parameter);
            }
            cut.add(new Bucket(
                    members,
                    memory.asSlice(begin, at - begin),
                    parameters.get(members.getFirst()).type()));
        }
        buckets = List.copyOf(cut);
    }

    private static long sliceBytes(Parameter parameter) {
        return Math.ceilDiv(parameter.bytes(), ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
    }
}
