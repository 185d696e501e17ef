package io.jrun.agent.control;

import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Accepts connections until its channel is closed. Continues after failures, such as a process without free file
 * descriptors.
 */
public final class Acceptor {
    /** The pause after a failure. Without a free descriptor each attempt fails at once. */
    private static final long PAUSE_MILLIS = 100;

    private final ServerSocketChannel channel;
    private final Consumer<String> notices;
    private boolean reported;

    /** @param notices receives one message with the reason of a failure */
    public Acceptor(ServerSocketChannel channel, Consumer<String> notices) {
        this.channel = channel;
        this.notices = notices;
    }

    /** Passes each connection to {@code taker}, on the thread of the caller. */
    public void run(Consumer<SocketChannel> taker) {
        while (channel.isOpen()) {
            try {
                taker.accept(channel.accept());
            } catch (ClosedChannelException e) {
                return;
            } catch (IOException e) {
                pauseAfter(e);
            }
        }
    }

    private void pauseAfter(IOException problem) {
        if (!reported) {
            reported = true;
            notices.accept(String.valueOf(problem.getMessage()));
        }
        try {
            TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // closes the channel with the next accept
        }
    }
}
