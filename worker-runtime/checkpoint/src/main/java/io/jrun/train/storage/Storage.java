package io.jrun.train.storage;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * Named objects below one location. A name has parts that are separated by {@code /}, such as
 * {@code step-00000100/checkpoint.json}. Thread-safe.
 *
 * <p>An object of {@link #create} is complete when {@link ObjectWriter#finish} has returned, and durable from then on.
 * Readers find objects by a committed object that names the objects, so an unfinished object does no harm. {@link
 * #commit} is the only atomic operation.
 */
public interface Storage extends AutoCloseable {
    /**
     * The names of all objects below a folder, such as {@code step-00000100/}, or of all objects for an empty prefix.
     * In a folder of files, everything that is in the place of an object is listed, also a link.
     */
    List<String> list(String prefix) throws IOException;

    /** Starts an object. No other object has this name: names of parts have random bytes. */
    ObjectWriter create(String name) throws IOException;

    /** Opens an object for reading. Throws {@link java.nio.file.NoSuchFileException} if there is none of this name. */
    ObjectReader open(String name) throws IOException;

    /** A value that changes with the content of an object; empty if there is no object of this name. */
    Optional<String> version(String name) throws IOException;

    /**
     * Writes a small object in one atomic step: after a crash readers find the earlier content or the new one. The
     * object is durable when the method returns.
     *
     * @param replaced the earlier result of {@link #version}; the commit fails if the object has changed since
     * @throws CommitConflictException if another writer has committed in between
     */
    void commit(String name, byte[] content, Optional<String> replaced) throws IOException;

    /** Deletes an object, and its folder if the folder is then empty. An object that does not exist is no error. */
    void delete(String name) throws IOException;

    /** The location in messages. */
    @Override
    String toString();

    @Override
    void close() throws IOException;
}
