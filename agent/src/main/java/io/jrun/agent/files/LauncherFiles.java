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
 * The launcher's files, over a Files stream: what it sends goes into {@link #answers}, and one thread at a time asks. Waits for
 * an answer as long as the stream lasts, which the kernel ends when the other host falls silent: a launcher that is stopped
 * (Ctrl-Z) goes on where it was, and one that hashes a terabyte takes its time.
 */
public final class LauncherFiles {
    private static final int PIECE_BYTES = 1 << 18;

    /** Enough for 1 GB/s over a round trip of a millisecond; with 1,000 nodes, 1 GiB of the launcher's in all. */
    private static final int PIECES_UNDER_WAY = 4;

    private final StreamObserver<FileRequest> requests;
    private final BlockingQueue<FileChunk> answers = new LinkedBlockingQueue<>();

    /** The launcher behind {@code requests}, which nobody else may use. */
    public LauncherFiles(StreamObserver<FileRequest> requests) {
        this.requests = requests;
    }

    /** Where the stream's incoming side goes. */
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
        ask(FileRequest.newBuilder().setFile(file).setDigest(true));
        return answer().getSha256().toByteArray();
    }

    /** Writes the whole file to {@code out}. */
    void read(int file, long size, OutputStream out) throws IOException, StagingException, InterruptedException {
        long asked = 0;
        long written = 0;
        while (written < size) {
            while (asked < size && asked - written < (long) PIECES_UNDER_WAY * PIECE_BYTES) {
                int bytes = (int) Math.min(PIECE_BYTES, size - asked);
                ask(FileRequest.newBuilder().setFile(file).setOffset(asked).setBytes(bytes));
                asked += bytes;
            }
            FileChunk chunk = answer();
            chunk.getData().writeTo(out);
            written += chunk.getData().size();
        }
    }

    private void ask(FileRequest.Builder request) {
        requests.onNext(request.build());
    }

    private FileChunk answer() throws StagingException, InterruptedException {
        FileChunk chunk = answers.take();
        if (chunk.hasError()) {
            throw new StagingException(chunk.getError());
        }
        return chunk;
    }

    /** Asks no more. */
    void close() {
        requests.onCompleted();
    }

    /** Fails the thread that asks, from another one. */
    void giveUp() {
        ended("the job has ended");
    }
}
