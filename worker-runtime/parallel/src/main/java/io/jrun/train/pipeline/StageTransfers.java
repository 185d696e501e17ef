package io.jrun.train.pipeline;

import io.jrun.comm.Buffer;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.Work;
import io.jrun.train.pipeline.schedule.ActionKind;
import io.jrun.train.pipeline.schedule.PipelineAction;
import io.jrun.train.pipeline.schedule.PipelineSchedule;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensor.TensorTypes;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Activations and gradients on their way between the ranks of a pipeline. In each step the first activation that leaves
 * a stage is preceded by a message about its type and shape. All further activations of the boundary, and all
 * gradients, have the same form; the sender checks it.
 */
final class StageTransfers {
    /** The first tag. The tags of programs count from 0. */
    private static final int FIRST_TAG = 1 << 24;

    private static final int TAGS_OF_MICRO_BATCH = 3;

    private static final List<DataType> TYPES = List.of(DataType.values());

    /** Type, number of dimensions, sizes. */
    private static final int HEADER = 10;

    /** The kind of a message. Each message of a step has a tag of its own, so receives may be posted in any order. */
    private enum TagKind {
        FORM(0),
        ACTIVATION(1),
        GRADIENT(2);

        private final int offset;

        TagKind(int offset) {
            this.offset = offset;
        }

        static TagKind of(boolean forward) {
            return forward ? ACTIVATION : GRADIENT;
        }
    }

    private record TensorForm(DataType type, List<Long> sizes) {
        static TensorForm of(Tensor tensor) {
            DataType type = TensorTypes.of(tensor)
                    .orElseThrow(() -> new PipelineException(
                            "process groups do not know the type of " + TensorMemory.form(tensor)));
            return new TensorForm(
                    type, Arrays.stream(TensorMemory.sizes(tensor)).boxed().toList());
        }

        long count() {
            return sizes.stream().reduce(1L, Math::multiplyExact);
        }

        @Override
        public String toString() {
            return type + sizes.toString();
        }
    }

    private final PipelineSchedule schedule;
    private final ProcessGroup group;
    private final Device device;
    /** The form of the tensors behind each stage. */
    private final Map<Integer, TensorForm> forms = new HashMap<>();

    private final List<Work> sends = new ArrayList<>();
    private long bytesSent;

    /** @param device of the tensors */
    StageTransfers(PipelineSchedule schedule, ProcessGroup group, Device device) {
        this.schedule = schedule;
        this.group = group;
        this.device = device;
    }

    /** Begins a step, whose tensors may have other shapes than those of the step before. */
    void begin() {
        forms.clear();
        sends.clear();
        bytesSent = 0;
    }

    /**
     * Lets all that the program queues on the device afterwards run after the tensors of the step have left. Waits if
     * the tensors are in host memory.
     */
    void end() {
        sends.forEach(send -> DeviceWaits.order(send, device));
        sends.clear();
    }

    long bytesSent() {
        return bytesSent;
    }

    /** Sends a tensor and closes it when it has left. */
    void send(PipelineAction action, Tensor tensor) {
        boolean forward = action.kind() == ActionKind.SEND_FORWARD;
        int boundary = forward ? action.stage() : action.stage() - 1;
        int destination = schedule.rankOf(forward ? action.stage() + 1 : action.stage() - 1);
        TensorForm form = TensorForm.of(tensor);
        TensorForm expected = forms.putIfAbsent(boundary, form);
        if (expected == null) {
            sends.add(group.messages()
                    .sendAsync(
                            MemorySegment.ofArray(header(form)),
                            DataType.I64,
                            HEADER,
                            destination,
                            tag(boundary, 0, TagKind.FORM)));
        } else if (!expected.equals(form)) {
            throw new PipelineException(action + ": the " + (forward ? "output" : "gradient") + " is " + form
                    + ", but the first output of this step was " + expected
                    + ". All micro-batches of a step must have equal shapes. Drop or pad the rest of the batch.");
        }
        bytesSent += tensor.nbytes();
        Work work = group.messages()
                .sendAsync(buffer(tensor, form), destination, tag(boundary, action.microBatch(), TagKind.of(forward)));
        var _ = work.future().whenComplete((_, _) -> tensor.close());
        sends.add(work);
    }

    private Buffer buffer(Tensor tensor, TensorForm form) {
        return new Buffer(TensorMemory.elements(tensor), form.type(), form.count(), device);
    }

    private static long[] header(TensorForm form) {
        if (form.sizes().size() > HEADER - 2) {
            throw new PipelineException("the output of a stage has "
                    + form.sizes().size() + " dimensions: at most " + (HEADER - 2) + " travel between stages");
        }
        long[] header = new long[HEADER];
        header[0] = TYPES.indexOf(form.type());
        header[1] = form.sizes().size();
        for (int i = 0; i < form.sizes().size(); i++) {
            header[2 + i] = form.sizes().get(i);
        }
        return header;
    }

    /** Posts the receive of a tensor; if its form is not known yet, {@link PendingReceive#await} does. */
    PendingReceive receive(PipelineAction action) {
        boolean forward = action.kind() == ActionKind.RECEIVE_FORWARD;
        int boundary = forward ? action.stage() - 1 : action.stage();
        int source = schedule.rankOf(forward ? action.stage() - 1 : action.stage() + 1);
        PendingReceive incoming =
                new PendingReceive(boundary, source, tag(boundary, action.microBatch(), TagKind.of(forward)));
        if (forms.containsKey(boundary)) {
            incoming.post();
        }
        return incoming;
    }

    private int tag(int boundary, int microBatch, TagKind kind) {
        return FIRST_TAG + (microBatch * schedule.stages() + boundary) * TAGS_OF_MICRO_BATCH + kind.offset;
    }

    /** A tensor that is expected. */
    final class PendingReceive {
        private final int boundary;
        private final int source;
        private final int tag;
        private @Nullable Tensor tensor;
        private @Nullable Work work;

        private PendingReceive(int boundary, int source, int tag) {
            this.boundary = boundary;
            this.source = source;
            this.tag = tag;
        }

        private void post() {
            TensorForm form = forms.computeIfAbsent(boundary, _ -> receiveForm());
            long[] sizes = form.sizes().stream().mapToLong(Long::longValue).toArray();
            Tensor memory;
            try (PointerScope _ = new PointerScope()) {
                memory = TensorMemory.own(TensorMemory.empty(device, TensorTypes.scalarType(form.type()), sizes));
            }
            tensor = memory;
            work = group.messages().recvAsync(buffer(memory, form), source, tag);
        }

        private TensorForm receiveForm() {
            long[] header = new long[HEADER];
            group.messages()
                    .recv(MemorySegment.ofArray(header), DataType.I64, HEADER, source, tag(boundary, 0, TagKind.FORM));
            List<Long> sizes = Arrays.stream(header, 2, 2 + Math.toIntExact(header[1]))
                    .boxed()
                    .toList();
            return new TensorForm(TYPES.get(Math.toIntExact(header[0])), sizes);
        }

        /**
         * Waits for the message. All that the program queues on the device afterwards sees the tensor, which the caller
         * closes.
         */
        Tensor await() {
            if (work == null) {
                post();
            }
            DeviceWaits.order(Objects.requireNonNull(work), device);
            return Objects.requireNonNull(tensor);
        }
    }
}
