package io.jrun.launcher.cli;

import io.jrun.comm.file.FileError;
import io.jrun.comm.file.FileType;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Reads a small text file of the user: a job file, a host file or a secret. The file may be a pipe, such as {@code
 * <(command)} of a shell. Stateless.
 */
public final class TextFile {
    /** The limit of bytes. Every job file, host file and secret is far smaller. */
    static final int MOST_BYTES = 1 << 20;

    /** The deadline for a pipe. The writer may contact another host, and a pipe without a writer never ends. */
    private static final Duration PIPE_DEADLINE = Duration.ofSeconds(10);

    private static final char BYTE_ORDER_MARK = '\ufeff';

    private TextFile() {}

    /**
     * Returns the text of {@code file}. The file must be UTF-8 of at most 1 MiB.
     *
     * @param name the name of the file in messages
     * @throws UsageException with one line, if the file cannot be read
     */
    public static String read(String name, Path file) {
        return read(name, file, PIPE_DEADLINE);
    }

    static String read(String name, Path file, Duration pipeDeadline) {
        try {
            FileType type = FileType.of(file);
            byte[] bytes = switch (type) {
                case REGULAR -> bytes(file);
                case PIPE -> fromPipe(name, file, pipeDeadline);
                case FOLDER -> throw new UsageException(name + ": a folder, not a file. Give a file.");
                case SOCKET, DEVICE ->
                    throw new UsageException(name + ": " + type.words() + ", not a file. Give a file or a pipe.");
            };
            if (bytes.length > MOST_BYTES) {
                throw new UsageException(name + ": larger than 1 MiB, the limit of such a file. Give the right file.");
            }
            return decoded(name, bytes);
        } catch (NoSuchFileException e) {
            throw new UsageException(name + ": " + MissingPath.words(file) + ".");
        } catch (AccessDeniedException e) {
            throw new UsageException(name + ": not readable for this user (permission denied).");
        } catch (IOException e) {
            throw new UsageException(name + ": cannot be read: " + FileError.reason(e) + ".");
        }
    }

    /** Whether {@code text} begins with a byte-order mark. Editors do not show the mark. */
    public static boolean hasByteOrderMark(String text) {
        return !text.isEmpty() && text.charAt(0) == BYTE_ORDER_MARK;
    }

    /** Reads one byte more than the limit, so the caller can see that the file is too large. */
    private static byte[] bytes(Path file) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            return in.readNBytes(MOST_BYTES + 1);
        }
    }

    /** Reads on a separate thread. The open call of a pipe waits for a writer, and no interrupt ends this wait. */
    private static byte[] fromPipe(String name, Path file, Duration deadline) throws IOException {
        CompletableFuture<byte[]> content = new CompletableFuture<>();
        Thread.ofPlatform().daemon().name("jrun-pipe-reader").start(() -> {
            try {
                content.complete(bytes(file));
            } catch (IOException e) {
                content.completeExceptionally(new UncheckedIOException(e));
            }
        });
        try {
            return content.get(deadline.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw new UsageException(name + ": a pipe whose writer did not finish within " + deadline.toSeconds()
                    + " s. Start the program that writes into it, or give a file.");
        } catch (ExecutionException e) {
            throw new IOException(e.getCause() == null ? e : e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UsageException(name + ": reading was interrupted.");
        }
    }

    private static String decoded(String name, byte[] bytes) {
        CharsetDecoder decoder = StandardCharsets.UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .onUnmappableCharacter(CodingErrorAction.REPORT);
        ByteBuffer in = ByteBuffer.wrap(bytes);
        CharBuffer out = CharBuffer.allocate(bytes.length);
        CoderResult result = decoder.decode(in, out, true);
        String text = out.flip().toString();
        if (result.isError()) {
            throw new UsageException(name + ", line " + line(text) + ": not UTF-8 text. Give a text file in UTF-8.");
        }
        int nul = text.indexOf('\0');
        if (nul >= 0) {
            throw new UsageException(name + ", line " + line(text.substring(0, nul))
                    + ": a NUL byte, so this is no text file. Give a text file.");
        }
        return text;
    }

    /** The number of the line in which {@code before} ends. */
    private static long line(String before) {
        return 1 + before.chars().filter(c -> c == '\n').count();
    }
}
