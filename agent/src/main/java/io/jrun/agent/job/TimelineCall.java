package io.jrun.agent.job;

import com.google.protobuf.UnsafeByteOperations;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.jrun.agent.proto.TimelinePiece;
import io.jrun.comm.timeline.TimelineCopy;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Sends timelines of workers to the launcher, only as much as the launcher reads. Used once. */
final class TimelineCall {
    private static final int PIECE_BYTES = 1 << 18;

    private final ServerCallStreamObserver<TimelinePiece> toLauncher;
    private final Object readiness = new Object();

    /** Made in the call's own method, because the handler of readiness must be set there. */
    TimelineCall(ServerCallStreamObserver<TimelinePiece> toLauncher) {
        this.toLauncher = toLauncher;
        toLauncher.setCompression("gzip");
        toLauncher.setOnReadyHandler(this::ready);
        toLauncher.setOnCancelHandler(this::ready);
    }

    private void ready() {
        synchronized (readiness) {
            readiness.notifyAll();
        }
    }

    /**
     * Begins to send.
     *
     * @param logs the log folder of the job; other files are not sent
     */
    void begin(Path logs, List<String> files) {
        Thread.ofVirtual().name("jrun-timelines").start(() -> send(logs, files));
    }

    private void send(Path logs, List<String> files) {
        try {
            for (int index = 0; index < files.size(); index++) {
                Path file = logs.resolve(files.get(index)).normalize();
                if (file.startsWith(logs) && Files.isRegularFile(file)) {
                    TimelineCopy.write(file, new Pieces(index));
                }
            }
            toLauncher.onCompleted();
        } catch (IOException e) {
            if (!toLauncher.isCancelled()) {
                toLauncher.onError(Status.DATA_LOSS
                        .withDescription("the timelines cannot be read: " + e.getMessage())
                        .asRuntimeException());
            }
        }
    }

    private final class Pieces extends OutputStream {
        private final int file;

        Pieces(int file) {
            this.file = file;
        }

        @Override
        public void write(int value) throws IOException {
            write(new byte[] {(byte) value}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int from, int count) throws IOException {
            for (int at = from; at < from + count; at += PIECE_BYTES) {
                awaitReady();
                byte[] piece = Arrays.copyOfRange(bytes, at, Math.min(from + count, at + PIECE_BYTES));
                toLauncher.onNext(TimelinePiece.newBuilder()
                        .setFile(file)
                        .setData(UnsafeByteOperations.unsafeWrap(piece))
                        .build());
            }
        }

        /** The launcher limits the time of the call. */
        private void awaitReady() throws IOException {
            try {
                synchronized (readiness) {
                    while (!toLauncher.isReady() && !toLauncher.isCancelled()) {
                        TimeUnit.SECONDS.timedWait(readiness, 1);
                    }
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", e);
            }
            if (toLauncher.isCancelled()) {
                throw new IOException("the launcher has ended the call");
            }
        }
    }
}
