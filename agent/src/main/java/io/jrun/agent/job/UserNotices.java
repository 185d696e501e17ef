package io.jrun.agent.job;

import io.jrun.agent.proto.FromAgent;
import io.jrun.agent.proto.Notice;
import java.util.function.Consumer;

/** Sends sentences for the user to the coordinator. Thread-safe. */
final class UserNotices implements Consumer<String> {
    private final ResponseStream<FromAgent> out;

    UserNotices(ResponseStream<FromAgent> out) {
        this.out = out;
    }

    @Override
    public void accept(String text) {
        out.send(FromAgent.newBuilder()
                .setNotice(Notice.newBuilder().setText(text))
                .build());
    }
}
