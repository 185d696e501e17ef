package io.jrun.train.pipeline;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.pipeline.schedule.ActionKind;
import io.jrun.train.pipeline.schedule.CommunicationProgram;
import io.jrun.train.pipeline.schedule.PipelineAction;
import io.jrun.train.pipeline.schedule.PipelineSchedule;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Runs the actions of one rank in their order: computations, sends and receives. Sends and receives are asynchronous; a
 * computation waits only for its own input. Confined to one thread.
 */
public final class PipelineExecutor {
    private final PipelineSchedule schedule;
    private final List<PipelineAction> program;
    private final StageTransfers transfers;
    /** Tensors between an action and the next, by the send that takes them away. */
    private final Map<PipelineAction, Tensor> outgoing = new HashMap<>();
    /** Tensors that need no message, by the receive that would bring them. */
    private final Map<PipelineAction, Tensor> local = new HashMap<>();

    private final Map<PipelineAction, StageTransfers.PendingReceive> incoming = new HashMap<>();
    private final List<ActionSpan> spans = new ArrayList<>();
    private int live;
    private int peakLive;

    /**
     * An executor of the schedule on this rank.
     *
     * @param group the ranks of the pipeline, one for each program of the schedule
     * @param device of the tensors between stages
     */
    public PipelineExecutor(PipelineSchedule schedule, ProcessGroup group, Device device) {
        this.schedule = schedule;
        this.program = CommunicationProgram.of(schedule).programs().get(group.groupRank());
        this.transfers = new StageTransfers(schedule, group, device);
    }

    /** Runs the program once. All ranks of the pipeline call it. */
    public void run(StageComputation computation) {
        incoming.clear(); // not at the end: a receive of a failed run may still write into its tensor
        spans.clear();
        live = 0;
        peakLive = 0;
        transfers.begin();
        try {
            program.forEach(action -> run(action, computation));
            transfers.end();
        } finally {
            outgoing.values().forEach(Tensor::close);
            outgoing.clear();
            local.values().forEach(Tensor::close);
            local.clear();
        }
    }

    private void run(PipelineAction action, StageComputation computation) {
        switch (action.kind()) {
            case FORWARD -> {
                Tensor input = action.stage() == 0 ? null : take(action, ActionKind.RECEIVE_FORWARD);
                peakLive = Math.max(peakLive, ++live);
                Tensor output = timed(action, () -> computation.forward(action, input));
                pass(action, output, action.stage() + 1, ActionKind.SEND_FORWARD, ActionKind.RECEIVE_FORWARD);
            }
            case FULL_BACKWARD, INPUT_BACKWARD -> {
                boolean isLast = action.stage() == schedule.stages() - 1;
                Tensor gradient = isLast ? null : take(action, ActionKind.RECEIVE_BACKWARD);
                Tensor passed = timed(action, () -> computation.backward(action, gradient));
                live -= action.kind() == ActionKind.FULL_BACKWARD ? 1 : 0;
                pass(action, passed, action.stage() - 1, ActionKind.SEND_BACKWARD, ActionKind.RECEIVE_BACKWARD);
            }
            case WEIGHT_BACKWARD -> {
                timed(action, () -> {
                    computation.weightBackward(action);
                    return null;
                });
                live--;
            }
            case SEND_FORWARD, SEND_BACKWARD -> transfers.send(action, Objects.requireNonNull(outgoing.remove(action)));
            case RECEIVE_FORWARD, RECEIVE_BACKWARD -> incoming.put(action, transfers.receive(action));
        }
    }

    /** One computation of a stage, with the tensor that leaves the stage. */
    private interface Computation {
        @Nullable
        Tensor run();
    }

    private @Nullable Tensor timed(PipelineAction action, Computation computation) {
        long begin = System.nanoTime();
        Tensor result = computation.run();
        spans.add(new ActionSpan(action, begin, System.nanoTime()));
        return result;
    }

    private Tensor take(PipelineAction action, ActionKind receive) {
        PipelineAction key = new PipelineAction(action.stage(), receive, action.microBatch());
        Tensor here = local.remove(key);
        return here != null
                ? here
                : Objects.requireNonNull(incoming.remove(key)).await();
    }

    private void pass(PipelineAction action, @Nullable Tensor tensor, int stage, ActionKind send, ActionKind receive) {
        if (tensor == null || stage < 0 || stage == schedule.stages()) {
            return;
        }
        if (schedule.rankOf(stage) == schedule.rankOf(action.stage())) {
            local.put(new PipelineAction(stage, receive, action.microBatch()), tensor);
        } else {
            outgoing.put(new PipelineAction(action.stage(), send, action.microBatch()), tensor);
        }
    }

    /** When each action of the last run was computed, in the order of the program. */
    public List<ActionSpan> spans() {
        return List.copyOf(spans);
    }

    /** Most micro-batches whose activations this rank held at one time in the last run. */
    public int peakLive() {
        return peakLive;
    }

    /**
     * Bytes of activations and gradients that this rank has sent in the last run, without the messages about shapes.
     */
    public long bytesSent() {
        return transfers.bytesSent();
    }
}
