package io.jrun.launcher.process;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.nio.channels.ServerSocketChannel;

/**
 * Initialises on a second core what every job needs soon and what takes milliseconds the first time, while the launcher
 * reads the command line. No thread waits for the prewarming: the thread that first needs a thing makes it.
 */
public final class Prewarm {
    private Prewarm() {}

    /** Begins the prewarming in the background. */
    public static void begin() {
        Thread.ofPlatform().daemon().name("jrun-head-start").start(Prewarm::run);
    }

    private static void run() {
        var _ = ClassLoader.getSystemResource("in-no-jar"); // opens all jars, as the searches of gRPC and protobuf do
        var _ = "%d".formatted(0); // protobuf formats its version
        openSocket();
        FastExit.prepare();
    }

    /** The first socket loads the providers of SecureRandom. */
    private static void openSocket() {
        try {
            ServerSocketChannel.open(StandardProtocolFamily.UNIX).close();
        } catch (IOException e) {
            // The code that needs a socket reports the error.
        }
    }
}
