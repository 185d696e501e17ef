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
 * The cause that all members of a failed group report: the first that one of them has put in the job's store. So a member
 * that was too slow to hear what the others told each other, or heard of nobody in time, reports what they do. Thread-safe.
 */
final class AgreedFailure {
    /** Programs cannot touch what begins with this. */
    private static final String KEY = StoreClient.RESERVED + "cause/";

    private final GroupContext group;
    private final Control control;
    private @Nullable CommException agreed;

    AgreedFailure(GroupContext group, Control control) {
        this.group = group;
        this.control = control;
    }

    /**
     * The same on all members, whatever each has {@code found}; that where the store does not answer, as while the launcher
     * stands still.
     */
    synchronized CommException of(CommException found) {
        CommException known = agreed;
        if (known == null) {
            known = group.size() == 1 ? found : ask(found);
            agreed = known;
        }
        return known;
    }

    private CommException ask(CommException found) {
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

    /** Empty where it begins with no code that this version knows. */
    private static Optional<CommException> read(Bytes told) {
        String text = told.utf8();
        return Arrays.stream(ErrorCode.values())
                .filter(code -> text.startsWith(code + "\n"))
                .findFirst()
                .map(code -> new CommException(code, text.substring(code.name().length() + 1)));
    }
}
