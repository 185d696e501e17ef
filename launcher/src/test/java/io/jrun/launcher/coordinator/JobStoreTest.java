package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame;
import io.jrun.comm.control.StoreCommand;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The rounds of the store: each request gets an answer. */
class JobStoreTest {
    private final JobStore store = new JobStore(() -> 0);
    private final List<Frame.StoreReply> answers = new ArrayList<>();

    private void submit(int round, long id, StoreCommand command) {
        store.submit(round, new Frame.StoreRequest(id, command), answers::add);
    }

    private void assertAnswered(Frame.StoreReply expected) {
        assertThat(answers).containsExactly(expected);
        answers.clear();
    }

    private static Frame.StoreReply over(long id) {
        return new Frame.StoreReply(
                id,
                Optional.empty(),
                "round over: round 1 of the job has ended, and its store with it; round 2 runs now");
    }

    @Test
    void aRequestOfAnotherRoundFailsWithTheRound() {
        store.startRound(2);
        submit(1, 7, new StoreCommand.Set("key", Bytes.ofUtf8("x")));
        assertAnswered(over(7));
        submit(2, 8, new StoreCommand.Get("key", 0));
        assertAnswered(new Frame.StoreReply(8, Optional.empty(), "timeout: no rank has set [key]"));
    }

    @Test
    void waitsFailWhenTheRoundEnds() {
        store.startRound(1);
        submit(1, 7, new StoreCommand.Get("key", 60_000));
        assertThat(answers).isEmpty();
        store.startRound(2);
        assertAnswered(over(7));
    }
}
