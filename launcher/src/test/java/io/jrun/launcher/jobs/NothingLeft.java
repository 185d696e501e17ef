package io.jrun.launcher.jobs;

import java.time.Duration;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;

/** Fails a class of tests whose jobs have left something behind. */
final class NothingLeft implements BeforeAllCallback, AfterAllCallback {
    private static final Namespace NAMESPACE = Namespace.create(NothingLeft.class);

    /** The guard of a killed agent looks twice, a second apart; the rest is for a busy machine. */
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    @Override
    public void beforeAll(ExtensionContext context) {
        context.getStore(NAMESPACE).put(context.getUniqueId(), Leftovers.sinceNow());
    }

    @Override
    public void afterAll(ExtensionContext context) {
        Leftovers leftovers = context.getStore(NAMESPACE).get(context.getUniqueId(), Leftovers.class);
        try {
            check(leftovers, TIMEOUT);
        } finally {
            Leftovers.endProcesses(); // or the next class fails as well
        }
    }

    static void check(Leftovers leftovers, Duration timeout) {
        JRun.waitFor(() -> leftovers.find().isEmpty(), timeout, () -> "nothing left behind; found " + leftovers.find());
    }
}
