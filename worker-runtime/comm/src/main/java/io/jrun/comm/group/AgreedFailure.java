package io.jrun.comm.group;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.FailureDeadline;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Control;
import io.jrun.comm.control.Frame.StoreReply;
import io.jrun.comm.control.StoreCommand;
import io.jrun.comm.store.StoreClient;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The failure that all members of a failed group report: the first failure that a member has written to the job's
 * store. A member that learns late of another member's failure, or never does, therefore reports the same failure.
 * Thread-safe.
 */
final class AgreedFailure {
    /** The prefix of the keys. Programs cannot use reserved keys. */
    private static final String KEY = StoreClient.RESERVED + "cause/";

    private final GroupContext group;
    private final Control control;
    private @Nullable CommException agreed;

    AgreedFailure(GroupContext group, Control control) {
        this.group = group;
        this.control = control;
    }

    /**
     * Returns the agreed failure: the same failure on all members, for any failure that each member has {@code found}.
     * Returns {@code found} if the store does not answer, for example while the launcher is stopped.
     */
    synchronized CommException of(CommException found) {
        CommException known = agreed;
        if (known == null) {
            known = group.size() == 1 ? found : agree(found);
            agreed = known;
        }
        return known;
    }

    private CommException agree(CommException found) {
        String key = KEY + group.world().round() + "/" + group.name();
        Bytes mine = Bytes.ofUtf8(found.code() + "\n" + found.getMessage());
        CompletableFuture<StoreReply> reply =
                control.submit(new StoreCommand.CompareAndSet(key, Optional.empty(), mine));
        try {
            long left = group.health().failureDeadline().leftNanos(FailureDeadline.Wait.CAUSE);
            return reply.get(left, TimeUnit.NANOSECONDS)
                    .value()
                    .flatMap(AgreedFailure::read)
                    .orElse(found);
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
            return found;
        } catch (ExecutionException | TimeoutException _) {
            return found;
        }
    }

    /** Parses a failure. Returns an empty value if the text begins with no code that this version knows. */
    private static Optional<CommException> read(Bytes value) {
        String text = value.utf8();
        return Arrays.stream(ErrorCode.values())
                .filter(code -> text.startsWith(code + "\n"))
                .findFirst()
                .map(code -> new CommException(code, text.substring(code.name().length() + 1)));
    }
}
