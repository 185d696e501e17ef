package io.jrun.comm.store;

import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame.StoreReply;
import io.jrun.comm.control.StoreCommand;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * The key-value table with its waiting commands. Thread-safe. The thread that makes a reply possible delivers it,
 * outside the table's lock. The clock is a parameter. {@link #expire()} fails waiting commands whose deadline has
 * passed; the owner must call it regularly, for example every 100 ms.
 */
public final class StoreTable {
    /** The limit of keys. A program must not use the store as a database. */
    private static final int MAX_KEYS = 1 << 20;

    private final LongSupplier nanoTime;
    private final Map<String, Bytes> values = new HashMap<>();
    private final StoreWaiters waiters = new StoreWaiters(values.keySet());

    private record Delivery(Consumer<StoreReply> sink, StoreReply reply) {}

    /** Makes an empty table with the clock {@code nanoTime}. */
    public StoreTable(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /** Runs {@code command}. {@code sink} gets exactly one reply with {@code id}, now or at the end of a wait. */
    public void submit(long id, StoreCommand command, Consumer<StoreReply> sink) {
        List<Delivery> deliveries = new ArrayList<>();
        synchronized (this) {
            switch (command) {
                case StoreCommand.Get(String key, long timeoutMillis) ->
                    waitFor(new StoreWaiter(id, command, List.of(key), deadline(timeoutMillis), sink), deliveries);
                case StoreCommand.Await(List<String> keys, long timeoutMillis) ->
                    waitFor(new StoreWaiter(id, command, keys, deadline(timeoutMillis), sink), deliveries);
                case StoreCommand.Set(String key, Bytes value) -> {
                    deliveries.add(new Delivery(sink, put(id, key, value)));
                    wake(key, deliveries);
                }
                case StoreCommand.Add(String key, long delta) -> {
                    deliveries.add(new Delivery(sink, add(id, key, delta)));
                    wake(key, deliveries);
                }
                case StoreCommand.CompareAndSet(String key, Optional<Bytes> expected, Bytes desired) -> {
                    deliveries.add(new Delivery(sink, compareAndSet(id, key, expected, desired)));
                    wake(key, deliveries);
                }
                case StoreCommand.Delete(String key) -> deliveries.add(new Delivery(sink, delete(id, key)));
            }
        }
        deliveries.forEach(delivery -> delivery.sink().accept(delivery.reply()));
    }

    /** Fails every waiting command whose deadline has passed. */
    public void expire() {
        List<Delivery> deliveries = new ArrayList<>();
        synchronized (this) {
            waiters.expired(nanoTime.getAsLong()).forEach(waiter -> deliveries.add(timeout(waiter)));
        }
        deliveries.forEach(delivery -> delivery.sink().accept(delivery.reply()));
    }

    /** Fails every waiting command with {@code why}, because its round is over. No command may follow. */
    public void end(String why) {
        List<StoreWaiter> left;
        synchronized (this) {
            left = waiters.all();
        }
        left.forEach(waiter -> waiter.sink().accept(new StoreReply(waiter.id(), Optional.empty(), why)));
    }

    private long deadline(long timeoutMillis) {
        long bounded = Math.min(Math.max(timeoutMillis, 0), Long.MAX_VALUE / 4_000_000);
        return nanoTime.getAsLong() + bounded * 1_000_000;
    }

    private void waitFor(StoreWaiter waiter, List<Delivery> deliveries) {
        if (nanoTime.getAsLong() - waiter.deadlineNanos() >= 0) {
            deliveries.add(values.keySet().containsAll(waiter.keys()) ? satisfied(waiter) : timeout(waiter));
        } else if (!waiters.add(waiter)) {
            deliveries.add(satisfied(waiter));
        }
    }

    private void wake(String key, List<Delivery> deliveries) {
        waiters.touched(key).forEach(waiter -> deliveries.add(satisfied(waiter)));
    }

    private Delivery satisfied(StoreWaiter waiter) {
        Optional<Bytes> value = waiter.command() instanceof StoreCommand.Get(String key, long _)
                ? Optional.ofNullable(values.get(key))
                : Optional.of(Bytes.EMPTY);
        return new Delivery(waiter.sink(), new StoreReply(waiter.id(), value, ""));
    }

    private Delivery timeout(StoreWaiter waiter) {
        List<String> missing =
                waiter.keys().stream().filter(key -> !values.containsKey(key)).toList();
        return new Delivery(
                waiter.sink(), new StoreReply(waiter.id(), Optional.empty(), "timeout: no rank has set " + missing));
    }

    private StoreReply compareAndSet(long id, String key, Optional<Bytes> expected, Bytes desired) {
        Optional<Bytes> current = Optional.ofNullable(values.get(key));
        return current.equals(expected) ? put(id, key, desired) : new StoreReply(id, current, "");
    }

    private StoreReply delete(long id, String key) {
        return new StoreReply(id, Optional.ofNullable(values.remove(key)).map(_ -> Bytes.EMPTY), "");
    }

    private StoreReply put(long id, String key, Bytes value) {
        if (values.size() >= MAX_KEYS && !values.containsKey(key)) {
            return new StoreReply(id, Optional.empty(), "the store is full: " + MAX_KEYS + " keys; delete some");
        }
        values.put(key, value);
        return new StoreReply(id, Optional.of(value), "");
    }

    private StoreReply add(long id, String key, long delta) {
        Bytes current = values.getOrDefault(key, Bytes.ofUtf8("0"));
        try {
            long sum = Math.addExact(Long.parseLong(current.utf8()), delta);
            return put(id, key, Bytes.ofUtf8(Long.toString(sum)));
        } catch (NumberFormatException e) {
            return new StoreReply(id, Optional.empty(), "add: the value of '" + key + "' is not a decimal number");
        } catch (ArithmeticException e) {
            return new StoreReply(id, Optional.empty(), "add: the sum at '" + key + "' exceeds 64 bits");
        }
    }
}
