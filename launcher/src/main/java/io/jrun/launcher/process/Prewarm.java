package io.jrun.launcher.process;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.nio.channels.ServerSocketChannel;

/**
 * Does on a second core, while the command line is read, what every job needs a moment later and what takes milliseconds
 * the first time. Nobody waits for it: whoever needs a thing first makes it.
 */
public final class Prewarm {
    private Prewarm() {}

    /** Begins, in the background. */
    public static void begin() {
        Thread.ofPlatform().daemon().name("jrun-head-start").start(Prewarm::run);
    }

    private static void run() {
        var _ = ClassLoader.getSystemResource("in-no-jar"); // opens all of them, as gRPC's and protobuf's searches do
        var _ = "%d".formatted(0); // protobuf formats its version
        openSocket();
        FastExit.prepare();
    }

    /** The first socket loads the providers of SecureRandom. */
    private static void openSocket() {
        try {
            ServerSocketChannel.open(StandardProtocolFamily.UNIX).close();
        } catch (IOException e) {
            // Whoever needs one says so.
        }
    }
}
