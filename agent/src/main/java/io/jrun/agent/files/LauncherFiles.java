package io.jrun.agent.files;

import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.FileChunk;
import io.jrun.agent.proto.FileRequest;
import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Reads files of the launcher over a Files stream. The launcher's messages go to {@link #answers}, and one thread at a
 * time requests files. A request waits for its answer as long as the stream is open, because a stopped launcher
 * (Ctrl-Z) continues later, and the hash of a terabyte takes long. The kernel ends the stream when the other host does
 * not answer.
 */
public final class LauncherFiles {
    private static final int PIECE_BYTES = 1 << 18;

    /**
     * The number of pieces in flight: enough for 1 GB/s with a round trip of a millisecond. With 1,000 nodes these are
     * 1 GiB of the launcher's memory.
     */
    private static final int PIECES_UNDER_WAY = 4;

    private final StreamObserver<FileRequest> requests;
    private final BlockingQueue<FileChunk> answers = new LinkedBlockingQueue<>();

    /** Reads from the launcher behind {@code requests}. The caller must not use {@code requests} any more. */
    public LauncherFiles(StreamObserver<FileRequest> requests) {
        this.requests = requests;
    }

    /** The receiver of the launcher's messages. */
    public StreamObserver<FileChunk> answers() {
        return new StreamObserver<>() {
            @Override
            public void onNext(FileChunk chunk) {
                answers.add(chunk);
            }

            @Override
            public void onError(Throwable lost) {
                ended("the launcher's stream of files has broken: "
                        + Status.fromThrowable(lost).getCode());
            }

            @Override
            public void onCompleted() {
                ended("the launcher has ended the stream of files");
            }
        };
    }

    private void ended(String why) {
        answers.add(FileChunk.newBuilder().setError(why).build());
    }

    byte[] sha256(int file) throws StagingException, InterruptedException {
        request(FileRequest.newBuilder().setFile(file).setDigest(true));
        return answer().getSha256().toByteArray();
    }

    /** Writes the whole file to {@code out}. */
    void read(int file, long size, OutputStream out) throws IOException, StagingException, InterruptedException {
        long requested = 0;
        long written = 0;
        while (written < size) {
            while (requested < size && requested - written < (long) PIECES_UNDER_WAY * PIECE_BYTES) {
                int bytes = (int) Math.min(PIECE_BYTES, size - requested);
                request(FileRequest.newBuilder()
                        .setFile(file)
                        .setOffset(requested)
                        .setBytes(bytes));
                requested += bytes;
            }
            FileChunk chunk = answer();
            chunk.getData().writeTo(out);
            written += chunk.getData().size();
        }
    }

    private void request(FileRequest.Builder request) {
        requests.onNext(request.build());
    }

    private FileChunk answer() throws StagingException, InterruptedException {
        FileChunk chunk = answers.take();
        if (chunk.hasError()) {
            throw new StagingException(chunk.getError());
        }
        return chunk;
    }

    /** Ends the requests. */
    void close() {
        requests.onCompleted();
    }

    /** Makes a pending request fail. Called from another thread. */
    void abort() {
        ended("the job has ended");
    }
}
