package io.jrun.comm.store;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.Store;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Control;
import io.jrun.comm.control.Frame.StoreReply;
import io.jrun.comm.control.FrameCodec;
import io.jrun.comm.control.StoreCommand;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** The job's store, as a client of the control connection: one request and one reply per call. Thread-safe. */
public final class StoreClient implements Store {
    /** Time for the reply beyond the requested wait. A launcher may be stopped for 60 s. */
    private static final Duration REPLY_GRACE = Duration.ofSeconds(75);

    /** The prefix of jrun's own keys. */
    public static final String RESERVED = "jrun/";

    private final Control control;
    private final boolean isPrograms;

    private StoreClient(Control control, boolean isPrograms) {
        this.control = control;
        this.isPrograms = isPrograms;
    }

    /** Makes the store of a program, which has no access to jrun's own keys. */
    public static StoreClient ofProgram(Control control) {
        return new StoreClient(control, true);
    }

    /** Makes the store of jrun itself, with access to all keys. */
    public static StoreClient ofRuntime(Control control) {
        return new StoreClient(control, false);
    }

    @Override
    public void set(String key, byte[] value) {
        request(new StoreCommand.Set(key, checked(key, value)), Duration.ZERO);
    }

    @Override
    public byte[] get(String key, Duration timeout) {
        return request(new StoreCommand.Get(key, timeout.toMillis()), timeout)
                .orElseThrow(
                        () -> new CommException(ErrorCode.SYSTEM, "store get '" + key + "': reply without a value"))
                .toArray();
    }

    @Override
    public void await(Collection<String> keys, Duration timeout) {
        request(new StoreCommand.Await(List.copyOf(keys), timeout.toMillis()), timeout);
    }

    @Override
    public long add(String key, long delta) {
        Optional<Bytes> sum = request(new StoreCommand.Add(key, delta), Duration.ZERO);
        return Long.parseLong(sum.map(Bytes::utf8).orElse(""));
    }

    @Override
    public byte @Nullable [] compareAndSet(String key, byte @Nullable [] expected, byte[] desired) {
        Optional<Bytes> before = Optional.ofNullable(expected).map(value -> checked(key, value));
        Optional<Bytes> now =
                request(new StoreCommand.CompareAndSet(key, before, checked(key, desired)), Duration.ZERO);
        return now.map(Bytes::toArray).orElse(null);
    }

    @Override
    public boolean delete(String key) {
        return request(new StoreCommand.Delete(key), Duration.ZERO).isPresent();
    }

    private static Bytes checked(String key, byte[] value) {
        if (value.length > FrameCodec.MAX_VALUE_BYTES) {
            throw new CommException(
                    ErrorCode.USAGE,
                    "store value of '" + key + "' has " + value.length + " bytes (expected at most "
                            + FrameCodec.MAX_VALUE_BYTES + "). Send tensors through a process group.");
        }
        return Bytes.of(value);
    }

    private void checkKeys(StoreCommand command) {
        List<String> keys = keys(command);
        if (isPrograms && keys.stream().anyMatch(key -> key.startsWith(RESERVED))) {
            throw new CommException(
                    ErrorCode.USAGE,
                    "store " + describe(command) + ": keys that begin with '" + RESERVED
                            + "' are jrun's own. Choose another prefix.");
        }
        long bytes = keys.stream().mapToLong(StoreClient::encodedBytes).sum();
        if (bytes > FrameCodec.MAX_KEY_BYTES) {
            throw new CommException(
                    ErrorCode.USAGE,
                    "store command with " + keys.size() + " keys of " + bytes + " bytes in total (expected at most "
                            + FrameCodec.MAX_KEY_BYTES + "). Use shorter keys, or wait for fewer at a time.");
        }
    }

    private static List<String> keys(StoreCommand command) {
        return switch (command) {
            case StoreCommand.Set set -> List.of(set.key());
            case StoreCommand.Get get -> List.of(get.key());
            case StoreCommand.Await await -> await.keys();
            case StoreCommand.Add add -> List.of(add.key());
            case StoreCommand.CompareAndSet swap -> List.of(swap.key());
            case StoreCommand.Delete delete -> List.of(delete.key());
        };
    }

    private static long encodedBytes(String key) {
        return (long) Integer.BYTES + key.getBytes(StandardCharsets.UTF_8).length;
    }

    private Optional<Bytes> request(StoreCommand command, Duration wait) {
        checkKeys(command);
        StoreReply reply = receive(control.submit(command), command, wait.plus(REPLY_GRACE));
        if (!reply.error().isEmpty()) {
            throw new CommException(code(reply.error()), "store " + describe(command) + ": " + reply.error());
        }
        return reply.value();
    }

    private static ErrorCode code(String error) {
        if (error.startsWith("timeout")) {
            return ErrorCode.RENDEZVOUS_TIMEOUT;
        }
        return error.startsWith(StoreReply.OVER) ? ErrorCode.ABORTED : ErrorCode.USAGE;
    }

    private static StoreReply receive(
            CompletableFuture<StoreReply> pending, StoreCommand command, Duration replyTimeout) {
        try {
            return pending.get(replyTimeout.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw new CommException(
                    ErrorCode.RENDEZVOUS_TIMEOUT,
                    "store " + describe(command) + ": no reply for " + replyTimeout + ". The launcher may be stopped.",
                    e);
        } catch (ExecutionException e) {
            Throwable why = e.getCause() == null ? e : e.getCause();
            throw new CommException(ErrorCode.ABORTED, "store " + describe(command) + ": " + why.getMessage(), why);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CommException(ErrorCode.ABORTED, "store " + describe(command) + ": interrupted", e);
        }
    }

    private static String describe(StoreCommand command) {
        return switch (command) {
            case StoreCommand.Set set -> "set '" + set.key() + "'";
            case StoreCommand.Get get -> "get '" + get.key() + "'";
            case StoreCommand.Await await -> "await " + await.keys();
            case StoreCommand.Add add -> "add '" + add.key() + "'";
            case StoreCommand.CompareAndSet swap -> "compareAndSet '" + swap.key() + "'";
            case StoreCommand.Delete delete -> "delete '" + delete.key() + "'";
        };
    }
}
