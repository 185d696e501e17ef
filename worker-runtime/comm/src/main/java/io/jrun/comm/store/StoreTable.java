package io.jrun.comm.store;

import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame.StoreReply;
import io.jrun.comm.control.StoreCommand;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * The key-value table with its waiters. Thread-safe; replies are delivered on the thread that made them possible, outside
 * the table's lock. Time is injected: {@link #expire()} must be called now and then (every 100 ms is plenty) to fail
 * waiters whose deadline has passed.
 */
public final class StoreTable {
    /** A bound against a program that uses the store as a database. */
    private static final int MAX_KEYS = 1 << 20;

    private final LongSupplier nanoTime;
    private final Map<String, Bytes> values = new HashMap<>();
    private final List<Waiter> waiters = new ArrayList<>();

    private record Waiter(
            long id, StoreCommand command, List<String> keys, long deadlineNanos, Consumer<StoreReply> sink) {}

    private record Delivery(Consumer<StoreReply> sink, StoreReply reply) {}

    /** An empty table that reads time from {@code nanoTime}. */
    public StoreTable(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /** Runs {@code command}; {@code sink} gets exactly one reply with {@code id}, now or when a wait ends. */
    public void submit(long id, StoreCommand command, Consumer<StoreReply> sink) {
        List<Delivery> deliveries = new ArrayList<>();
        synchronized (this) {
            switch (command) {
                case StoreCommand.Get(String key, long timeoutMillis) ->
                    waitFor(new Waiter(id, command, List.of(key), deadline(timeoutMillis), sink), deliveries);
                case StoreCommand.Await(List<String> keys, long timeoutMillis) ->
                    waitFor(new Waiter(id, command, keys, deadline(timeoutMillis), sink), deliveries);
                case StoreCommand.Set _, StoreCommand.Add _, StoreCommand.CompareAndSet _, StoreCommand.Delete _ -> {
                    deliveries.add(new Delivery(sink, update(id, command)));
                    wake(deliveries);
                }
            }
        }
        deliveries.forEach(delivery -> delivery.sink().accept(delivery.reply()));
    }

    /** Fails every waiter whose deadline has passed. */
    public void expire() {
        List<Delivery> deliveries = new ArrayList<>();
        synchronized (this) {
            long now = nanoTime.getAsLong();
            Iterator<Waiter> all = waiters.iterator();
            while (all.hasNext()) {
                Waiter waiter = all.next();
                if (now - waiter.deadlineNanos() >= 0) {
                    all.remove();
                    deliveries.add(timeout(waiter));
                }
            }
        }
        deliveries.forEach(delivery -> delivery.sink().accept(delivery.reply()));
    }

    private long deadline(long timeoutMillis) {
        long bounded = Math.min(Math.max(timeoutMillis, 0), Long.MAX_VALUE / 4_000_000);
        return nanoTime.getAsLong() + bounded * 1_000_000;
    }

    private void waitFor(Waiter waiter, List<Delivery> deliveries) {
        if (values.keySet().containsAll(waiter.keys())) {
            deliveries.add(satisfied(waiter));
        } else if (nanoTime.getAsLong() - waiter.deadlineNanos() >= 0) {
            deliveries.add(timeout(waiter));
        } else {
            waiters.add(waiter);
        }
    }

    private void wake(List<Delivery> deliveries) {
        Iterator<Waiter> all = waiters.iterator();
        while (all.hasNext()) {
            Waiter waiter = all.next();
            if (values.keySet().containsAll(waiter.keys())) {
                all.remove();
                deliveries.add(satisfied(waiter));
            }
        }
    }

    private Delivery satisfied(Waiter waiter) {
        Optional<Bytes> value = waiter.command() instanceof StoreCommand.Get(String key, long _)
                ? Optional.ofNullable(values.get(key))
                : Optional.of(Bytes.EMPTY);
        return new Delivery(waiter.sink(), new StoreReply(waiter.id(), value, ""));
    }

    private Delivery timeout(Waiter waiter) {
        List<String> missing =
                waiter.keys().stream().filter(key -> !values.containsKey(key)).toList();
        return new Delivery(
                waiter.sink(), new StoreReply(waiter.id(), Optional.empty(), "timeout: no rank has set " + missing));
    }

    private StoreReply update(long id, StoreCommand command) {
        return switch (command) {
            case StoreCommand.Set(String key, Bytes value) -> put(id, key, value);
            case StoreCommand.Add(String key, long delta) -> add(id, key, delta);
            case StoreCommand.CompareAndSet(String key, Optional<Bytes> expected, Bytes desired) -> {
                Optional<Bytes> current = Optional.ofNullable(values.get(key));
                yield current.equals(expected) ? put(id, key, desired) : new StoreReply(id, current, "");
            }
            case StoreCommand.Delete(String key) ->
                new StoreReply(id, Optional.ofNullable(values.remove(key)).map(_ -> Bytes.EMPTY), "");
            case StoreCommand.Get _, StoreCommand.Await _ ->
                throw new IllegalArgumentException("not an update: " + command);
        };
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
            return new StoreReply(id, Optional.empty(), "add: the sum at '" + key + "' leaves 64 bits");
        }
    }
}
