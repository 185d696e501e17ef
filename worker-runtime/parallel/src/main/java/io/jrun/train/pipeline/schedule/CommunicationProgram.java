package io.jrun.train.pipeline.schedule;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A schedule with its sends and receives: for each rank the computations in their order. The receives of the inputs
 * come before a computation, and the sends of the outputs after the computation. All programs follow one common order
 * in which a send and its receive are neighbours. The programs therefore end even if every send waits for its receive.
 *
 * @param programs actions of each pipeline rank
 */
public record CommunicationProgram(List<List<PipelineAction>> programs) {
    /** Copies the lists. */
    public CommunicationProgram {
        programs = programs.stream().map(List::copyOf).toList();
    }

    /**
     * Adds sends and receives to {@code schedule} in the order in which its actions end when each takes one unit of
     * time.
     *
     * @throws ScheduleException if the schedule is a deadlock
     */
    public static CommunicationProgram of(PipelineSchedule schedule) {
        List<List<PipelineAction>> programs = new ArrayList<>();
        IntStream.range(0, schedule.ranks()).forEach(_ -> programs.add(new ArrayList<>()));
        for (ScheduleSimulation.TimedAction timed :
                ScheduleSimulation.of(schedule, ActionCosts.EQUAL).timeline()) {
            PipelineAction action = timed.action();
            programs.get(timed.rank()).add(action);
            boolean forward = action.kind() == ActionKind.FORWARD;
            int receiver = forward ? action.stage() + 1 : action.stage() - 1;
            if (!(forward || action.kind().givesInputGradient()) || receiver < 0 || receiver == schedule.stages()) {
                continue;
            }
            int receivingRank = schedule.rankOf(receiver);
            if (receivingRank != timed.rank()) {
                int microBatch = action.microBatch();
                ActionKind send = forward ? ActionKind.SEND_FORWARD : ActionKind.SEND_BACKWARD;
                ActionKind receive = forward ? ActionKind.RECEIVE_FORWARD : ActionKind.RECEIVE_BACKWARD;
                programs.get(timed.rank()).add(new PipelineAction(action.stage(), send, microBatch));
                programs.get(receivingRank).add(new PipelineAction(receiver, receive, microBatch));
            }
        }
        return new CommunicationProgram(programs);
    }
}
