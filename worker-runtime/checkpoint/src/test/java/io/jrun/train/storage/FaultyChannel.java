package io.jrun.train.storage;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;

/** A file of a {@link FaultyFileSystem}. A write at which the process dies writes half of its bytes. */
final class FaultyChannel extends FileChannel {
    private final Path file;
    private final FileChannel real;
    private final PowerFailure failure;

    FaultyChannel(Path file, FileChannel real, PowerFailure failure) {
        this.file = file;
        this.real = real;
        this.failure = failure;
    }

    @Override
    public int write(ByteBuffer source) throws IOException {
        failure.written(file);
        int half = source.remaining() / 2;
        int done = real.write(source.slice(source.position(), half));
        source.position(source.position() + done);
        failure.step("write " + file.getFileName());
        return done + real.write(source);
    }

    @Override
    public void force(boolean metaData) throws IOException {
        failure.step("fsync " + file.getFileName());
        real.force(metaData);
        failure.synced(file);
    }

    @Override
    public int read(ByteBuffer destination) throws IOException {
        return real.read(destination);
    }

    @Override
    public int read(ByteBuffer destination, long position) throws IOException {
        return real.read(destination, position);
    }

    @Override
    public long position() throws IOException {
        return real.position();
    }

    @Override
    public FileChannel position(long position) throws IOException {
        real.position(position);
        return this;
    }

    @Override
    public long size() throws IOException {
        return real.size();
    }

    @Override
    protected void implCloseChannel() throws IOException {
        real.close();
    }

    @Override
    public int write(ByteBuffer source, long position) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long read(ByteBuffer[] destinations, int offset, int length) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) {
        throw new UnsupportedOperationException();
    }

    @Override
    public FileChannel truncate(long size) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long transferTo(long position, long count, WritableByteChannel target) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long transferFrom(ReadableByteChannel source, long position, long count) {
        throw new UnsupportedOperationException();
    }

    @Override
    public MappedByteBuffer map(MapMode mode, long position, long size) {
        throw new UnsupportedOperationException();
    }

    @Override
    public FileLock lock(long position, long size, boolean shared) {
        throw new UnsupportedOperationException();
    }

    @Override
    public FileLock tryLock(long position, long size, boolean shared) {
        throw new UnsupportedOperationException();
    }
}
