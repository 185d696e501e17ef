package io.jrun.train.pipeline.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ScheduleCheckTest {
    private static PipelineSchedule twoRanks(int microBatches, String... lines) {
        return new PipelineSchedule(
                List.of(0, 1),
                microBatches,
                Stream.of(lines).map(PipelineSchedule::parseLine).toList());
    }

    @Test
    void acceptsACompleteSchedule() {
        assertThatCode(() -> ScheduleCheck.requireRunnable(twoRanks(2, "0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1I1 1W1")))
                .doesNotThrowAnyException();
    }

    @Test
    void namesTheActionThatIsMissingDoubleOrForeign() {
        assertThatThrownBy(() -> ScheduleCheck.requireRunnable(twoRanks(2, "0F0 0B0 0B1", "1F0 1B0 1F1 1B1")))
                .hasMessage("the schedule lacks 0F1");
        assertThatThrownBy(() -> ScheduleCheck.requireRunnable(twoRanks(1, "0F0 0B0", "1F0 1F0 1B0")))
                .hasMessage("rank 1 runs 1F0 twice");
        assertThatThrownBy(() -> ScheduleCheck.requireRunnable(twoRanks(1, "0F0 0B0", "1F0")))
                .hasMessage("stage 1 needs one backward pass of micro-batch 0: the schedule has none");
        assertThatThrownBy(() -> ScheduleCheck.requireRunnable(twoRanks(1, "0F0 0B0 0W0", "1F0 1B0")))
                .hasMessage("stage 0 needs one backward pass of micro-batch 0: the schedule has two");
        assertThatThrownBy(() -> ScheduleCheck.requireRunnable(twoRanks(1, "0F0 0B0", "1F0 1I0")))
                .hasMessage("the schedule lacks 1W0");
        assertThatThrownBy(() -> ScheduleCheck.requireRunnable(twoRanks(1, "0F0 1F0 0B0", "1B0")))
                .hasMessage("rank 0 cannot run 1F0");
    }

    @Test
    void namesTheWaitingRanksOfADeadlock() {
        assertThatThrownBy(() -> ScheduleCheck.requireRunnable(twoRanks(2, "0F0 0B0 0F1 0B1", "1F0 1F1 1B0 1B1")))
                .hasMessageContaining("rank 0 at 0B0, rank 1 at 1F1");
    }

    /** The same computations, with the sends in an order that only works when sends do not wait. */
    @Test
    void seesTheDeadlockOfBlockingSends() {
        PipelineSchedule schedule = twoRanks(2, "0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1");
        CommunicationProgram crossed = new CommunicationProgram(List.of(
                PipelineSchedule.parseLine("0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1"),
                PipelineSchedule.parseLine("1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1B1 1SEND_B1")));
        assertThatThrownBy(() -> ScheduleCheck.requireEndWithBlockingSends(crossed, schedule))
                .hasMessage("with blocking sends rank 0 waits for ever at 0SEND_F1");
        assertThat(CommunicationProgram.of(schedule).programs().getLast())
                .startsWith(PipelineSchedule.parseLine("1RECV_F0 1RECV_F1").toArray(PipelineAction[]::new));
    }

    @Test
    void readsAndPrintsActions() {
        assertThat(PipelineAction.parse("12RECV_B7")).isEqualTo(new PipelineAction(12, ActionKind.RECEIVE_BACKWARD, 7));
        assertThat(new PipelineAction(1, ActionKind.INPUT_BACKWARD, 3)).hasToString("1I3");
        for (String wrong : List.of("", "F0", "1F", "1X0", "1f0", "-1F0", "1F0 ", "99999999999F0")) {
            assertThatThrownBy(() -> PipelineAction.parse(wrong))
                    .isInstanceOf(ScheduleException.class)
                    .hasMessageContaining("'" + wrong + "' is not an action");
        }
    }
}
