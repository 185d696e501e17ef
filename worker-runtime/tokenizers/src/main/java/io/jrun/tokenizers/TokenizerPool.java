package io.jrun.tokenizers;

import io.jrun.tokenizers.TokenizerProcess.Budget;
import io.jrun.tokenizers.TokenizerProcess.EndedException;
import io.jrun.train.data.DataException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The processes of this JVM with the native library. A request takes an idle process, or starts one. The processes end
 * with this JVM. Thread-safe.
 */
final class TokenizerPool {
    /** Each process holds a copy of the tokenizer in memory. */
    private static final int MAX_PROCESSES = Math.min(16, Runtime.getRuntime().availableProcessors());

    private static final long DEADLINE_MINUTES = 30;
    private static final int MAX_LOAD_MILLIS = 20_000;
    private static final int MAX_LOAD_MILLIS_PER_MIB = 5_000;
    private static final int MAX_LOAD_MIB = 512;
    private static final int MAX_LOAD_BYTES_PER_BYTE = 64;
    private static final Budget UNLOAD = new Budget(MAX_LOAD_MILLIS, MAX_LOAD_MIB);

    private static final Semaphore PERMITS = new Semaphore(MAX_PROCESSES);
    private static final Deque<TokenizerProcess> IDLE = new ArrayDeque<>();

    private TokenizerPool() {}

    /** Checks that the library takes a definition. Errors are those of {@link #call}. */
    static void load(TokenizerDefinition definition) throws EndedException {
        use(definition, _ -> new byte[0]);
    }

    /**
     * The reply to a request.
     *
     * @throws EndedException if the request has ended its process; the next request gets another process
     * @throws IllegalArgumentException in the words of the library
     */
    static byte[] call(TokenizerDefinition definition, byte kind, Budget budget, byte[] content) throws EndedException {
        return use(definition, process -> process.call(kind, budget, content));
    }

    /** Frees the memory of a tokenizer in idle processes. */
    static void unload(TokenizerDefinition definition) {
        while (true) {
            TokenizerProcess process;
            synchronized (IDLE) {
                process = takeIdle(definition);
            }
            if (process == null) {
                return;
            }
            try {
                process.unload(UNLOAD);
                putBack(process);
            } catch (EndedException _) {
                process.close();
            }
        }
    }

    private interface Use {
        byte[] apply(TokenizerProcess process) throws EndedException;
    }

    private static byte[] use(TokenizerDefinition definition, Use use) throws EndedException {
        try {
            if (!PERMITS.tryAcquire(DEADLINE_MINUTES, TimeUnit.MINUTES)) {
                throw new DataException("no process of a tokenizer was free for " + DEADLINE_MINUTES + " minutes");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new DataException("interrupted while waiting for a process of a tokenizer", e);
        }
        try {
            TokenizerProcess process = take(definition);
            try {
                process.load(definition, loadBudget(definition));
                return use.apply(process);
            } finally {
                putBack(process);
            }
        } finally {
            PERMITS.release();
        }
    }

    private static Budget loadBudget(TokenizerDefinition definition) {
        return Budget.of(
                MAX_LOAD_MILLIS,
                MAX_LOAD_MIB,
                definition.json().length(),
                MAX_LOAD_MILLIS_PER_MIB,
                MAX_LOAD_BYTES_PER_BYTE);
    }

    private static TokenizerProcess take(TokenizerDefinition definition) {
        synchronized (IDLE) {
            TokenizerProcess process = takeIdle(definition);
            if (process == null) {
                process = IDLE.pollFirst();
            }
            if (process != null) {
                return process;
            }
        }
        return TokenizerProcess.start();
    }

    private static @Nullable TokenizerProcess takeIdle(TokenizerDefinition definition) {
        Iterator<TokenizerProcess> all = IDLE.iterator();
        while (all.hasNext()) {
            TokenizerProcess process = all.next();
            if (process.hasLoaded(definition)) {
                all.remove();
                return process;
            }
        }
        return null;
    }

    private static void putBack(TokenizerProcess process) {
        if (!process.isAlive()) {
            process.close();
            return;
        }
        synchronized (IDLE) {
            IDLE.addFirst(process);
        }
    }
}
