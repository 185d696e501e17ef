package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.jrun.agent.proto.StoreReply;
import io.jrun.agent.proto.StoreRequest;
import io.jrun.agent.proto.ToAgent;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame;
import io.jrun.comm.control.FrameCodec;
import io.jrun.comm.control.StoreCommand;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The store's rounds: whoever asks is answered. */
class JobStoreTest {
    private final JobStore store = new JobStore(() -> 0);
    private final List<ToAgent> answers = new ArrayList<>();

    private void ask(int round, long id, StoreCommand command) {
        store.submit(
                StoreRequest.newBuilder()
                        .setRank(3)
                        .setRound(round)
                        .setFrame(ByteString.copyFrom(FrameCodec.encode(new Frame.StoreRequest(id, command))))
                        .build(),
                answers::add);
    }

    private void assertAnswered(int round, Frame.StoreReply expected) throws IOException {
        assertThat(answers).hasSize(1);
        StoreReply reply = answers.removeFirst().getStoreReply();
        assertThat(reply.getRank()).isEqualTo(3);
        assertThat(reply.getRound()).isEqualTo(round);
        assertThat(FrameCodec.read(new DataInputStream(reply.getFrame().newInput())))
                .isEqualTo(expected);
    }

    private static Frame.StoreReply over(long id) {
        return new Frame.StoreReply(
                id,
                Optional.empty(),
                "round over: round 1 of the job has ended, and its store with it; round 2 runs now");
    }

    @Test
    void aRequestOfAnotherRoundIsToldSo() throws IOException {
        store.startRound(2);
        ask(1, 7, new StoreCommand.Set("key", Bytes.ofUtf8("x")));
        assertAnswered(1, over(7));
        ask(2, 8, new StoreCommand.Get("key", 0));
        assertAnswered(2, new Frame.StoreReply(8, Optional.empty(), "timeout: no rank has set [key]"));
    }

    @Test
    void whoWaitsWhenTheRoundEndsIsToldSo() throws IOException {
        store.startRound(1);
        ask(1, 7, new StoreCommand.Get("key", 60_000));
        assertThat(answers).isEmpty();
        store.startRound(2);
        assertAnswered(1, over(7));
    }
}
