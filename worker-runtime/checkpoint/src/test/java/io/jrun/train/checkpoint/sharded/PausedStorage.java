package io.jrun.train.checkpoint.sharded;

import io.jrun.train.storage.ObjectReader;
import io.jrun.train.storage.ObjectWriter;
import io.jrun.train.storage.Storage;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** A storage whose commits wait for a latch, or fail, and whose objects can be made later. */
final class PausedStorage implements Storage {
    private final Storage storage;
    private final CountDownLatch release;
    private final AtomicInteger commits = new AtomicInteger();
    private final AtomicReference<String> failure = new AtomicReference<>("");
    private volatile Runnable beforeObjects = () -> {};

    PausedStorage(Storage storage, CountDownLatch release) {
        this.storage = storage;
        this.release = release;
    }

    void failNextCommit(String why) {
        failure.set(why);
    }

    /** Runs {@code work} on the thread of the save before each object is made. */
    void beforeObjects(Runnable work) {
        beforeObjects = work;
    }

    int commits() {
        return commits.get();
    }

    @Override
    public void commit(String name, byte[] content, Optional<String> replaced) throws IOException {
        commits.incrementAndGet();
        try {
            if (!release.await(10, TimeUnit.SECONDS)) {
                throw new IOException("the test did not release the commit");
            }
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
        String why = failure.getAndSet("");
        if (!why.isEmpty()) {
            throw new IOException(why);
        }
        storage.commit(name, content, replaced);
    }

    @Override
    public List<String> list(String prefix) throws IOException {
        return storage.list(prefix);
    }

    @Override
    public ObjectWriter create(String name) throws IOException {
        beforeObjects.run();
        return storage.create(name);
    }

    @Override
    public ObjectReader open(String name) throws IOException {
        return storage.open(name);
    }

    @Override
    public Optional<String> version(String name) throws IOException {
        return storage.version(name);
    }

    @Override
    public void delete(String name) throws IOException {
        storage.delete(name);
    }

    @Override
    public String toString() {
        return storage.toString();
    }

    @Override
    public void close() throws IOException {
        storage.close();
    }
}
