package io.jrun.comm.flight;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.record.OperationRecord;
import io.jrun.comm.record.OperationState;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class FlightRecorderTest {
    private final FlightRecorder recorder = new FlightRecorder();
    private final RecordedGroup world = recorder.group("world", List.of(0, 1));

    private static Call call(long sequence, OpKind kind, long count) {
        return new Call(
                sequence,
                kind,
                DataType.F32,
                ReduceOp.MAX,
                count,
                0,
                MemorySegment.NULL,
                MemorySegment.NULL,
                Deadline.after(Duration.ofMinutes(1)));
    }

    private long run(RecordedGroup group, long sequence, long count) {
        Call call = call(sequence, OpKind.ALL_REDUCE, count);
        long ticket = recorder.started(group, FlightRecorder.NO_TICKET, call);
        recorder.ended(group, ticket, call, true, "");
        return ticket;
    }

    @Test
    void anOperationIsKeptWithAllThatIsKnownOfIt() {
        RecordedGroup other = recorder.group("world.0c1", List.of(1));
        Call call = call(7, OpKind.ALL_REDUCE, 5000);
        long ticket = recorder.queued(other, call);
        assertThat(recorder.snapshot().getFirst().state()).isEqualTo(OperationState.QUEUED);
        assertThat(recorder.started(other, ticket, call)).isEqualTo(ticket);
        recorder.ended(other, ticket, call, true, "");
        assertThat(recorder.snapshot()).singleElement().satisfies(operation -> {
            assertThat(operation.group()).isEqualTo("world.0c1");
            assertThat(operation.state()).isEqualTo(OperationState.COMPLETED);
            assertThat(operation.call()).isEqualTo("allReduce #7(f32, 5000, MAX)");
            assertThat(operation.startedAgoNanos()).isBetween(1L, System.nanoTime() - call.startNanoTime());
            assertThat(operation.endedAgoNanos()).isBetween(0L, operation.startedAgoNanos());
        });
        assertThat(other.startedCollectives()).isEqualTo(8);
        assertThat(world.startedCollectives()).isZero();
    }

    @Test
    void theLastOnesAreKeptInTheirOrder() {
        int count = 3 * FlightRecorder.CAPACITY + 5;
        for (int i = 0; i < count; i++) {
            run(world, i, 1);
        }
        List<OperationRecord> kept = recorder.snapshot();
        assertThat(kept).hasSize(FlightRecorder.CAPACITY);
        assertThat(kept.getFirst().sequence()).isEqualTo(count - FlightRecorder.CAPACITY);
        assertThat(kept).isSortedAccordingTo((a, b) -> Long.compare(a.sequence(), b.sequence()));
        assertThat(recorder.total()).isEqualTo(count);
    }

    @Test
    void anOperationThatRunsIsKeptHoweverManyFollow() {
        Call stuck = call(0, OpKind.BARRIER, 0);
        long ticket = recorder.started(world, FlightRecorder.NO_TICKET, stuck);
        RecordedGroup other = recorder.group("other", List.of(0));
        for (int i = 0; i < 2 * FlightRecorder.CAPACITY; i++) {
            run(other, i, 1);
        }
        assertThat(recorder.snapshot())
                .filteredOn(operation -> operation.group().equals("world"))
                .singleElement()
                .extracting(OperationRecord::state)
                .isEqualTo(OperationState.STARTED);
        recorder.ended(world, ticket, stuck, false, "");
        assertThat(recorder.snapshot()).extracting(OperationRecord::state).containsOnlyOnce(OperationState.FAILED);
    }

    @Test
    void aQueuedOperationWhoseEntryWasNeededIsRecordedAgainWhenItStarts() {
        Call late = call(0, OpKind.BARRIER, 0);
        long ticket = recorder.queued(world, late);
        RecordedGroup other = recorder.group("other", List.of(0));
        for (int i = 0; i < FlightRecorder.CAPACITY; i++) {
            run(other, i, 1);
        }
        assertThat(recorder.snapshot()).extracting(OperationRecord::group).doesNotContain("world");
        assertThat(recorder.started(world, ticket, late)).isNotEqualTo(ticket);
        assertThat(recorder.snapshot().getLast().group()).isEqualTo("world");
    }

    @Test
    @Timeout(60)
    void aSnapshotAmidWritersHasNoTornEntry() throws InterruptedException {
        AtomicBoolean done = new AtomicBoolean();
        List<Thread> writers = new ArrayList<>();
        for (int writer = 1; writer <= 2; writer++) {
            RecordedGroup group = recorder.group("group" + writer, List.of(0));
            int factor = writer;
            writers.add(Thread.ofPlatform().daemon().start(() -> {
                for (long i = 0; !done.get(); i++) {
                    run(group, i, factor * (i + 1));
                }
            }));
        }
        long seen = 0;
        for (int look = 0; look < 200 || seen == 0; look++) { // the writers may not have begun
            for (OperationRecord operation : recorder.snapshot()) {
                long factor = operation.group().endsWith("2") ? 2 : 1;
                assertThat(operation.count()).isEqualTo(factor * (operation.sequence() + 1));
                seen++;
            }
        }
        done.set(true);
        for (Thread writer : writers) {
            writer.join();
        }
    }

    @Test
    void groupsClosedLongAgoAreForgotten() {
        List<RecordedGroup> closed = new ArrayList<>();
        for (int number = 0; number <= FlightRecorder.MAX_CLOSED_GROUPS; number++) {
            RecordedGroup group = recorder.group("g" + number, List.of(0));
            closed.add(group);
            long _ = run(group, 0, 1);
            recorder.closed(group);
        }
        RecordedGroup open = recorder.group("open", List.of(0));

        assertThat(recorder.groups())
                .hasSize(2 + FlightRecorder.MAX_CLOSED_GROUPS)
                .contains(world, closed.get(1), open)
                .doesNotContain(closed.getFirst());
        assertThat(recorder.snapshot()).extracting(OperationRecord::group).startsWith("g1", "g2");
    }
}
