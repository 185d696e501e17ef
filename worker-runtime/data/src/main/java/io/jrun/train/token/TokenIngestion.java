package io.jrun.train.token;

import io.jrun.comm.file.FileError;
import io.jrun.train.data.DataException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * Encodes text into a token file. Several threads encode parts of the text; the parts keep their order. The memory does
 * not grow with the text.
 */
public final class TokenIngestion implements AutoCloseable {
    /** A part has at most 2 MiB. A tokenizer needs about a second for a part. */
    private static final Duration PART_DEADLINE = Duration.ofMinutes(10);
    /** More parts would only need memory. */
    private static final int PARTS_PER_THREAD = 2;

    private final Tokenizer tokenizer;
    private final TokenFileWriter writer;
    private final Consumer<IngestionProgress> progress;
    private final int threadCount = Runtime.getRuntime().availableProcessors();
    private final ExecutorService threads = Executors.newFixedThreadPool(
            threadCount, Thread.ofPlatform().daemon().name("tokenize-", 0).factory());
    private final Deque<Encoding> encodings = new ArrayDeque<>();
    private long textBytes;

    private TokenIngestion(Tokenizer tokenizer, TokenFileWriter writer, Consumer<IngestionProgress> progress) {
        this.tokenizer = tokenizer;
        this.writer = writer;
        this.progress = progress;
    }

    /**
     * The progress of an ingestion.
     *
     * @param location the file and the record of the last part
     * @param textBytes bytes of text
     * @param tokens tokens of that text
     */
    public record IngestionProgress(String location, long textBytes, long tokens) {}

    private record Encoding(TextPart part, Future<int[]> tokens) {}

    /**
     * Writes a token file. After each document the tokenizer's {@link Tokenizer#endOfText()} follows, if there is one.
     * A document above 1 MiB is encoded in parts that end at line ends.
     *
     * @param target appears when all text is encoded and on disk; an earlier file is then replaced
     * @param progress is called after each part
     * @throws DataException in one line with file and record, if a text cannot be read or encoded, or the file cannot
     *     be written
     */
    public static IngestionProgress write(
            TextSource source, Tokenizer tokenizer, Path target, Consumer<IngestionProgress> progress) {
        try (TokenFileWriter writer = TokenFileWriter.create(target, tokenizer);
                TokenIngestion ingestion = new TokenIngestion(tokenizer, writer, progress)) {
            long textBytes = source.read(ingestion::begin);
            while (!ingestion.encodings.isEmpty()) {
                ingestion.finishFirst();
            }
            writer.commit();
            return new IngestionProgress(source.path().toString(), textBytes, writer.tokens());
        } catch (IOException e) {
            throw new DataException("cannot write " + target + ": " + FileError.reason(e, target), e);
        }
    }

    private void begin(TextPart part) {
        encodings.add(new Encoding(part, threads.submit(() -> tokenizer.encode(part.text()))));
        if (encodings.size() > threadCount * PARTS_PER_THREAD) {
            finishFirst();
        }
    }

    private void finishFirst() {
        Encoding first = encodings.removeFirst();
        TextPart part = first.part();
        try {
            writer.add(first.tokens().get(PART_DEADLINE.toNanos(), TimeUnit.NANOSECONDS));
            if (part.endsDocument() && tokenizer.endOfText().isPresent()) {
                writer.add(tokenizer.endOfText().getAsInt());
            }
        } catch (IOException e) {
            throw new DataException(
                    "cannot write the tokens of " + part.location() + ": " + FileError.reason(e, part.location()), e);
        } catch (ExecutionException e) {
            throw new DataException(part.location() + ": " + (e.getCause() == null ? e : e.getCause()).getMessage(), e);
        } catch (TimeoutException e) {
            throw new DataException(
                    part.location() + ": the tokenizer has not ended after " + PART_DEADLINE.toMinutes() + " minutes",
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new DataException("interrupted while " + part.location() + " was encoded", e);
        }
        textBytes += part.text().length;
        progress.accept(new IngestionProgress(part.location(), textBytes, writer.tokens()));
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
