package io.jrun.train.tensor;

import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.Work;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * The places at which training waits on the host for a device, and the way to order work without a wait. A wait stops
 * the host until the device has done all its work, so the device then idles until the host has queued more. Packages
 * that run in each step read numbers of tensors only here. Thread-safe.
 */
public final class DeviceWaits {
    private static final LongAdder WAITS = new LongAdder();

    /** The open refusals. */
    private static final AtomicInteger REFUSALS = new AtomicInteger();

    private DeviceWaits() {}

    /** Waits are refused until the object is closed. */
    public interface Refusal extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * Refuses the waits of all threads until the object is closed, because a device records its work. A refused wait
     * throws IllegalStateException. Its stack names the place. With several refusals, waits are refused until the last one
     * is closed.
     */
    public static Refusal refuse() {
        REFUSALS.incrementAndGet();
        AtomicBoolean isOpen = new AtomicBoolean(true);
        return () -> {
            if (isOpen.getAndSet(false)) {
                REFUSALS.decrementAndGet();
            }
        };
    }

    /** The number of waits of this process for a device so far. Reads of tensors on the CPU are no waits. */
    public static long count() {
        return WAITS.sum();
    }

    /** The only element of a tensor. Waits if the tensor is on a device. */
    public static double number(Tensor scalar) {
        note(scalar);
        return scalar.item_double();
    }

    /** The only element of a tensor of integers. Waits if the tensor is on a device. */
    public static long integer(Tensor scalar) {
        note(scalar);
        return scalar.item_long();
    }

    /** The only element of a tensor of truth values. Waits if the tensor is on a device. */
    public static boolean flag(Tensor scalar) {
        note(scalar);
        return scalar.item_bool();
    }

    /** All elements of some tensors, one after the other. Waits at most once. */
    public static double[] numbers(List<Tensor> tensors) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            Tensor[] flat = tensors.stream()
                    .map(tensor -> tensor.to(torch.ScalarType.Double).view(-1))
                    .toArray(Tensor[]::new);
            Tensor all = onHost(torch.cat(new TensorVector(flat)));
            double[] values = new double[Math.toIntExact(all.numel())];
            all.data_ptr_double().get(values);
            return values;
        }
    }

    /** The elements of a tensor in host memory: the tensor itself, or a copy for which the host waits. */
    public static Tensor onHost(Tensor tensor) {
        note(tensor);
        return TensorMemory.onHost(tensor);
    }

    /**
     * Copies all elements of a tensor to a tensor of the same type and shape in host memory. Waits if the first tensor
     * is on a device.
     */
    public static void copyToHost(Tensor from, Tensor to) {
        note(from);
        TensorMemory.copy(from, to);
    }

    /**
     * Copies all elements of tensors to tensors of the same types and shapes in host memory. Waits once for each device:
     * the copies of a device run in the order of its stream, so the end of the last copy is the end of all.
     */
    public static void copyToHost(List<Tensor> from, List<Tensor> to) {
        Map<Device, Integer> last = lastCopies(from);
        last.values().forEach(number -> note(from.get(number))); // a refused wait leaves no copy in the stream
        for (int i = 0; i < from.size(); i++) {
            if (last.containsValue(i) || TensorMemory.device(from.get(i)).isCpu()) {
                TensorMemory.copy(from.get(i), to.get(i));
            } else {
                to.get(i).copy_(from.get(i), true);
            }
        }
    }

    /** The number of the last tensor of each device whose copy waits. A copy of no elements does not wait. */
    static Map<Device, Integer> lastCopies(List<Tensor> from) {
        Map<Device, Integer> last = new HashMap<>();
        for (int i = 0; i < from.size(); i++) {
            if (from.get(i).numel() > 0) {
                last.put(TensorMemory.device(from.get(i)), i);
            }
        }
        return last;
    }

    private static void note(Tensor tensor) {
        if (TensorMemory.device(tensor).isCpu()) {
            return;
        }
        if (REFUSALS.get() > 0) {
            throw new IllegalStateException("the host waits for the device inside the recorded work");
        }
        WAITS.increment();
    }

    /**
     * Lets all that the program queues on a device from now on run after {@code work}. The host waits if the work is on
     * host memory; for a receive until its message is in host memory; and for the first operation of a group.
     *
     * @param device the device of the buffers of the work
     * @throws io.jrun.comm.CommException as {@link Work#awaitOn}
     */
    public static void order(Work work, Device device) {
        if (device.isCpu()) {
            work.await();
        } else {
            work.awaitOn(DeviceStream.defaultOf(device));
        }
    }
}
