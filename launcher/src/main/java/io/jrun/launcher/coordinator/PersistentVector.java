package io.jrun.launcher.coordinator;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.ObjIntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * An immutable map from small integers (0 and up). A changed copy shares almost all nodes with the original: for 8,000
 * entries a change copies about 200 references instead of 8,000.
 */
final class PersistentVector<V> {
    private static final int CHUNK = 64;
    private static final @Nullable Object[] NONE = new @Nullable Object[CHUNK];
    private static final PersistentVector<?> EMPTY = new PersistentVector<>(List.of(), 0);

    private final List<@Nullable Object[]> chunks;
    private final int size;

    private PersistentVector(List<@Nullable Object[]> chunks, int size) {
        this.chunks = chunks;
        this.size = size;
    }

    @SuppressWarnings("unchecked") // it has no values
    static <V> PersistentVector<V> empty() {
        return (PersistentVector<V>) EMPTY;
    }

    int size() {
        return size;
    }

    boolean has(int key) {
        return at(key) != null;
    }

    @SuppressWarnings("unchecked") // only with() puts values in
    Optional<V> get(int key) {
        return Optional.ofNullable((V) at(key));
    }

    private @Nullable Object at(int key) {
        return key / CHUNK < chunks.size() ? chunks.get(key / CHUNK)[key % CHUNK] : null;
    }

    PersistentVector<V> with(int key, V value) {
        return changed(key, value, has(key) ? size : size + 1);
    }

    PersistentVector<V> without(int key) {
        return has(key) ? changed(key, null, size - 1) : this;
    }

    private PersistentVector<V> changed(int key, @Nullable V value, int newSize) {
        int index = key / CHUNK;
        List<@Nullable Object[]> spine = new ArrayList<>(chunks);
        while (spine.size() <= index) {
            spine.add(NONE);
        }
        @Nullable Object[] chunk = spine.get(index).clone();
        chunk[key % CHUNK] = value;
        spine.set(index, chunk);
        return new PersistentVector<>(spine, newSize);
    }

    /** By key. */
    List<V> values() {
        List<V> values = new ArrayList<>(size);
        forEach((value, _) -> values.add(value));
        return values;
    }

    /** In the order of the keys. */
    @SuppressWarnings("unchecked") // only with() puts values in
    void forEach(ObjIntConsumer<V> action) {
        for (int key = 0; key < chunks.size() * CHUNK; key++) {
            Object value = at(key);
            if (value != null) {
                action.accept((V) value, key);
            }
        }
    }
}
