package io.jrun.comm.operation;

import io.jrun.comm.DeviceStream;
import io.jrun.comm.Work;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Several operations as one. Done when all operations are done. Fails if an operation fails. Thread-safe. */
public final class CombinedWork implements Work {
    private final List<Work> works;
    private final PendingWork all = new PendingWork();

    public CombinedWork(List<Work> works) {
        this.works = List.copyOf(works);
        var _ = CompletableFuture.allOf(works.stream().map(Work::future).toArray(CompletableFuture<?>[]::new))
                .whenComplete((_, failure) -> {
                    if (failure == null) {
                        all.complete();
                    } else {
                        Throwable cause = failure.getCause();
                        all.fail(cause == null ? failure : cause);
                    }
                });
    }

    @Override
    public void await() {
        all.await();
    }

    @Override
    public void await(Duration timeout) {
        all.await(timeout);
    }

    @Override
    public void awaitOn(DeviceStream stream) {
        works.forEach(work -> work.awaitOn(stream));
    }

    @Override
    public boolean isDone() {
        return all.isDone();
    }

    @Override
    public Optional<Throwable> exception() {
        return all.exception();
    }

    @Override
    public CompletableFuture<Void> future() {
        return all.future();
    }
}
