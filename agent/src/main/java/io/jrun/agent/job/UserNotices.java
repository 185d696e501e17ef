package io.jrun.agent.job;

import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.UserNotice;
import java.util.function.Consumer;

/** Sends messages for the user to the coordinator. Thread-safe. */
final class UserNotices implements Consumer<String> {
    private final ResponseStream<ControlResponse> out;

    UserNotices(ResponseStream<ControlResponse> out) {
        this.out = out;
    }

    @Override
    public void accept(String text) {
        out.send(ControlResponse.newBuilder()
                .setNotice(UserNotice.newBuilder().setText(text))
                .build());
    }
}
